//! Where results go, and whether they may have colour.

use std::io::{self, IsTerminal, Write};

use plimsoll_report::text::TextOptions;

use crate::failure::Failure;

/// Whether a stream may have colour: a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
fn has_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) fn stderr_has_colour() -> bool {
    has_colour(&io::stderr())
}

/// How text results look on this stdout.
pub(crate) fn text_options() -> TextOptions {
    TextOptions { color: has_colour(&io::stdout()), ..TextOptions::default() }
}

/// Writes results to stdout. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::could_not(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
