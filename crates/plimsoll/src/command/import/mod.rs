//! `plimsoll import`: what other tools printed, as figures; and judged.

mod sides;
mod text;
mod verdict;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use plimsoll_import::figures::{self, Decimal as Mark, Figures, Options, ReadError};
use serde_json::json;

use crate::args::{Decimal, ImportArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The version of the JSON document.
const IMPORT_SCHEMA: &str = "plimsoll.import/1";
/// The format of a table of two factors, which nothing marks.
const CROSS_TABLE: &str = "cross-table";

/// A file, and what was read from it.
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) found: Figures,
}

pub(crate) fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let mut files = args.files.iter().map(|path| read(args, path)).collect::<Result<Vec<_>, _>>()?;
    let judged = args.judge.as_deref().map(|test| verdict::judge(args, test, &files)).transpose()?;
    for file in &mut files {
        keep(args, &mut file.found);
    }
    match args.format {
        PlainFormat::Text => {
            output::text(|out| text::files(out, &files))?;
            if let Some(judged) = &judged {
                verdict::print(judged)?;
            }
        }
        PlainFormat::Json => {
            let files: Vec<_> = files
                .iter()
                .map(|file| {
                    json!({
                        "file": file.name,
                        "formats": file.found.coverage.formats(),
                        "series": file.found.series,
                        "coverage": file.found.coverage,
                    })
                })
                .collect();
            let mut document = json!({ "schema": IMPORT_SCHEMA, "files": files });
            if let Some(judged) = &judged {
                document["judged"] = judged.json();
            }
            output::document(|out| plimsoll_report::json::pretty(out, &document))?;
        }
    }
    match &judged {
        Some(judged) => Ok(judged.exit()),
        None => nothing_read(&files).map_or(Ok(Exit::Holds), Err),
    }
}

/// Reads a file; where a table of two factors is to be judged and no tool's output is found, as such a table.
fn read(args: &ImportArgs, path: &Path) -> Result<Imported, Failure> {
    let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
    let bad = |error: ReadError| Failure::Usage(format!("{name}: {error}"));
    let csv = (!args.column.is_empty()).then(|| "csv".to_owned());
    let options = Options {
        only: args.format_name.clone().or(csv),
        columns: args.column.clone(),
        decimal: args.decimal.map(|decimal| match decimal {
            Decimal::Point => Mark::Point,
            Decimal::Comma => Mark::Comma,
        }),
    };
    let read = |options: &Options| figures::read_from(open(path)?, options, &|_| true).map_err(bad);
    let found = read(&options)?;
    let table = args.judge.as_deref() == Some("factors") && found.series.is_empty() && options.only.is_none();
    let found = if table && !is_stdin(path) {
        read(&Options { only: Some(CROSS_TABLE.to_owned()), ..options })?
    } else {
        found
    };
    Ok(Imported { name, found })
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let cannot = |error: io::Error| Failure::Usage(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().is_ok_and(|kind| kind.is_dir()) {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}

/// Keeps those figures that were asked for.
fn keep(args: &ImportArgs, found: &mut Figures) {
    if !args.metric.is_empty() {
        found.series.retain(|series| args.metric.iter().any(|wanted| series.is(wanted)));
    }
}

/// Why nothing is a failure: no figure was found, or none that was asked for.
fn nothing_read(files: &[Imported]) -> Option<Failure> {
    files.iter().all(|file| file.found.series.is_empty()).then(|| {
        Failure::Usage(
            "no figure was found: --as FORMAT says what it is, `--column NAME` names a column of a CSV file"
                .into(),
        )
    })
}
