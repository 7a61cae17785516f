//! Messages on stderr.
//!
//! Names, questions, arguments and what programs wrote come from anywhere; escape sequences in them are shown instead of obeyed.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use plimsoll_report::escape::block;

use crate::args::ColorChoice;
use crate::width;

/// What the command line says of colours and of notes.
static CHOSEN: OnceLock<(ColorChoice, bool)> = OnceLock::new();

/// Sets, once, when there are colours, and whether only warnings and errors are told.
pub(crate) fn choose(color: ColorChoice, quiet: bool) {
    // The program reads its command line once.
    let _ = CHOSEN.set((color, quiet));
}

/// Whether nothing but warnings and errors is told.
pub(crate) fn is_quiet() -> bool {
    CHOSEN.get().is_some_and(|(_, quiet)| *quiet)
}

/// Whether a stream has colour: as `--color` says, else a terminal has, unless `NO_COLOR` is set (<https://no-color.org>).
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    match CHOSEN.get().map_or(ColorChoice::Auto, |(color, _)| *color) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
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

/// Writes to stderr what is good to know and no warning: nothing under `--quiet`.
pub(crate) fn note(message: impl Display) {
    if !is_quiet() {
        say(message);
    }
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
