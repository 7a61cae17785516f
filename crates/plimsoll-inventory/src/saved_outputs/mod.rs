//! A machine as saved outputs of other programs describe it, with the names of [`Inventory`](super::Inventory).
//!
//! Files may hold several outputs, one after the other, and quotation marks of a mail. Each line is given to the reader of the output that it
//! stands in. Facts in no output are left out, so this is never a whole inventory. Where two outputs differ, the first counts, and a note says so.

mod decode_dimms;
mod dmesg;
mod dmidecode;
mod ethtool;
mod hdparm;
mod known;
mod lspci;
mod smartctl;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::kernel_log::trouble;
use known::Facts;

/// Reads one program's output, line by line.
trait Reader: Default {
    /// Whether this line begins an output of this program. Blanks at its ends are taken off, here and below.
    fn begins(line: &str) -> bool;
    /// A line of the output, also the first. Whether something was taken from it.
    fn line(&mut self, line: &str, known: &mut Facts) -> bool;
    /// The output ends.
    fn end(self, _: &mut Facts) {}
}

/// From the list of programs: their names, and who reads each.
macro_rules! each_program {
    ($($variant:ident $module:ident $name:literal)+) => {
        /// The programs whose saved outputs are read, except smartctl's JSON.
        const NAMES: &[&str] = &[$($name),+];

        enum Reading {
            $($variant($module::$variant)),+
        }

        impl Reading {
            fn begun_by(line: &str) -> Option<Self> {
                $(if $module::$variant::begins(line) {
                    return Some(Self::$variant($module::$variant::default()));
                })+
                None
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name),+
                }
            }

            fn line(&mut self, line: &str, known: &mut Facts) -> bool {
                match self {
                    $(Self::$variant(reader) => reader.line(line, known)),+
                }
            }

            fn end(self, known: &mut Facts) {
                match self {
                    $(Self::$variant(reader) => reader.end(known)),+
                }
            }
        }
    };
}

each_program! {
    Dmidecode dmidecode "dmidecode"
    DecodeDimms decode_dimms "decode-dimms"
    Lspci lspci "lspci"
    Hdparm hdparm "hdparm -I"
    Ethtool ethtool "ethtool"
    Dmesg dmesg "dmesg"
}

/// Why a file says nothing about a machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SavedOutputError {
    /// Nothing in it is of a known program.
    #[error("{file}: expected what one of these printed: {}, smartctl -j", NAMES.join(", "))]
    Unknown {
        /// The file.
        file: String,
    },
    /// JSON that ends too early, or is not JSON.
    #[error("{file}: {what}")]
    Json {
        /// The file.
        file: String,
        /// The error, and its place.
        what: String,
    },
}

/// Facts from one program's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The program.
    pub program: String,
    /// Lines from which something was taken.
    pub taken: usize,
    /// Lines from which nothing was taken.
    pub left: usize,
}

/// A machine, as far as saved outputs describe it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedOutputs {
    /// Facts, with the names of an inventory.
    pub found: Map<String, Value>,
    /// Where it was read.
    pub sources: Vec<Source>,
    /// Facts on which two of them differ.
    pub conflicts: Vec<String>,
}

/// Reads files, each with its name and text.
///
/// # Errors
/// A file has nothing in it that a known program printed.
pub fn read<'t>(
    files: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<SavedOutputs, SavedOutputError> {
    let mut known = Facts::new();
    let mut sources = Vec::new();
    for (file, text) in files {
        let before = sources.len();
        if text.trim_start().starts_with('{') {
            documents(file, text, &mut known, &mut sources)?;
        } else {
            lines(file, text, &mut known, &mut sources);
        }
        if sources[before..].iter().all(|source: &Source| source.taken == 0) {
            return Err(SavedOutputError::Unknown { file: file.to_owned() });
        }
    }
    let (found, conflicts) = known.finish();
    Ok(SavedOutputs { found, sources, conflicts })
}

fn lines(file: &str, text: &str, known: &mut Facts, sources: &mut Vec<Source>) {
    let mut reading: Option<(Reading, Source)> = None;
    for line in text.lines() {
        let line = unquoted(line);
        if line.is_empty() {
            continue;
        }
        let mut begun = Reading::begun_by(line);
        if begun.is_none() {
            if let Some((reader, source)) = &mut reading
                && reader.line(line, known)
            {
                source.taken += 1;
                continue;
            }
            // A line of a log as people paste it, without its time.
            begun = trouble(line).map(|_| Reading::Dmesg(dmesg::Dmesg::default()));
        }
        if let Some(next) = begun {
            if reading.as_ref().is_none_or(|(current, _)| current.name() != next.name()) {
                close(reading.take(), known, sources);
                let program = next.name().to_owned();
                known.read_from(&program);
                reading = Some((next, Source { file: file.to_owned(), program, taken: 0, left: 0 }));
            }
            if let Some((reader, source)) = &mut reading {
                let count = if reader.line(line, known) { &mut source.taken } else { &mut source.left };
                *count += 1;
            }
        } else if let Some((_, source)) = &mut reading {
            source.left += 1;
        }
    }
    close(reading, known, sources);
}

fn close(reading: Option<(Reading, Source)>, known: &mut Facts, sources: &mut Vec<Source>) {
    if let Some((reader, source)) = reading {
        reader.end(known);
        sources.push(source);
    }
}

/// JSON documents, one after the other; those of smartctl are read.
fn documents(
    file: &str,
    text: &str,
    known: &mut Facts,
    sources: &mut Vec<Source>,
) -> Result<(), SavedOutputError> {
    for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let document = document
            .map_err(|error| SavedOutputError::Json { file: file.to_owned(), what: error.to_string() })?;
        if document.get("smartctl").is_some() {
            let program = "smartctl -j".to_owned();
            known.read_from(&program);
            let taken = smartctl::read(&document, known);
            sources.push(Source { file: file.to_owned(), program, taken, left: 0 });
        }
    }
    Ok(())
}

/// A line without the quotation marks of a mail and blanks at its ends.
fn unquoted(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(inner) = line.strip_prefix('>') {
        line = inner.trim_start();
    }
    line
}

/// `KEY: VALUE`, without blanks around either.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// A size such as `16384 MB` or `8 GB`, in powers of 1024, in bytes.
fn size(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let unit: u64 = match words.next()? {
        "kB" | "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// The number that a text begins with.
fn leading(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests;
