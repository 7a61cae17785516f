//! When the next request begins. The event loop asks, and knows nothing of the reasons.

mod closed_loop;
mod curve;
mod open_loop;
#[cfg(test)]
mod pause;

use plimsoll_model::observation::ErrorKind;

pub(super) use self::closed_loop::ClosedLoop;
pub(super) use self::open_loop::{OpenLoop, length};

/// A pacing's answer to a generator that could begin a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Begin a request now, on a connection that rests or on a new one. Its latency counts from `intended` on, which may lie in the past.
    Now {
        /// When it should have begun, in nanoseconds of the clock.
        intended: u64,
        /// Whether it had to wait for a connection.
        held: bool,
    },
    /// A request that will never begin, because it is too late for it.
    TooLate {
        /// When it should have begun.
        intended: u64,
        /// Why it did not.
        why: ErrorKind,
    },
    /// Not before then.
    At(u64),
    /// Not before something that is under way has ended.
    WhenOneEnds,
    /// Never again.
    Over,
}

/// Action of a connection when its server would take another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// Ask again at once.
    AskAgain,
    /// Rest until a request is due.
    Rest,
    /// Close.
    Close,
}

/// Decides when requests begin.
pub(super) trait Pacing {
    /// Action at `now`, with `busy` busy connections. After `Now` the request begins in any case.
    fn next(&mut self, now: u64, busy: usize) -> Start;

    /// Action of a kept connection after an answer at `now`.
    fn afterwards(&mut self, now: u64) -> Afterwards;
}
