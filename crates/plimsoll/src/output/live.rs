//! A line on stderr that changes while something is under way. Nothing where stderr is no terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use plimsoll_report::escape::terminal;

use crate::messages::is_quiet;

/// The line, where there is a terminal.
pub(crate) struct LiveLine {
    bar: Option<ProgressBar>,
}

impl LiveLine {
    /// A line; with a `tick`, a sign of life turns in it that often.
    pub(crate) fn new(tick: Option<Duration>) -> Self {
        let bar = (std::io::stderr().is_terminal() && !is_quiet()).then(|| {
            // A longer line is cut off: a line that wraps cannot be taken back.
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            let bar = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            if let Some(tick) = tick {
                bar.enable_steady_tick(tick);
            }
            bar
        });
        Self { bar }
    }

    /// Whether it is shown.
    pub(crate) fn is_seen(&self) -> bool {
        self.bar.is_some()
    }

    /// Changes the line.
    pub(crate) fn show(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(terminal(text).into_owned());
        }
    }

    /// Writes a line that stays, above.
    pub(crate) fn say(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.println(terminal(text));
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
