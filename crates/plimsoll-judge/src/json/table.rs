//! Tables: CSV with a heading, or numbers alone.
//!
//! What separates columns, and whether a comma stands before decimals or between thousands, is decided for the text as a whole, by what its
//! lines have in common. Where two readings are left that differ, none is picked: the error names the place, and the setting that decides.

use super::number::{Mark, Shape, parse, shape};
use crate::input::JudgeError;
use crate::wording::count;

/// The most places that one error names.
const NAMED: usize = 5;

/// Separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    /// This byte.
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

/// Where a cell stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

/// Columns of text. A bare list of numbers has columns without names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table<'t> {
    text: &'t str,
    names: Option<Vec<String>>,
    cells: Vec<Span>,
    /// The first cell of each row, and one for the end.
    rows: Vec<u32>,
    /// The line of each row, counted from 1.
    lines: Vec<u32>,
    /// Whether the rows are the numbers of a list, which may all stand in one line.
    list: bool,
    /// The line of the heading, or of the first row.
    first: u32,
    /// The decimal mark; `None` if no number shows it and none was given.
    mark: Option<Mark>,
    /// The line that set the mark; `None` if it was given or assumed.
    mark_line: Option<u32>,
}

impl<'t> Table<'t> {
    /// Reads a JSON list of numbers, CSV, or numbers between blanks, commas, semicolons or tabs. The first line is a
    /// heading if it has names and nothing that begins like a number; lines that begin with `#` are passed over, and those without content around the table. A test that takes one `series` may have it in a
    /// single line.
    pub(crate) fn read(text: &'t str, mark: Option<Mark>, series: bool) -> Result<Self, JudgeError> {
        if u32::try_from(text.len()).is_err() {
            return Err(JudgeError::Syntax("expected less than 4 GiB of text".into()));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('[') {
            return Self::read_list(text);
        }
        let Some((line, first)) = content(text).next() else {
            return Err(JudgeError::Empty {
                what: "input".into(),
                expected: "JSON, CSV or a list of numbers",
            });
        };
        check_blank_lines(text)?;
        let separator = separator(text, mark, series)?;
        let mut table = Self { mark, first: line, ..Self::empty(text) };
        for (line, content) in content(text) {
            table.cells.extend(split(content, separator).map(|cell| span(text, cell)));
            table.rows.push(table.cells.len() as u32);
            table.lines.push(line);
        }
        let is_name = |cell: &str| !cell.is_empty() && shape(cell) == Shape::Text;
        if split(first, separator).any(is_name) {
            let cells = || split(first, separator).enumerate().filter(|(_, cell)| numeric(cell));
            if let Some((at, cell)) = cells().find(|(_, cell)| is_name(cell)).or_else(|| cells().next()) {
                return Err(JudgeError::Table(format!(
                    "line {line}, column {}: `{cell}` in the first line: expected numbers only, or a heading in which no name begins like a number",
                    at + 1
                )));
            }
            table.behead();
        } else if series && table.lines.len() == 1 {
            table.rows = (0..=table.cells.len() as u32).collect();
            table.lines = vec![line; table.cells.len()];
            table.list = true;
        }
        table.check_widths(separator)?;
        if mark.is_none() {
            table.find_mark(separator);
        }
        if mark.is_none() {
            table.check_points()?;
        }
        Ok(table)
    }

    fn empty(text: &'t str) -> Self {
        Self {
            text,
            names: None,
            cells: Vec::new(),
            rows: vec![0],
            lines: Vec::new(),
            list: false,
            first: 1,
            mark: None,
            mark_line: None,
        }
    }

    /// JSON's numbers have decimal points, and so the commas of a list stand between them.
    fn read_list(text: &'t str) -> Result<Self, JudgeError> {
        let _numbers: Vec<f64> =
            serde_json::from_str(text).map_err(|error| JudgeError::Syntax(error.to_string()))?;
        let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
        let mut table = Self { mark: Some(Mark::Point), list: true, ..Self::empty(text) };
        let (mut line, mut seen) = (1, 0);
        for cell in inner.split(',').map(str::trim).filter(|cell| !cell.is_empty()) {
            let span = span(text, cell);
            line += text.as_bytes()[seen..span.start as usize].iter().filter(|byte| **byte == b'\n').count()
                as u32;
            seen = span.start as usize;
            table.cells.push(span);
            table.rows.push(table.cells.len() as u32);
            table.lines.push(line);
        }
        Ok(table)
    }

    /// Makes the first row the heading.
    fn behead(&mut self) {
        let width = self.rows[1] as usize;
        let names = self.cells.drain(..width).collect::<Vec<Span>>();
        let name = |span: Span| self.text[span.start as usize..span.end as usize].to_owned();
        self.names = Some(names.into_iter().map(name).collect());
        self.rows.remove(0);
        self.rows.iter_mut().for_each(|row| *row -= width as u32);
        self.lines.remove(0);
    }

    /// Checks that no row has more cells than the heading has names, apart from empty ones at the end.
    fn check_widths(&self, separator: Separator) -> Result<(), JudgeError> {
        let Some(names) = &self.names else { return Ok(()) };
        let full =
            |row: usize| (0..self.cells_of(row)).rposition(|column| !self.text(row, column).is_empty());
        let wide = (0..self.len()).filter_map(|row| Some((row, full(row)? + 1)));
        let wide = wide.filter(|(_, width)| *width > names.len());
        let hint = if separator == Separator::Byte(b',') {
            "; with decimal commas, separate columns by semicolons or tabs"
        } else {
            ""
        };
        let message = |(row, width): (usize, usize)| {
            let (cells, place) = (count(width, "cell"), names.len() + 1);
            let line = self.lines[row];
            format!(
                "line {line}, column {place}: the line has {cells}, and the heading {}{hint}",
                names.len()
            )
        };
        all_of(wide.map(message))
    }

    /// Finds the first number that can be read with one decimal mark only.
    fn find_mark(&mut self, separator: Separator) {
        let commas = separator != Separator::Byte(b',') || self.text.contains('"');
        if !commas || !self.text.contains(',') {
            self.mark = Some(Mark::Point);
            return;
        }
        let first = (0..self.len()).find_map(|row| {
            let mark = (0..self.cells_of(row)).find_map(|column| match shape(self.text(row, column)) {
                Shape::Only(mark) => Some(mark),
                _ => None,
            });
            Some((mark?, self.lines[row]))
        });
        if let Some((mark, line)) = first {
            (self.mark, self.mark_line) = (Some(mark), Some(line));
        }
    }

    /// Refuses `1.020` below `990`, which may be a thousand and twenty. Another number with decimals, or four digits without a separator, would
    /// show that the point stands before decimals.
    fn check_points(&self) -> Result<(), JudgeError> {
        for column in (0..self.width()).filter(|_| self.mark_line.is_none()) {
            let cells = || {
                (0..self.len()).map(|row| (row, self.text(row, column))).filter(|(_, cell)| !cell.is_empty())
            };
            let digits = |cell: &str| cell.bytes().filter(u8::is_ascii_digit).count();
            let grouped = |cell: &str| cell.contains('.') && parse(cell, Mark::Comma).is_some();
            let certain = |cell: &str| !grouped(cell) && (cell.contains('.') || digits(cell) > 3);
            let hundreds = |cell: &str| !cell.contains('.') && digits(cell) == 3;
            let Some((row, cell)) = cells().find(|(_, cell)| grouped(cell)) else { continue };
            let Some((_, beside)) = cells().find(|(_, cell)| hundreds(cell)) else { continue };
            if cells().any(|(_, cell)| certain(cell)) {
                continue;
            }
            let read = |mark| parse(cell, mark).unwrap_or(f64::NAN);
            return Err(JudgeError::Table(format!(
                "{} is `{cell}`, and `{beside}` stands in the same column: {} with --decimal point, {} with --decimal comma; expected one of the two",
                self.cell(row, column),
                read(Mark::Point),
                read(Mark::Comma)
            )));
        }
        Ok(())
    }

    /// The names of the columns; none for a bare list.
    pub(crate) fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// How many columns the widest line has.
    fn width(&self) -> usize {
        (0..self.len()).map(|row| self.cells_of(row)).max().unwrap_or(0).max(self.names().len())
    }

    /// How many rows there are, the heading not counted.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    fn cells_of(&self, row: usize) -> usize {
        (self.rows[row + 1] - self.rows[row]) as usize
    }

