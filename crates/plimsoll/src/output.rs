//! Where results and messages go: the one place at which the program writes to stdout and stderr.
//!
//! Names, questions, arguments and what programs wrote come from anywhere. They reach a terminal through a [`Screen`], which shows escape
//! sequences instead of obeying them; see [`plimsoll_report::screen`]. `println!` and its kin are lints elsewhere in this crate.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use plimsoll_report::escape::block;
use plimsoll_report::screen::Screen;
use plimsoll_report::text::TextOptions;

use crate::failure::Failure;

mod live;
mod width;

pub(crate) use live::LiveLine;

/// Whether a stream may have colour: a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
fn has_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) fn stderr_has_colour() -> bool {
    has_colour(&io::stderr())
}

/// How many columns messages on stderr may have.
pub(crate) fn stderr_width() -> usize {
    width::of(&io::stderr())
}

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

/// Writes a document for programs to stdout, byte by byte; a terminal only shows it.
pub(crate) fn document(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    if io::stdout().is_terminal() { text(write) } else { to_stdout(write) }
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

/// Writes a message to stderr.
pub(crate) fn say(message: impl Display) {
    drawn(&block(&message.to_string()));
}

/// Writes a question to stderr, and leaves the line open for the answer.
pub(crate) fn ask(question: impl Display) {
    write!(io::stderr().lock(), "{}", block(&question.to_string())).ok();
}

/// Writes to stderr what was made of shown text and styles of our own.
pub(crate) fn drawn(text: &str) {
    // A stderr that is closed leaves nobody to tell.
    writeln!(io::stderr().lock(), "{text}").ok();
}
