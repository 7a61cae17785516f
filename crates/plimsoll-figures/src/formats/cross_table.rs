//! A table of two factors as people write it in a mail: the levels of one above the columns, those of the other before the rows.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "cross-table",
    tool: "hands",
    command: "plimsoll import MAIL --as cross-table --judge factors",
    measured: &[
        "plain value,row,column: each number of a cell; several of a cell (`219 221 218` between `|`, or `219/221/218`) are repetitions, which a verdict on interaction needs. Rows `old - new  94.1 93.9` name a level of each factor, and their numbers are repetitions",
    ],
    main: &["value"],
    checked: Checked::Rule(
        "a line of names above, then lines of a name and as many cells; cells between `|`, tabs, or two blanks",
    ),
    reader: Some(|options| Box::new(CrossTable::new(options))),
    ..Format::EMPTY
};

struct CrossTable {
    decimal: Option<Decimal>,
    /// The names above the columns.
    names: Vec<String>,
    /// Whether rows have been read: another line of names begins another table.
    rows: u32,
}

impl CrossTable {
    fn new(options: &Options) -> Self {
        Self { decimal: options.decimal, names: Vec::new(), rows: 0 }
    }

    /// The numbers of a cell, if it has nothing else.
    fn values(&self, cell: &str) -> Option<Vec<f64>> {
        let words =
            cell.split(|c: char| c.is_whitespace() || matches!(c, '/' | ';')).filter(|word| !word.is_empty());
        let values: Option<Vec<f64>> = words.map(|word| plain(word, self.decimal)).collect();
        values.filter(|values| !values.is_empty())
    }
}

/// The cells of a line, without the empty one that `|` at its ends make.
fn cells(text: &str) -> Vec<&str> {
    if text.contains('|') {
        return text
            .trim_matches(|c: char| c == '|' || c.is_whitespace())
            .split('|')
            .map(str::trim)
            .collect();
    }
    if text.contains('\t') {
        return text.split('\t').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    }
    text.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// `old - new   94.1  93.9`: a level of each of two factors, and the numbers of their cell.
fn both_levels(text: &str, is_number: impl Fn(&str) -> bool) -> Option<(&str, &str, &str)> {
    let (row, rest) = [" - ", " – ", " -> "].iter().find_map(|dash| text.split_once(dash))?;
    let mut at = 0;
    let from = rest.split_inclusive(char::is_whitespace).find_map(|word| {
        let start = at;
        at += word.len();
        is_number(word.trim()).then_some(start)
    })?;
    let (row, column, numbers) = (row.trim(), rest[..from].trim(), &rest[from..]);
    let are_names = ![row, column].into_iter().any(|name| name.is_empty() || is_number(name));
    let are_numbers = numbers.split_whitespace().all(is_number) && numbers.split_whitespace().count() > 1;
    (are_names && are_numbers).then_some((row, column, numbers))
}

impl Reader for CrossTable {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((row, column, numbers)) =
            both_levels(line.text, |word| plain(word, self.decimal).is_some())
        {
            for value in self.values(numbers).unwrap_or_default() {
                out.put("value", value, "", &[("row", row), ("column", column)]);
            }
            return Fit::Mine;
        }
        if line.is_rule() || line.text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '+')) {
            return Fit::Mine;
        }
        let found = cells(line.text);
        let is_name = |cell: &&str| self.values(cell).is_none();
        // The corner above the names of the rows may have a name, or be empty, or be missing.
        if found.len() >= 2 && found.iter().all(is_name) && found.len() <= 12 {
            if self.rows > 0 && line.text.ends_with(['.', '?', '!']) {
                return Fit::Foreign;
            }
            self.names = found.iter().map(|name| (*name).to_owned()).collect();
            self.rows = 0;
            return Fit::Mine;
        }
        let [row, rest @ ..] = found.as_slice() else { return Fit::Foreign };
        let corner = self.names.len().checked_sub(rest.len());
        if rest.len() < 2 || self.values(row).is_some() || !matches!(corner, Some(0 | 1)) {
            return Fit::Foreign;
        }
        let values: Option<Vec<Vec<f64>>> = rest.iter().map(|cell| self.values(cell)).collect();
        let Some(values) = values else { return Fit::Foreign };
        self.rows += 1;
        let names = self.names.iter().skip(corner.unwrap_or(0));
        for (column, values) in names.zip(values) {
            for value in values {
                out.put("value", value, "", &[("row", row), ("column", column)]);
            }
        }
        Fit::Mine
    }
}
