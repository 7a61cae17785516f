//! Messages on stderr.
//!
//! Names, questions, arguments and what programs wrote come from anywhere; escape sequences in them are shown instead of obeyed.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use plimsoll_report::escape::block;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::prelude::*;

use crate::args::ColorChoice;
use crate::width;

/// The command line's choice of colours and of the level of messages.
static CHOSEN: OnceLock<(ColorChoice, Level)> = OnceLock::new();

/// Sets, once, whether there are colours, and the level of messages.
pub(crate) fn choose(color: ColorChoice, level: Level) {
    // The program reads its command line once.
    let _ = CHOSEN.set((color, level));
}

/// The level of messages. Before the command line is read, and in processes that the program starts itself as, it is
/// all but -v.
fn level() -> Level {
    CHOSEN.get().map_or(Level::INFO, |(_, level)| *level)
}

/// Whether only warnings and errors are printed.
pub(crate) fn is_quiet() -> bool {
    level() < Level::INFO
}

/// Prints the events of the libraries on stderr, a line each, up to the chosen level. Only Plimsoll's own: other
/// crates' events are about themselves.
pub(crate) fn listen() {
    let own = filter_fn(|about| about.target().starts_with("plimsoll") && *about.level() <= level());
    let lines = tracing_subscriber::fmt::layer()
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_ansi(false)
        // A closed stderr has no reader.
        .log_internal_errors(false)
        .with_writer(io::stderr)
        .with_filter(own.with_max_level_hint(LevelFilter::DEBUG));
    // The first of a process is its only one.
    tracing_subscriber::registry().with(lines).try_init().ok();
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
    // A closed stderr has no reader.
    writeln!(io::stderr().lock(), "{text}").ok();
}
