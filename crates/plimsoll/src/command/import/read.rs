//! Reads files in one pass, and keeps a copy of files that will be stored.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use plimsoll_import::figures::{self, Decimal as Mark, Figures, Options, ReadError, SeriesSelector};
use plimsoll_store::{ImportedText, Packing};

use super::Imported;
use crate::args::{Decimal, Reading};
use crate::failure::Failure;

/// The format of a table of two factors, which nothing marks.
const CROSS_TABLE: &str = "cross-table";
/// Lines whose figures are kept in any case, so that an error can name what there is.
const NAMED_LINES: u64 = 1000;

/// Reads a file, and keeps its text where that is wanted.
pub(crate) fn file(
    reading: &Reading,
    path: &Path,
    keeps: bool,
) -> Result<(Imported, Vec<ImportedText>), Failure> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    if keeps || (is_stdin && may_be_read_again(reading)) {
        let mut packing = Packing::new(open(path)?);
        let first = figures(reading, &name, &mut packing, None);
        let text = packing.finish(&name).map_err(|error| unreadable(&name, &error))?;
        let imported = again(reading, &name, first, || Ok(text.reader()))?;
        return Ok((imported, if keeps { vec![text] } else { Vec::new() }));
    }
    let first = figures(reading, &name, open(path)?, None);
    Ok((again(reading, &name, first, || open(path))?, Vec::new()))
}

/// Reads a text that is stored.
pub(crate) fn text(reading: &Reading, text: &ImportedText) -> Result<Imported, Failure> {
    let first = figures(reading, &text.name, text.reader(), None);
    again(reading, &text.name, first, || Ok(text.reader()))
}

/// Reads a table of two factors.
pub(crate) fn cross_table(reading: &Reading, text: &str) -> Result<Imported, Failure> {
    let found = figures(reading, "", text.as_bytes(), Some(CROSS_TABLE))?;
    Ok(Imported { name: String::new(), found })
}

/// Reads the input a second time as a table of two factors, if such a table may be judged and no figure of a tool's has
/// two factors.
fn again<R: Read>(
    reading: &Reading,
    name: &str,
    first: Result<Figures, Failure>,
    input: impl FnOnce() -> Result<R, Failure>,
) -> Result<Imported, Failure> {
    let found = first?;
    let has_two = found.series.iter().any(|series| series.labels.len() >= 2);
    if has_two || !may_be_read_again(reading) {
        return Ok(Imported { name: name.to_owned(), found });
    }
    let table = figures(reading, name, input()?, Some(CROSS_TABLE))?;
    let found = if table.series.is_empty() { found } else { table };
    Ok(Imported { name: name.to_owned(), found })
}

fn may_be_read_again(reading: &Reading) -> bool {
    let names_nothing =
        reading.format_name.is_none() && reading.column.is_empty() && reading.metric.is_empty();
    reading.judge.as_deref() == Some("factors") && names_nothing
}

fn figures(reading: &Reading, name: &str, input: impl Read, only: Option<&str>) -> Result<Figures, Failure> {
    let csv = (!reading.column.is_empty()).then(|| "csv".to_owned());
    let options = Options {
        only: only.map(ToOwned::to_owned).or_else(|| reading.format_name.clone()).or(csv),
        columns: reading.column.clone(),
        decimal: reading.decimal.map(|decimal| match decimal {
            Decimal::Point => Mark::Point,
            Decimal::Comma => Mark::Comma,
        }),
    };
    // A comparison also reports all other figures of both sides.
    let has_sides = matches!(reading.judge.as_deref(), Some("compare" | "recovery"));
    let of = if has_sides { &[][..] } else { &reading.metric };
    let wanted: Vec<SeriesSelector<'_>> = of.iter().map(|metric| SeriesSelector::of(metric)).collect();
    let is_wanted = |figure: &figures::Figure<'_>| {
        let named = reading.judge.is_some() && figure.line <= NAMED_LINES;
        named || wanted.is_empty() || wanted.iter().any(|wanted| wanted.is(figure))
    };
    figures::read_from(input, &options, &is_wanted).map_err(|error| {
        let advice = match error {
            ReadError::TooMany { .. } if of.is_empty() && !has_sides => "; choose some with --metric",
            ReadError::TooMany { .. } => "; read a part of the lines, such as `head -n 100000`",
            _ => "",
        };
        Failure::Usage(format!("{name}: {error}{advice}"))
    })
}

/// A file, or the standard input.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let cannot = |error: io::Error| unreadable(&path.display().to_string(), &error);
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().is_ok_and(|kind| kind.is_dir()) {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Usage(format!("cannot read {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_file_only_the_named_figure_is_kept_and_advice_is_none_that_was_followed() {
        let rows = 1_800_000;
        let text = format!("us,other\n{}", "100.5,1\n".repeat(rows));
        let read = |metric: &[&str], judge: &str| {
            let reading = Reading {
                metric: metric.iter().map(|name| (*name).to_owned()).collect(),
                judge: Some(judge.to_owned()),
                ..Reading::default()
            };
            figures(&reading, "long.csv", text.as_bytes(), Some("csv")).map_err(|error| error.to_string())
        };
        let found = read(&["us"], "changes").unwrap();
        assert_eq!(found.all("us")[0].points.len(), rows);
        let error = |metric: &[&str], judge: &str| read(metric, judge).err().unwrap_or_default();
        assert!(error(&[], "changes").ends_with("choose some with --metric"));
        assert!(error(&["us"], "compare").ends_with("such as `head -n 100000`"));
    }
}