    /// The place of a named column.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|n| n.eq_ignore_ascii_case(name))
    }

    /// The text of one cell; empty where the line is too short.
    pub(crate) fn text(&self, row: usize, column: usize) -> &'t str {
        if column >= self.cells_of(row) {
            return "";
        }
        let Span { start, end } = self.cells[self.rows[row] as usize + column];
        &self.text[start as usize..end as usize]
    }

    /// Where a cell is, and what it is called: `line 3, column 2: row 2 of `b``.
    pub(crate) fn cell(&self, row: usize, column: usize) -> String {
        if self.list {
            return format!("line {}: number {} of the list", self.lines[row], row + 1);
        }
        let name = self.names().get(column).cloned().unwrap_or_else(|| format!("column {}", column + 1));
        format!("line {}, column {}: row {} of `{name}`", self.lines[row], column + 1, row + 1)
    }

    /// The number in one cell; `None` where it is empty.
    pub(crate) fn number(&self, row: usize, column: usize) -> Result<Option<f64>, JudgeError> {
        self.read_number(row, column).map_err(JudgeError::Table)
    }

    fn read_number(&self, row: usize, column: usize) -> Result<Option<f64>, String> {
        let text = self.text(row, column);
        if text.is_empty() {
            return Ok(None);
        }
        let is = |expected: &str| format!("{} is `{text}`: {expected}", self.cell(row, column));
        let found = shape_under(text, self.mark);
        match (found, self.mark) {
            (Ok(number), _) => Ok(Some(number)),
            (Err(Shape::Either), _) => {
                let read = |mark| parse(text, mark).unwrap_or(f64::NAN);
                let (point, comma) = (read(Mark::Point), read(Mark::Comma));
                Err(is(&format!(
                    "{point} with --decimal point, {comma} with --decimal comma; expected one of the two"
                )))
            }
            (Err(Shape::Text), _) | (_, None) => Err(is("expected a number")),
            (Err(_), Some(mark)) => {
                let source = self.mark_line.map_or_else(String::new, |line| format!(", as in line {line}"));
                Err(is(&format!("expected a number with a decimal {}{source}", mark.name())))
            }
        }
    }

    /// The only column, or the one of that name, empty cells left out.
    pub(crate) fn series(&self, name: &str) -> Result<Vec<f64>, JudgeError> {
        let mut values = Vec::with_capacity(self.len());
        self.each(name, |value| values.extend(value))?;
        Ok(values)
    }

    /// The series by its name, with `None` for an empty cell.
    pub(crate) fn series_with_gaps(&self, name: &str) -> Result<Vec<Option<f64>>, JudgeError> {
        let mut values = Vec::with_capacity(self.len());
        self.each(name, |value| values.push(value))?;
        Ok(values)
    }

    /// Hands on the cells of the only column, or of the one of that name.
    fn each(&self, name: &str, mut take: impl FnMut(Option<f64>)) -> Result<(), JudgeError> {
        let [column] = self.columns([name], &[])?;
        let mut wrong = Vec::new();
        for row in 0..self.len() {
            match self.read_number(row, column) {
                Ok(value) => take(value),
                Err(error) => wrong.push(error),
            }
        }
        all_of(wrong.into_iter())
    }

    /// The rows of some columns, each of which must be a number in every row.
    pub(crate) fn whole_rows<const K: usize>(
        &self,
        names: [&str; K],
        optional: &[&str],
    ) -> Result<Vec<[f64; K]>, JudgeError> {
        let columns = self.columns(names, optional)?;
        let mut rows = Vec::with_capacity(self.len());
        let mut wrong = Vec::new();
        for row in 0..self.len() {
            let mut values = [0.0; K];
            for (value, column) in values.iter_mut().zip(columns) {
                match self.read_number(row, column) {
                    Ok(Some(number)) => *value = number,
                    Ok(None) => wrong.push(format!("{} is empty: expected a number", self.cell(row, column))),
                    Err(error) => wrong.push(error),
                }
            }
            rows.push(values);
        }
        all_of(wrong.into_iter())?;
        Ok(rows)
    }

    /// The numbers of some columns, which may end before each other. What stands in one row belongs together, so that none may be missing in
    /// between.
    pub(crate) fn lists<const K: usize>(
        &self,
        names: [&str; K],
        optional: &[&str],
    ) -> Result<[Vec<f64>; K], JudgeError> {
        let columns = self.columns(names, optional)?;
        let mut lists = std::array::from_fn(|_| Vec::with_capacity(self.len()));
        let mut wrong = Vec::new();
        for (list, column) in lists.iter_mut().zip(columns) {
            let ends = (0..self.len()).rposition(|row| !self.text(row, column).is_empty());
            for row in 0..ends.map_or(0, |last| last + 1) {
                match self.read_number(row, column) {
                    Ok(Some(number)) => list.push(number),
                    Ok(None) => {
                        let cell = self.cell(row, column);
                        wrong.push(format!("{cell} is empty, and further ones are not: expected a number"));
                    }
                    Err(error) => wrong.push(error),
                }
            }
        }
        all_of(wrong.into_iter())?;
        Ok(lists)
    }

    /// Indices of columns: by name first; the other names take the remaining columns in order, whose number must match.
    /// An optional column is not among the remaining ones.
    fn columns<const K: usize>(&self, names: [&str; K], optional: &[&str]) -> Result<[usize; K], JudgeError> {
        let named = names.map(|name| self.place(name));
        let optional: Vec<usize> = optional.iter().filter_map(|name| self.place(name)).collect();
        let rest: Vec<usize> = (0..self.width())
            .filter(|place| !named.contains(&Some(*place)) && !optional.contains(place))
            .collect();
        let missing: Vec<&str> =
            names.iter().zip(named).filter(|(_, place)| place.is_none()).map(|(name, _)| *name).collect();
        if rest.len() < missing.len() {
            return Err(JudgeError::Table(self.no_column(&missing[rest.len()..], false)));
        }
        if !missing.is_empty() && rest.len() > missing.len() {
            return Err(JudgeError::Table(self.no_column(&missing, true)));
        }
        let mut rest = rest.into_iter();
        Ok(named.map(|place| place.or_else(|| rest.next()).unwrap_or(0)))
    }

    fn no_column(&self, missing: &[&str], several: bool) -> String {
        let names = missing.join("`, nor `");
        let cure = match (several, self.names.is_some()) {
            (true, true) => "; give the heading these names, or leave the other columns out",
            (true, false) => "; leave the other columns out, or give them a heading",
            (false, _) => "",
        };
        format!("line {}: there is no column `{names}`: found {}{cure}", self.first, self.found())
    }

    /// Names of the columns, for error messages.
    pub(crate) fn found(&self) -> String {
        match self.names() {
            [] => count(self.width(), "column") + " without names",
            names => format!("`{}`", names.join("`, `")),
        }
    }
}

