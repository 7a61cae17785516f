//! A table between vertical bars, as Markdown and terminals draw it.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "table",
    tool: "people, and tools that draw tables",
    command: "plimsoll import FILE --metric COLUMN",
    measured: &[
        "plain *,row,of: each number of a column, by the name above it; below a heading of two rows, by both names. The first cell and cells of text are `row`. The unit is that of the cell, else that of the heading. Several values in a cell have the names that the heading has for them as `of`. What stands behind `±` has `of=±`",
    ],
    main: &[],
    checked: Checked::Rule("https://github.github.com/gfm/#tables-extension-; outer bars may be missing"),
    marks: &["|"],
    start: |line| heading(line.text).map(|_| Start::Perhaps),
    reader: Some(|options| Box::new(Table { decimal: options.decimal, ..Table::default() })),
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

/// A line without the sign that a comparison of texts puts before it.
fn undiffed(text: &str) -> &str {
    let bare = text.strip_prefix(['+', '-']).map(str::trim_start);
    bare.filter(|rest| rest.starts_with('|')).unwrap_or(text)
}

/// Where each cell of a line ends, in characters.
fn ends(text: &str) -> Vec<usize> {
    let text = text.strip_suffix('|').unwrap_or(text);
    let bars = text.chars().enumerate().filter(|(at, c)| *at > 0 && *c == '|').map(|(at, _)| at);
    bars.chain([text.chars().count()]).collect()
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
    // Versions and `16P` are names, and `12ms` is a figure.
    let is_count = |cell: &str| {
        let behind = cell.trim_start_matches(|c: char| c.is_ascii_digit());
        behind.len() < cell.len() && behind.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let is_version = |cell: &str| cell.matches('.').count() > 1 || cell.contains(' ') || is_count(cell);
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
    match word.trim().trim_matches(['(', ')']) {
        "" => Some((value, None)),
        "x" | "×" => Some((value, Some("x"))),
        // Right behind a number, a letter is also a prefix of thousands.
        "B" if figure.ends_with(' ') => Some((value, Some("B"))),
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

/// Whether a row shows that its numbers have decimal points: in `21.2` the point cannot part thousands.
fn has_points(cells: &[&str]) -> bool {
    let has_point = |word: &str| {
        let (whole, rest) = word.split_once('.').unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        whole.ends_with(|c: char| c.is_ascii_digit())
            && digits != 0
            && digits != 3
            && !rest[digits..].starts_with('.')
    };
    cells.iter().any(|cell| cell.split_whitespace().any(has_point))
}

#[derive(Default)]
struct Table {
    /// The decimal mark, where an option or a row says so.
    decimal: Option<Decimal>,
    columns: Vec<Column>,
    /// Whether the heading begins with a bar and ends without one: its first name may be empty.
    lacks_first: bool,
    /// The names of the first row of the heading, and where its cells end.
    first: Vec<(String, usize)>,
    below: Below,
}

/// How far the table is below the first row of its heading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Below {
    #[default]
    Nothing,
    Rule,
    Rows,
}

/// Columns with different names: figures of two columns are never one series.
fn distinct(columns: Vec<Column>) -> Vec<Column> {
    let mut found: Vec<Column> = Vec::with_capacity(columns.len());
    for (at, mut column) in columns.into_iter().enumerate() {
        if at > 0 && column.name.is_empty() {
            column.name = format!("column {}", at + 1);
        } else if found.iter().any(|other| other.name == column.name) {
            column.name = format!("{} (column {})", column.name, at + 1);
        }
        found.push(column);
    }
    found
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

    /// Takes a row of names: the heading of a table, or the second row of one.
    fn heading(&mut self, text: &str, names: &[&str]) -> Fit {
        if self.below == Below::Rows {
            return Fit::Next;
        }
        if let Some(columns) = self.second(text, names) {
            self.columns = distinct(columns);
            self.first.clear();
        } else if self.columns.is_empty() || self.below == Below::Nothing {
            self.lacks_first = text.starts_with('|') && !text.ends_with('|');
            self.first = names.iter().map(|name| (*name).to_owned()).zip(ends(text)).collect();
            self.columns = distinct(names.iter().map(|name| Column::of(name)).collect());
        }
        Fit::Mine
    }

    /// The columns below two rows of names. The first row has a name for several columns: its cells are fewer, or some of them are empty.
    fn second(&self, text: &str, names: &[&str]) -> Option<Vec<Column>> {
        let spans = self.first.iter().skip(1).any(|(name, _)| name.is_empty()) || names[0].is_empty();
        let is_drawn = (1..names.len()).contains(&self.first.len());
        let is_below = spans && self.first.len() == names.len();
        if !is_drawn && !is_below {
            return None;
        }
        let mut above = "";
        let columns = names.iter().zip(ends(text)).enumerate().map(|(at, (name, end))| {
            if is_drawn {
                // A cell of the first row is as wide as those below it.
                let over = self.first.iter().find(|(_, first)| *first >= end).or(self.first.last());
                above = over.map_or("", |(name, _)| name);
            } else if !self.first[at].0.is_empty() || name.is_empty() {
                above = &self.first[at].0;
            }
            let (group, own) = (Column::of(above), Column::of(name));
            Column {
                name: format!("{} {}", group.name, own.name).trim().to_owned(),
                unit: if own.unit.is_empty() { group.unit } else { own.unit },
                parts: if own.parts.len() > 1 { own.parts } else { group.parts },
            }
        });
        Some(columns.collect())
    }
}

impl Reader for Table {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+' | '=')) {
            if self.below == Below::Nothing && !self.columns.is_empty() {
                self.below = Below::Rule;
            }
            return Fit::Mine;
        }
        let text = undiffed(line.text);
        if !text.contains('|') {
            return Fit::Foreign;
        }
        let found = cells(text);
        if let Some(names) = heading(text)
            .filter(|_| self.columns.is_empty() || found.iter().all(|cell| self.values(cell).is_none()))
        {
            return self.heading(text, &names);
        }
        // Without outer bars, an empty first name is lost.
        if found.len() == self.columns.len() + 1
            && std::mem::take(&mut self.lacks_first)
            && !text.starts_with('|')
        {
            self.columns.insert(0, Column::of(""));
        }
        if found.len() != self.columns.len() {
            return Fit::Foreign;
        }
        if self.decimal.is_none() && has_points(&found) {
            self.decimal = Some(Decimal::Point);
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
        if values[1..].iter().all(Option::is_none) {
            return Fit::Foreign;
        }
        self.below = Below::Rows;
        let is_unclear = |cell: &&&str| plain(cell, None).is_none() && number(cell).is_some();
        if let Some(cell) = found
            .iter()
            .zip(&values)
            .filter(|(_, values)| values.is_none())
            .map(|(cell, _)| cell)
            .find(is_unclear)
        {
            return out.refuse(format!(
                "the comma in `{cell}` may mark decimals or thousands; pass --decimal point or --decimal comma"
            ));
        }
        Fit::Mine
    }

    fn blank(&mut self) {
        self.columns.clear();
        self.first.clear();
        if self.below == Below::Rule {
            self.below = Below::Nothing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_of_two_rows_names_each_column_by_both() {
        let names = |lines: [&str; 2]| {
            let mut table = Table::default();
            for line in lines {
                table.heading(line, &heading(line).unwrap());
            }
            table
                .columns
                .into_iter()
                .map(|column| format!("{} {}", column.name, column.unit))
                .collect::<Vec<_>>()
        };
        let drawn = names(["| Item  | Time (ms)     | Change |", "|       | old   | new   |        |"]);
        assert_eq!(drawn, ["Item ", "Time old ms", "Time new ms", "Change "]);
        let markdown = names(["| case | Before | | After | |", "| | avg | p99 | avg | p99 |"]);
        assert_eq!(markdown, ["case ", "Before avg ", "Before p99 ", "After avg ", "After p99 "]);
        assert_eq!(names(["| a | b | b |", "| x | y | z |"]), ["x ", "y ", "z "]);
    }

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
