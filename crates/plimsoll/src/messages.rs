//! Messages on stderr.
//!
//! Names, questions, arguments and what programs wrote come from anywhere; escape sequences in them are shown instead of obeyed.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use plimsoll_report::escape::block;

use crate::width;

/// Whether a stream may have colour: a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) fn stderr_has_colour() -> bool {
    has_colour(&io::stderr())
}

/// How many columns messages on stderr may have.
pub(crate) fn stderr_width() -> usize {
    width::of(&io::stderr())
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