/// Where a part of the text stands in it.
fn span(text: &str, part: &str) -> Span {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    Span { start: start as u32, end: (start + part.len()) as u32 }
}

/// The number, or what stands in the way of reading it.
fn shape_under(text: &str, mark: Option<Mark>) -> Result<f64, Shape> {
    match mark {
        Some(mark) => parse(text, mark).ok_or_else(|| shape(text)),
        None => match shape(text) {
            Shape::Plain => parse(text, Mark::Point).ok_or(Shape::Text),
            other => Err(other),
        },
    }
}

/// One error of the first places where something is wrong, a line each; none where nothing is.
pub(crate) fn all_of(mut wrong: impl Iterator<Item = String>) -> Result<(), JudgeError> {
    let mut messages: Vec<String> = wrong.by_ref().take(NAMED).collect();
    if messages.is_empty() {
        return Ok(());
    }
    let more = wrong.count();
    if more > 0 {
        messages.push(format!("and {more} more"));
    }
    Err(JudgeError::Table(messages.join("\n  ")))
}

/// Whether a cell begins like a number, such as `12ms`, `0x10`, `-inf` or `NaN`.
fn numeric(cell: &str) -> bool {
    let bare = cell.trim_start_matches(['+', '-', '\u{2212}', '.', ',']);
    bare.starts_with(|first: char| first.is_ascii_digit()) || cell.parse::<f64>().is_ok()
}

