//! A table with a heading (RFC 4180).

use std::io::{self, Write};

use super::table::{Cell, Table};
use crate::escape;

/// Text that no spreadsheet takes for a formula, and no terminal for a command: an apostrophe before what would begin a formula
/// (<https://owasp.org/www-community/attacks/CSV_Injection>).
fn harmless(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("{quote}{}", escape::block(text))
}

/// Writes the rows of a table.
///
/// # Errors
/// When `out` cannot be written to.
pub fn csv(out: &mut dyn Write, table: &dyn Table) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns().into_iter().map(|(name, _)| harmless(name)))?;
    table.rows(&mut |cells| {
        let cells = cells.iter().map(|cell| match cell {
            Cell::Text(text) => harmless(text.unwrap_or_default()),
            Cell::Count(count) => count.map(|count| count.to_string()).unwrap_or_default(),
            Cell::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        });
        Ok(writer.write_record(cells)?)
    })?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_formula_and_moves_no_cursor() {
        assert_eq!(harmless("=HYPERLINK(\"http://evil\")"), "'=HYPERLINK(\"http://evil\")");
        assert_eq!(harmless("@SUM(A1)"), "'@SUM(A1)");
        assert_eq!(harmless("\u{1b}[2J"), "\\x1b[2J");
        assert_eq!(harmless("relay = 4"), "relay = 4");
    }
}
