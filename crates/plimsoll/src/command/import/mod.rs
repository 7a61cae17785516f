//! `plimsoll import`: what other tools printed, as figures; stored, and judged.

pub(crate) mod page;
mod posted;
pub(crate) mod read;
pub(crate) mod rows;
pub(crate) mod sides;
pub(crate) mod stored;
mod text;
pub(crate) mod verdict;

use std::io::{self, Write};

use plimsoll_import::figures::{Coverage, Figures, Series};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Decimal, ImportArgs, PageFormat, Reading};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{messages, output};
use verdict::Judged;

/// The version of the JSON document.
const IMPORT_SCHEMA: &str = "plimsoll.import/1";

/// A file, and what was read from it.
pub(crate) struct Imported {
    pub(crate) name: String,
    pub(crate) found: Figures,
}

/// Files that were read together, and what was found in them.
pub(crate) struct Import {
    reading: Reading,
    pub(crate) files: Vec<Imported>,
    judged: Option<Judged>,
    /// The run that they are stored as.
    run: Option<stored::Stored>,
}

impl Import {
    /// Judges files where that is wanted, and keeps the figures that are.
    fn of(reading: Reading, mut files: Vec<Imported>) -> Result<Self, Failure> {
        let judged =
            reading.judge.as_deref().map(|test| verdict::judge(&reading, test, &files)).transpose()?;
        for file in &mut files {
            keep(&reading, &mut file.found);
        }
        Ok(Self { reading, files, judged, run: None })
    }

    /// Prints the read figures and the verdict.
    pub(crate) fn print(&self, format: PageFormat) -> Result<(), Failure> {
        match format {
            PageFormat::Text => {
                output::text(|out| {
                    self.run.as_ref().map_or(Ok(()), |run| writeln!(out, "{run}\n"))?;
                    text::files(out, &self.files)
                })?;
                self.judged.as_ref().map_or(Ok(()), verdict::print)
            }
            PageFormat::Json => output::document(|out| self.json(out)),
            PageFormat::Html => page::print(self),
            PageFormat::Mail => page::mail(self),
        }
    }

    /// How the program ends that prints this.
    pub(crate) fn exit(&self) -> Exit {
        self.judged.as_ref().map_or(Exit::Holds, Judged::exit)
    }

    /// Writes the JSON document: its frame first into memory, where an empty array stands for the points of each series. No text in it looks
    /// like [`NO_POINTS`], since quotes within strings are escaped. A verdict behind the files may have such an array of its own.
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut frame = Vec::new();
        plimsoll_report::json::pretty(&mut frame, &self.document())?;
        let frame = String::from_utf8_lossy(&frame);
        let all: Vec<&Series> = self.files.iter().flat_map(|file| &file.found.series).collect();
        let mut parts = frame.splitn(all.len() + 1, NO_POINTS);
        out.write_all(parts.next().unwrap_or_default().as_bytes())?;
        for (series, behind) in all.into_iter().zip(parts) {
            out.write_all(b"\"points\": ")?;
            series.write_points(out)?;
            out.write_all(behind.as_bytes())?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        Document {
            schema: IMPORT_SCHEMA,
            files: self.files.iter().map(File::of).collect(),
            run: self.run.as_ref().map(|run| run.id.as_str()),
            imported_unix_s: self.run.as_ref().map(|run| run.at_unix_s),
            judged: self.judged.as_ref().map(Judged::json),
        }
    }
}

/// Text in the frame of a series' points.
const NO_POINTS: &str = "\"points\": []";

/// The frame of the JSON document.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Document<'i> {
    schema: &'static str,
    files: Vec<File<'i>>,
    run: Option<&'i str>,
    imported_unix_s: Option<u64>,
    judged: Option<Value>,
}

/// A file of the JSON document.
#[derive(Serialize)]
struct File<'i> {
    file: &'i str,
    formats: Vec<&'i str>,
    series: Vec<Series>,
    coverage: &'i Coverage,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<posted::Posted>,
}

impl<'i> File<'i> {
    fn of(imported: &'i Imported) -> Self {
        let Imported { name, found } = imported;
        Self {
            comparisons: posted::of(imported),
            file: name,
            formats: found.coverage.formats(),
            series: found.series.iter().map(Series::head).collect(),
            coverage: &found.coverage,
        }
    }
}

pub(crate) fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let keeps = args.format != PageFormat::Json && !args.no_store;
    let read = args.files.iter().map(|path| read::file(&args.reading, path, keeps));
    let (files, texts): (Vec<_>, Vec<_>) = read.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let import = Import::of(args.reading.clone(), files)?;
    // Lines that could not be read are shown, too: the skipped lines say why.
    if nothing_read(&import.files) && import.judged.is_none() {
        import.print(args.format)?;
        return Err(Failure::Usage(NOTHING.into()));
    }
    let stored = keeps.then(|| stored::put(args, &import, &texts.concat())).transpose()?;
    import.print(args.format)?;
    if let Some(run) = stored {
        messages::note(format_args!("stored as {}; `plimsoll show {}` shows it again", run.id, run.id));
    }
    Ok(import.exit())
}

/// Text that `judge factors` is given, or what stands in it where it is a table of two factors in a mail.
pub(crate) fn cross_table(text: String, decimal: Option<Decimal>) -> String {
    let reading = Reading { decimal, ..Reading::default() };
    read::cross_table(&reading, &text).ok().and_then(|file| verdict::cross_table(&file)).unwrap_or(text)
}

/// Why nothing is a failure: no figure was found, or none that was asked for.
const NOTHING: &str = "no figure was found: --as FORMAT names the format, `--column NAME` names a column of a CSV file, `--judge factors` takes a table of two factors";

fn nothing_read(files: &[Imported]) -> bool {
    files.iter().all(|file| file.found.series.is_empty())
}

/// Keeps those figures that were asked for.
fn keep(reading: &Reading, found: &mut Figures) {
    if !reading.metric.is_empty() {
        found.series.retain(|series| reading.metric.iter().any(|wanted| series.is(wanted)));
    }
}
