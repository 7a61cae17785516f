//! Rows as JSON, an object on each line.

use std::io::{self, Write};

use super::table::{Cell, Table};
use super::{Exported, rows};

/// Writes each row as a JSON object with the names of [`super::Row`].
///
/// # Errors
/// When `out` cannot be written to.
pub fn jsonl(out: &mut dyn Write, exported: &Exported<'_>) -> io::Result<()> {
    rows(exported, &mut |row| {
        serde_json::to_writer(&mut *out, row)?;
        writeln!(out)
    })
}

/// Writes each row of a table as a JSON object with the names of the columns. What a row does not have is left out.
///
/// # Errors
/// When `out` cannot be written to.
pub fn jsonl_of(out: &mut dyn Write, table: &dyn Table) -> io::Result<()> {
    let columns = table.columns();
    table.rows(&mut |cells| {
        let fields = columns.iter().zip(cells).filter_map(|((name, _), cell)| {
            let value = match cell {
                Cell::Text(text) => serde_json::Value::from((*text)?),
                Cell::Count(count) => (*count)?.into(),
                Cell::Number(number) => (*number)?.into(),
            };
            Some(((*name).to_owned(), value))
        });
        serde_json::to_writer(&mut *out, &fields.collect::<serde_json::Map<_, _>>())?;
        writeln!(out)
    })
}
