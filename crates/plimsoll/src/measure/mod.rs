//! Commands as systems under test: one is run, and one figure is read off it.
//!
//! A command gets no input. What it prints goes into unlinked files and not through pipes, so that neither a full pipe nor a
//! reader of it is part of what is timed.

mod command_line;
mod counter;
mod error;
mod gauge;
mod interrupt;
mod process;
mod process_sampling;
mod schedstat;

pub(crate) use command_line::{Invocation, for_names, invocations, is_command, of_words, substituted};
pub(crate) use counter::Counter;
pub(crate) use error::MeasureError;
pub(crate) use gauge::Gauge;
pub(crate) use interrupt::Interrupts;
pub(crate) use process::{EndedCommand, Runner, Times, WorkingFolder};
pub(crate) use process_sampling::{FILES, sample_during, without_numbers};

/// One figure that was read off a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    /// The figure as it is, finite and above 0.
    pub(crate) value: f64,
    /// The part of it that other processes caused, less than the whole; `None` if that is unknown.
    pub(crate) foreign: Option<f64>,
}

impl Figure {
    /// A figure that is all the command's own, or whose foreign part is unknown.
    pub(crate) fn plain(value: f64) -> Self {
        Self { value, foreign: None }
    }

    /// The figure without what is known to be the doing of others.
    pub(crate) fn own(self) -> f64 {
        self.value - self.foreign.unwrap_or(0.0)
    }
}

/// Measures one of several things, known by their place in a list.
pub(crate) trait Meter {
    /// One figure of one of them.
    fn measure(&mut self, which: usize) -> Result<Figure, MeasureError>;
}
