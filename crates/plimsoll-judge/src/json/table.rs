//! Tables: CSV with a heading, or numbers alone.

use crate::input::JudgeError;

/// Columns of text. A bare list of numbers has columns without names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    names: Option<Vec<String>>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a JSON list of numbers, CSV, or numbers between blanks, commas, semicolons or tabs. The first line is a
    /// heading unless all of it is numbers; lines that begin with `#` are passed over.
    pub(crate) fn read(text: &str) -> Result<Self, JudgeError> {
        if text.trim_start().starts_with('[') {
            return Self::read_list(text);
        }
        let comma = text.contains(',');
        let spread;
        let (text, delimiter) = match () {
            () if comma => (text, b','),
            () if text.contains(';') => (text, b';'),
            () => {
                spread = text
                    .lines()
                    .map(|l| l.split_whitespace().collect::<Vec<_>>().join("\t"))
                    .collect::<Vec<_>>()
                    .join("\n");
                (spread.as_str(), b'\t')
            }
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| JudgeError::Syntax(e.to_string()))?;
            rows.push(record.iter().map(str::to_owned).collect::<Vec<_>>());
        }
        rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        if rows.is_empty() {
            return Err(JudgeError::Empty {
                what: "input".into(),
                expected: "JSON, CSV or a list of numbers",
            });
        }
        let heading = rows[0].iter().any(|cell| !cell.is_empty() && cell.parse::<f64>().is_err());
        let names = heading.then(|| rows.remove(0));
        Ok(Self { names, rows })
    }

    fn read_list(text: &str) -> Result<Self, JudgeError> {
        let values: Vec<f64> = serde_json::from_str(text).map_err(|e| JudgeError::Syntax(e.to_string()))?;
        Ok(Self { names: None, rows: values.iter().map(|v| vec![v.to_string()]).collect() })
    }

    /// The names of the columns; none for a bare list.
    pub(crate) fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// How many columns the widest line has.
    pub(crate) fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.names().len())
    }

    /// How many rows there are, the heading not counted.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The place of a named column.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|n| n.eq_ignore_ascii_case(name))
    }

    /// The text of one cell; empty where the line is too short.
    pub(crate) fn text(&self, row: usize, column: usize) -> &str {
        self.rows[row].get(column).map_or("", String::as_str)
    }

    /// The number in one cell; `None` where it is empty.
    pub(crate) fn number(&self, row: usize, column: usize) -> Result<Option<f64>, JudgeError> {
        let text = self.text(row, column);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            let name = self.names().get(column).cloned().unwrap_or_else(|| format!("column {}", column + 1));
            JudgeError::Table(format!("row {} of `{name}` is `{text}`: expected a number", row + 1))
        })
    }

    /// The numbers of one column, empty cells left out.
    pub(crate) fn numbers(&self, column: usize) -> Result<Vec<f64>, JudgeError> {
        (0..self.len()).filter_map(|row| self.number(row, column).transpose()).collect()
    }

    /// The numbers of the column of that name, or for a table without names, or with other names, of the one at `place`; empty cells are
    /// left out.
    pub(crate) fn numbers_of(&self, name: &str, place: usize) -> Result<Vec<f64>, JudgeError> {
        self.numbers(self.column(name, place)?)
    }

    /// The same, with nothing for an empty cell.
    pub(crate) fn numbers_with_gaps(&self, name: &str, place: usize) -> Result<Vec<Option<f64>>, JudgeError> {
        let column = self.column(name, place)?;
        (0..self.len()).map(|row| self.number(row, column)).collect()
    }

    fn column(&self, name: &str, place: usize) -> Result<usize, JudgeError> {
        match self.place(name) {
            Some(column) => Ok(column),
            None if place < self.width() => Ok(place),
            None => Err(JudgeError::Table(format!(
                "there is no column `{name}`, nor a column {}: found {}",
                place + 1,
                self.found()
            ))),
        }
    }

    /// What columns there are, for error messages.
    pub(crate) fn found(&self) -> String {
        match self.names() {
            [] => crate::wording::count(self.width(), "column") + " without names",
            names => format!("`{}`", names.join("`, `")),
        }
    }
}
