//! Plain CSV with a heading: commas, semicolons or tabs between columns.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    tool: "any spreadsheet or program",
    command: "plimsoll import FILE --column NAME",
    measured: &[
        "plain *,row: each column of numbers, or those that `--column` names; the first column of text, where there is one, as `row`",
    ],
    main: &["value", "values"],
    checked: Checked::Rule("RFC 4180; also with semicolons or tabs, and then with decimal commas"),
    opening: Some(|first, second| {
        let Some(separator) = separator(first.text) else { return false };
        let names = cells(first.text, separator);
        let named = names.iter().all(|name| is_name(name));
        let fits = |line: &Line<'_>| {
            let found = cells(line.text, separator);
            found.len() == names.len() && found.iter().any(|cell| plain(cell, None).is_some())
        };
        named && names.len() > 1 && second.is_some_and(fits)
    }),
    reader: Some(|options| Box::new(Csv::new(options))),
    ..Format::EMPTY
};

/// Separators of columns: semicolons before tabs before commas, because commas may stand in numbers.
fn separator(text: &str) -> Option<char> {
    [';', '\t', ','].into_iter().find(|separator| text.contains(*separator))
}

/// The cells of a line, without blanks and quotation marks around them. A separator between quotation marks belongs to its cell.
fn cells(text: &str, separator: char) -> Vec<&str> {
    if !text.contains('"') {
        return text.split(separator).map(str::trim).collect();
    }
    let mut quoted = false;
    let parts = text.split(|c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    });
    parts.map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

/// Whether a cell of the first line names a column: what begins as a number does (`12ms`) is a figure that could not be read.
fn is_name(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['-', '+', '.', '~', '<', '>']);
    !cell.is_empty() && !digits.starts_with(|c: char| c.is_ascii_digit())
}

struct Csv {
    wanted: Vec<String>,
    decimal: Option<Decimal>,
    separator: char,
    names: Vec<String>,
    /// The column whose text names the rows: the first that has text in the first row.
    label: Option<usize>,
    rows: u64,
}

impl Csv {
    fn new(options: &Options) -> Self {
        Self {
            wanted: options.columns.clone(),
            decimal: options.decimal,
            separator: ',',
            names: Vec::new(),
            label: None,
            rows: 0,
        }
    }
}

impl Reader for Csv {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.starts_with('#') {
            return Fit::Mine;
        }
        if self.names.is_empty() {
            self.separator = separator(line.text).unwrap_or(',');
            let names = cells(line.text, self.separator);
            if !names.iter().any(|name| is_name(name)) {
                return out.refuse(format!("expected the names of the columns, found `{}`", line.text));
            }
            self.names = names.into_iter().map(str::to_owned).collect();
            return Fit::Mine;
        }
        let found = cells(line.text, self.separator);
        if found.len() != self.names.len() {
            return Fit::Foreign;
        }
        let decimal = self.decimal;
        if self.rows == 0 {
            self.label = found.iter().position(|cell| !cell.is_empty() && plain(cell, decimal).is_none());
        }
        self.rows += 1;
        let label = self.label.and_then(|at| found.get(at)).map(|text| ("row", *text));
        let before = out.given;
        for (index, (name, cell)) in self.names.iter().zip(&found).enumerate() {
            let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == name);
            if is_wanted
                && self.label != Some(index)
                && let Some(value) = plain(cell, decimal)
            {
                out.put(name, value, "", label.as_slice());
            }
        }
        // A row without a readable wanted cell is reported.
        if out.given > before { Fit::Mine } else { Fit::Foreign }
    }
}
