//! Where results and messages go: the one place at which the program writes to stdout and stderr.
//!
//! Names, questions, arguments and what programs wrote come from anywhere. They reach a terminal through a [`Screen`], which shows escape
//! sequences instead of obeying them; see [`plimsoll_report::control_characters`]. `println!` and its kin are lints elsewhere in this crate.

use std::io::{self, IsTerminal, Write};

use plimsoll_report::control_characters::Screen;
use plimsoll_report::escape::terminal;
use plimsoll_report::text::TextOptions;
use serde::Serialize;

use crate::failure::Failure;
use crate::messages::has_colour;
use crate::width;

pub(crate) mod full_screen;
mod live;

pub(crate) use live::LiveLine;

/// How text results look on this stdout.
pub(crate) fn text_options() -> TextOptions {
    TextOptions { color: has_colour(&io::stdout()), width: width::of(&io::stdout()) }
}

/// Writes text for people to stdout.
pub(crate) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    to_stdout(|out| {
        let mut screen = Screen::new(out, false);
        write(&mut screen).and_then(|()| screen.flush())
    })
}

/// Writes to stdout what a writer of `plimsoll_report::text` makes, which has a screen of its own.
pub(crate) fn styled(
    write: impl FnOnce(&mut dyn Write, &TextOptions) -> io::Result<()>,
) -> Result<(), Failure> {
    to_stdout(|out| write(out, &text_options()))
}

/// Writes rows in columns of even width below their headings, each line behind `indent`.
pub(crate) fn table<const N: usize>(
    out: &mut dyn Write,
    indent: &str,
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> io::Result<()> {
    let escaped = |cells: [String; N]| cells.map(|cell| terminal(&cell).into_owned());
    let headings = headings.map(ToOwned::to_owned);
    let rows: Vec<[String; N]> = std::iter::once(headings).chain(rows.into_iter().map(escaped)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{indent}{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Writes a document for programs to stdout, byte by byte; a terminal only shows it.
pub(crate) fn document(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    if io::stdout().is_terminal() { text(write) } else { to_stdout(write) }
}

/// Writes a value as a JSON document to stdout.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    document(|out| plimsoll_report::json::pretty(out, value))
}

/// Writes bytes that are no text to a file or a pipe, and never to a terminal.
pub(crate) fn bytes(
    what: &str,
    file: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::Usage(format!("{what} is no text: send it into a file (> {file})")));
    }
    to_stdout(write)
}

/// A reader that has seen enough (`| head`) is no failure.
fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::could_not(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
