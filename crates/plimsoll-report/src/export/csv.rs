//! A table with a heading (RFC 4180).

use std::io::{self, Write};

use super::table::{Cell, Table};

/// Writes the rows of a table.
///
/// # Errors
/// When `out` cannot be written to.
pub fn csv(out: &mut dyn Write, table: &dyn Table) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns().into_iter().map(|(name, _)| name))?;
    table.rows(&mut |cells| {
        let cells = cells.iter().map(|cell| match cell {
            Cell::Text(text) => text.unwrap_or_default().to_owned(),
            Cell::Count(count) => count.map(|count| count.to_string()).unwrap_or_default(),
            Cell::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        });
        Ok(writer.write_record(cells)?)
    })?;
    writer.flush()
}
