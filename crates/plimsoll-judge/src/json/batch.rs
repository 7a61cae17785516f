//! Many series in one call: JSON lines in, one verdict per line out, in the same order.

use super::{Test, id_of, judge_line};
use crate::input::JudgeError;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// The lines that are judged at a time ...
const LINES: usize = 4096;
/// ... or the bytes of them, so that memory stays bounded however long the input is.
const BYTES: usize = 32 << 20;

/// Outcome of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSummary {
    /// Lines that got a verdict.
    pub judged: usize,
    /// Lines that got an error object instead.
    pub errors: usize,
}

/// Judges every line of `reader` in parallel and writes one JSON line for each to `writer`, in the order of the input.
///
/// A line that cannot be judged gets `{"id", "line", "error"}` (counted from 1) and does not stop the others. Blank
/// lines are passed over. Memory holds some 4,000 lines or 32 MiB at a time, one line at least.
///
/// # Errors
/// Only those of reading and writing.
pub fn judge_batch(test: Test, mut reader: impl BufRead, mut writer: impl Write) -> io::Result<BatchSummary> {
    let mut summary = BatchSummary::default();
    let mut next = 1;
    loop {
        let lines = read_chunk(&mut reader, &mut next)?;
        if lines.is_empty() {
            writer.flush()?;
            return Ok(summary);
        }
        let answers: Vec<(bool, String)> = lines.par_iter().map(|line| line.answer(test)).collect();
        for (judged, text) in answers {
            if judged {
                summary.judged += 1;
            } else {
                summary.errors += 1;
            }
            writeln!(writer, "{text}")?;
        }
    }
}

struct Line {
    number: usize,
    bytes: Vec<u8>,
}

impl Line {
    fn answer(&self, test: Test) -> (bool, String) {
        let text = String::from_utf8_lossy(&self.bytes);
        match judge_line(test, &text) {
            Ok(verdict) => (true, verdict.to_string()),
            Err(error) => (false, self.error(&text, &error).to_string()),
        }
    }

    fn error(&self, text: &str, error: &JudgeError) -> Value {
        json!({"id": id_of(text), "line": self.number, "error": error.to_string()})
    }
}

/// Longest line in bytes. A series of 50,000 numbers fits.
const LONGEST: usize = 1 << 20;

/// Next line, in memory only up to [`LONGEST`]; absent at the end.
fn bounded_line(reader: &mut impl BufRead, number: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes)?;
    if bytes.len() > LONGEST {
        let message =
            format!("line {number} is longer than {LONGEST} bytes (1 MiB): expected one series per line");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((!bytes.is_empty()).then_some(bytes))
}

fn read_chunk(reader: &mut impl BufRead, next: &mut usize) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut size = 0;
    while lines.len() < LINES && size < BYTES {
        let Some(bytes) = bounded_line(reader, *next)? else { break };
        let number = *next;
        *next += 1;
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            size += bytes.len();
            lines.push(Line { number, bytes });
        }
    }
    Ok(lines)
}
