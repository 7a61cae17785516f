//! A table between vertical bars, as Markdown and terminals draw it.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::{Decimal, plain};
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "table",
    tool: "people, and tools that draw tables",
    command: "plimsoll import FILE --metric COLUMN",
    measured: &[Measured::plain(
        "*",
        "",
        &["row", "of"],
        "each number of a column, by the name above it. The first cell and cells of text are `row`. The unit is that of the cell, else that of the heading. Several values in a cell have the names that the heading has for them as `of`. What stands behind `±` has `of=±`",
    )],
    main: &[],
    checked: Checked::Rule("https://github.github.com/gfm/#tables-extension-; outer bars may be missing"),
    text: Some(Text {
        marks: &["|"],
        start: |line| heading(line.text).map(|_| Start::Perhaps),
        opening: None,
        reader: |options| Box::new(Table { decimal: options.decimal, columns: Vec::new() }),
    }),
    ..Format::EMPTY
};

/// The most columns of a table.
const WIDEST: usize = 40;

/// The cells of a line.
fn cells(text: &str) -> Vec<&str> {
    let text = text.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    text.strip_suffix('|').unwrap_or(text).split('|').map(str::trim).collect()
}

/// A column: its name without the unit, the unit, and the names of several values in a cell.
struct Column {
    name: String,
    unit: &'static str,
    parts: Vec<String>,
}

impl Column {
    fn of(heading: &str) -> Self {
        let bracket = heading
            .split_once(['(', '['])
            .map(|(name, rest)| (name.trim(), rest.trim_end_matches([')', ']'])));
        let (name, inside) = bracket.unwrap_or((heading, ""));
        let last = heading.rsplit_once(' ').map_or("", |(_, last)| last);
        let stated = unit::any(inside).map(|unit| (name, unit));
        // A lone unit is a name.
        let behind = || unit::any(last).map(|unit| (heading[..heading.len() - last.len()].trim(), unit));
        let (name, unit) = stated.or_else(behind).unwrap_or((heading, ""));
        let parts = if inside.contains('/') && unit.is_empty() { inside.split('/') } else { "".split('/') };
        let parts = parts.map(|part| part.trim().to_owned()).collect();
        Self { name: name.to_owned(), unit, parts }
    }
}

/// The names of the columns, where a line has them: several cells, none of them a figure.
fn heading(text: &str) -> Option<Vec<&str>> {
    let found = cells(text);
    // Versions are names, and `12ms` is a figure.
    let is_version = |cell: &str| cell.matches('.').count() > 1 || cell.contains(' ');
    let is_name = |cell: &&str| {
        let digits = cell.trim_start_matches(['+', '-', '~', '.']);
        !digits.starts_with(|c: char| c.is_ascii_digit()) || (is_version(cell) && value(cell, None).is_none())
    };
    let named = found.iter().filter(|cell| cell.chars().any(char::is_alphabetic)).count();
    // Commands between bars are no table.
    let is_command =
        || found.iter().any(|cell| cell.is_empty() || cell.contains(" -") && !cell.contains(" - "));
    let enough = (text.starts_with('|') && found.len() > 1) || (found.len() > 2 && !is_command());
    (enough && found.len() <= WIDEST && found.iter().all(is_name) && named > 1).then_some(found)
}

/// A value, with the unit behind it.
fn value(text: &str, decimal: Option<Decimal>) -> Option<(f64, Option<&'static str>)> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-' | ' ');
    let (figure, word) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
    let value = plain(figure.trim(), decimal)?;
    match word.trim() {
        "" => Some((value, None)),
        "x" | "×" => Some((value, Some("x"))),
        word => unit::any(word).map(|unit| (value, Some(unit))),
    }
}

/// `12.3 ± 0.4 ms`: a value, and what stands behind `±`, with their units.
type Spread = [(f64, Option<&'static str>); 2];

fn spread(cell: &str, decimal: Option<Decimal>) -> Option<Spread> {
    let (middle, behind) = ["±", "+/-", "+-"].iter().find_map(|mark| cell.split_once(mark))?;
    let ((middle, its_unit), (spread, unit)) =
        (value(middle.trim(), decimal)?, value(behind.trim(), decimal)?);
    // A unit behind both belongs to both; a share is one of the value.
    let of_both = unit.filter(|unit| *unit != "%");
    Some([(middle, its_unit.or(of_both)), (spread, unit.or(its_unit))])
}

struct Table {
    decimal: Option<Decimal>,
    columns: Vec<Column>,
}

impl Table {
    /// The values of a cell with their units, if it has nothing else.
    fn values(&self, cell: &str) -> Option<Vec<(f64, Option<&'static str>)>> {
        if let Some(both) = spread(cell, self.decimal) {
            return Some(both.to_vec());
        }
        let parts = cell.split(['/', ';']).flat_map(|part| part.split(", ")).map(str::trim);
        let values: Option<Vec<_>> = parts.map(|part| value(part, self.decimal)).collect();
        values.or_else(|| Some(vec![value(cell, self.decimal)?]))
    }
}

impl Reader for Table {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+' | '=')) {
            return Fit::Mine;
        }
        if !line.text.contains('|') {
            return Fit::Foreign;
        }
        let found = cells(line.text);
        if let Some(names) = heading(line.text)
            .filter(|_| self.columns.is_empty() || found.iter().all(|cell| self.values(cell).is_none()))
        {
            self.columns = names.into_iter().map(Column::of).collect();
            return Fit::Mine;
        }
        if found.len() != self.columns.len() {
            return Fit::Foreign;
        }
        let values: Vec<_> = found.iter().map(|cell| self.values(cell)).collect();
        let texts = found.iter().zip(&values).enumerate();
        let row: Vec<&str> = texts
            .filter(|(at, (cell, values))| {
                *at == 0 || (values.is_none() && !cell.is_empty() && cell.chars().any(char::is_alphabetic))
            })
            .map(|(_, (cell, _))| *cell)
            .collect();
        let row = row.join(" ");
        for ((column, values), cell) in self.columns.iter().zip(&values).zip(&found).skip(1) {
            let has_spread = spread(cell, self.decimal).is_some();
            let several =
                values.as_ref().is_some_and(|values| values.len() == column.parts.len() && values.len() > 1);
            for (at, (value, unit)) in values.iter().flatten().enumerate() {
                let of = match has_spread {
                    true => (at > 0).then_some(("of", "±")),
                    false => several.then(|| ("of", column.parts[at].as_str())),
                };
                let labels: Vec<(&'static str, &str)> =
                    [("row", row.as_str())].into_iter().chain(of).collect();
                out.put(&column.name, *value, unit.unwrap_or(column.unit), &labels);
            }
        }
        if values[1..].iter().any(Option::is_some) { Fit::Mine } else { Fit::Foreign }
    }

    fn blank(&mut self) {
        self.columns.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_names_and_units() {
        let column = |text| {
            let Column { name, unit, parts } = Column::of(text);
            (name, unit, parts.len())
        };
        assert_eq!(column("7.2.6 Latency (ms)"), ("7.2.6 Latency".into(), "ms", 1));
        assert_eq!(column("Throughput Mb/s"), ("Throughput".into(), "Mbit/s", 1));
        assert_eq!(column("latency (avg / 95%)"), ("latency (avg / 95%)".into(), "", 2));
        assert!(heading("| a | b |").is_some() && heading("a | b | c").is_some());
        assert!(heading("GET | 5.0.13 | % change").is_some());
        assert!(heading("cat x | grep -v y | less").is_none() && heading("| 5 | 6 |").is_none());
        assert!(heading("| a | 12ms |").is_none());
    }
}
