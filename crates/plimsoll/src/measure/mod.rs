//! Commands as systems under test: one is run, and one figure is read off it.
//!
//! A command gets no input. What it prints goes into unlinked files and not through pipes, so that neither a full pipe nor a
//! reader of it is part of what is timed.

mod command_line;
mod error;
mod gauge;
mod interrupt;
mod process;

pub(crate) use command_line::{Invocation, invocations, of_words, substituted};
pub(crate) use error::MeasureError;
pub(crate) use gauge::Gauge;
pub(crate) use interrupt::Interrupts;
pub(crate) use process::{Place, Runner};

/// Measures one of several things, known by their place in a list.
pub(crate) trait Meter {
    /// One figure of one of them, finite and above 0.
    fn measure(&mut self, which: usize) -> Result<f64, MeasureError>;
}