/// Refuses a blank line between rows: a value may be missing there, and the rows behind it would move up.
fn check_blank_lines(text: &str) -> Result<(), JudgeError> {
    let blank =
        |line: &str| line.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).is_empty();
    let first = content(text).next().map_or(u32::MAX, |(line, _)| line);
    let last = content(text).last().map_or(0, |(line, _)| line);
    let inside = (1..).zip(text.lines()).filter(|(number, _)| (first..last).contains(number));
    all_of(
        inside
            .filter(|(_, line)| blank(line))
            .map(|(number, _)| format!("line {number} is blank, between rows: expected a row, or no line")),
    )
}

/// The lines that say something, with their numbers, without blanks at their ends.
fn content(text: &str) -> impl Iterator<Item = (u32, &str)> {
    // A tab at an end may stand beside an empty cell.
    let lines = (1..).zip(text.lines().map(|line| line.trim_matches([' ', '\r'])));
    lines.filter(|(_, line)| {
        !line.starts_with('#') && !line.chars().all(|c| c.is_whitespace() || matches!(c, ',' | ';'))
    })
}

/// The cells of a line, without blanks and quotation marks around them.
fn split(line: &str, separator: Separator) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let (cell, behind) = match separator {
            Separator::Blanks => {
                let text = text.trim_start();
                let end = text.find(char::is_whitespace).unwrap_or(text.len());
                let behind = text[end..].trim_start();
                (&text[..end], (!behind.is_empty()).then_some(behind))
            }
            Separator::Byte(byte) => {
                let end = end_of_cell(text, byte);
                (&text[..end], text.get(end + 1..))
            }
        };
        rest = behind;
        Some(unquoted(cell.trim()))
    })
}

/// Where the cell at the start of a text ends; a separator between quotation marks belongs to it.
fn end_of_cell(text: &str, separator: u8) -> usize {
    let mut quoted = false;
    let ends = |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == separator && !quoted
    };
    text.as_bytes().iter().position(ends).unwrap_or(text.len())
}

fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
}

/// The separator of a text's columns: semicolons if there are any, tabs if all lines have the same number, else commas, else blanks.
/// A decimal comma separates nothing.
fn separator(text: &str, mark: Option<Mark>, series: bool) -> Result<Separator, JudgeError> {
    let lines = || content(text).map(|(_, line)| line);
    if text.contains(';') && lines().any(|line| line.contains(';')) {
        return Ok(Separator::Byte(b';'));
    }
    if text.contains('\t') {
        let tabs = |line: &str| line.bytes().filter(|byte| *byte == b'\t').count();
        let most = lines().map(tabs).max().unwrap_or(0);
        let beside_commas = lines().any(|line| line.contains(",\t"));
        if most > 0 && !beside_commas && lines().all(|line| tabs(line) == most) {
            return Ok(Separator::Byte(b'\t'));
        }
    }
    if !text.contains(',') {
        return Ok(Separator::Blanks);
    }
    commas(text, mark, series)
}

/// Whether the commas of a text separate columns.
fn commas(text: &str, mark: Option<Mark>, series: bool) -> Result<Separator, JudgeError> {
    let comma = Separator::Byte(b',');
    let numeric = |text: &str| matches!(shape(text), Shape::Plain | Shape::Only(_) | Shape::Either);
    let mut lines = content(text);
    let Some((number, first)) = lines.next() else { return Ok(comma) };
    let beheaded = split(first, comma).any(|cell| !cell.is_empty() && shape(cell) == Shape::Text)
        && !split(first, Separator::Blanks).all(numeric);
    let data = || content(text).skip(usize::from(beheaded)).map(|(_, line)| line);
    let quoted = data().any(|line| line.contains("\",") || line.contains(",\""));
    if mark == Some(Mark::Comma) {
        return Ok(if quoted { comma } else { Separator::Blanks });
    }
    let spaced = data().any(|line| line.contains(", ") || line.contains(" ,"));
    if quoted || spaced {
        return Ok(comma);
    }
    // `108,43 99,7`: blanks stand between numbers, so that commas stand in them.
    if data().all(|line| split(line, Separator::Blanks).all(numeric)) {
        if data().any(|line| line.contains(char::is_whitespace)) {
            return Ok(Separator::Blanks);
        }
        if beheaded && !first.contains(',') {
            return Ok(Separator::Blanks);
        }
        let list = data().nth(1).is_none() && data().any(|line| line.matches(',').count() > 1);
        if series && !beheaded && !list && mark.is_none() {
            return Err(JudgeError::Table(format!(
                "line {number}, column 1: `{first}` is one number with --decimal comma and several with --decimal point; expected one of the two"
            )));
        }
    }
    Ok(comma)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mark: Option<Mark>) -> Result<Vec<f64>, JudgeError> {
        Table::read(text, mark, true)?.series("values")
    }

    fn pairs(text: &str, mark: Option<Mark>) -> Result<[Vec<f64>; 2], JudgeError> {
        Table::read(text, mark, false)?.lists(["a", "b"], &[])
    }

    const GERMAN: [f64; 3] = [108.43, 99.7, 101.0];

    #[test]
    fn decimal_commas_are_read_wherever_they_can_be_nothing_else() {
        for text in [
            "values\n108,43\n99,7\n101\n",
            "values\r\n108,43\r\n99,7\r\n101\r\n",
            "\u{feff}values\n108,43\n99,7\n101,0",
            "# disk\nvalues;\n108,43;\n99,7;\n101;\n",
            "time;values\n1,5;108,43\n2,5;99,7\n3;101\n",
            "time\tvalues\n1\t108,43\n2\t99,7\n3\t101\n",
            "values\n\"108,43\"\n\"99,7\"\n\"101\"\n",
            "time,values\n1,\"108,43\"\n2,\"99,7\"\n3,\"101\"\n",
            "108,43;99,7;101",
            "108,43 99,7 101",
        ] {
            assert_eq!(read(text, None), Ok(GERMAN.to_vec()), "{text}");
        }
        for text in [
            "108,43 99,7\n101 98,5",
            "108,43;99,7\n101;98,5",
            "108,43\t99,7\n101\t98,5",
            "\"108,43\",\"99,7\"\n\"101\",\"98,5\"",
        ] {
            assert_eq!(pairs(text, None), Ok([vec![108.43, 101.0], vec![99.7, 98.5]]), "{text}");
        }
    }

    #[test]
    fn thousands_are_read_by_the_mark_that_other_numbers_show() {
        for (text, expected) in [
            ("values;x\n1.234,5;1\n2.000;1\n", [1234.5, 2000.0]),
            ("values;x\n1,234.5;1\n2,000;1\n", [1234.5, 2000.0]),
            ("values;x\n1,234;0,5\n2,000;1\n", [1.234, 2.0]),
            ("values\n1'234.5\n2'000\n", [1234.5, 2000.0]),
            ("values;x\n1 234,5;1\n2 000;1\n", [1234.5, 2000.0]),
            ("values\n1,234,567\n2,000\n", [1_234_567.0, 2000.0]),
        ] {
            assert_eq!(read(text, None), Ok(expected.to_vec()), "{text}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused_with_its_place_and_read_by_a_stated_mark() {
        let error = |text| read(text, None).unwrap_err().to_string();
        let either = error("values;x\n900;1\n1,234;1\n");
        assert!(either.starts_with("line 3, column 1: row 2 of `values` is `1,234`: 1234 with"), "{either}");
        assert!(either.contains("--decimal point, 1.234 with --decimal comma"), "{either}");
        assert_eq!(read("values;x\n900;1\n1,234;1\n", Some(Mark::Point)), Ok(vec![900.0, 1234.0]));
        assert_eq!(read("values;x\n900;1\n1,234;1\n", Some(Mark::Comma)), Ok(vec![900.0, 1.234]));
        let bare = error("# one\n108,43\n99,70\n");
        assert!(bare.starts_with("line 2, column 1: `108,43` is one number with --decimal comma"), "{bare}");
        assert_eq!(read("108,43\n99,70\n", Some(Mark::Comma)), Ok(vec![108.43, 99.7]));
        assert!(read("108,43\n99,70\n", Some(Mark::Point)).unwrap_err().to_string().contains("2 columns"));
    }

    #[test]
    fn marks_that_contradict_each_other_are_refused() {
        let error = read("values;x\n12.5;1\n12,5;1\n12,75;1\n", None).unwrap_err().to_string();
        let expected = "line 3, column 1: row 2 of `values` is `12,5`: expected a number with a decimal point, as in line 2\n  line 4,";
        assert!(error.starts_with(expected), "{error}");
        assert!(read("1.5 2,5", None).is_err());
    }

    #[test]
    fn a_line_with_more_cells_than_the_heading_is_refused() {
        let error = pairs("a,b\n1,2\n108,43,99,7\n1,2,\n", None).unwrap_err().to_string();
        assert!(error.starts_with("line 3, column 3: the line has 4 cells, and the heading 2"), "{error}");
        assert!(error.contains("semicolons") && !error.contains("line 4"), "{error}");
        assert!(pairs("1,2,3\n4,5,6\n", None).is_err(), "none of three columns is left out silently");
        assert!(read("time,latency\n1,2\n3,4\n", None).is_err(), "nor of two");
    }

    #[test]
    fn columns_go_by_their_names_in_any_order_and_the_others_by_theirs() {
        let swapped = Table::read("seconds,n\n5,1\n6,2\n", None, false).unwrap();
        assert_eq!(swapped.whole_rows(["n", "time"], &[]), Ok(vec![[1.0, 5.0], [2.0, 6.0]]));
        assert_eq!(pairs("new,a\n5,1\n", None), Ok([vec![1.0], vec![5.0]]));
    }

    #[test]
    fn a_gap_never_shifts_what_belongs_together() {
        let error = pairs("a,b\n1,\n,2\n3,4\n", None).unwrap_err().to_string();
        assert!(error.contains("line 3, column 1: row 2 of `a` is empty"), "{error}");
        assert!(error.contains("line 2, column 2: row 1 of `b` is empty"), "{error}");
        assert_eq!(pairs("a,b\n1,2\n3,\n", None), Ok([vec![1.0, 3.0], vec![2.0]]), "one is longer");
        let rows = Table::read("n,time\n1,5\n2,\n", None, false).unwrap();
        assert!(rows.whole_rows(["n", "time"], &[]).is_err());
    }

    #[test]
    fn a_first_line_that_begins_like_a_number_is_no_heading() {
        for first in ["12ms", "NaN", "-inf", "0x10", "10.1.2"] {
            let error = read(&format!("{first}\n1\n2\n"), None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("line 1, column 1: `{first}`")), "{error}");
        }
        assert!(pairs("a,10x\n1,2\n", None).unwrap_err().to_string().starts_with("line 1, column 2: `10x`"));
        assert_eq!(read("p99\n1\n2\n", None), Ok(vec![1.0, 2.0]));
    }

    #[test]
    fn a_blank_line_between_rows_is_refused() {
        for text in ["1\n2\n\n3\n", "values\n1\n \n3\n", "a,b\n1,2\n,\n3,4\n"] {
            let error = Table::read(text, None, false).unwrap_err().to_string();
            assert!(error.starts_with("line 3 is blank"), "{error}");
        }
    }

    #[test]
    fn points_that_may_separate_thousands_are_refused_unless_other_numbers_decide() {
        let error = read("990\n1.010\n1.020\n", None).unwrap_err().to_string();
        assert!(error.contains("line 2, column 1") && error.contains("1010 with --decimal comma"), "{error}");
        assert_eq!(read("990\n1.010\n", Some(Mark::Comma)), Ok(vec![990.0, 1010.0]));
        assert_eq!(read("990\n1.010\n", Some(Mark::Point)), Ok(vec![990.0, 1.01]));
        for text in ["1.010\n1.020\n", "0.990\n1.010\n", "990\n1.010\n1.5\n", "1990\n1.010\n", "1\n1.010\n"] {
            assert!(read(text, None).is_ok_and(|values| values.contains(&1.01)), "{text}");
        }
    }

    #[test]
    fn wrong_cells_are_named_up_to_five() {
        let text = format!("values\n1\n{}", "x\n".repeat(7));
        let error = read(&text, None).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 6, "{error}");
        assert!(error.contains("line 3, column 1") && error.ends_with("and 2 more"), "{error}");
    }

    #[test]
    fn a_list_may_stand_in_one_line_or_in_many_and_names_its_numbers() {
        for text in ["1,2,3", "1, 2, 3", "1 2 3", "1;2;3", "[1, 2,\n 3]", "\n1\n2\n3\n\n"] {
            assert_eq!(read(text, None), Ok(vec![1.0, 2.0, 3.0]), "{text}");
        }
        let error = read("1 2 3x 4", Some(Mark::Point)).unwrap_err().to_string();
        assert!(error.starts_with("line 1, column 3: `3x`"), "{error}");
    }
}
