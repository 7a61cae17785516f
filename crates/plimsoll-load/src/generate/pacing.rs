//! When the next connection begins. The event loop asks, and knows nothing of the reasons.

use plimsoll_model::experiment::HttpLoad;

/// What a pacing says to a generator that could begin something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Begin one now. Its latency counts from `intended` on, which may lie in the past.
    Now {
        /// When it should have begun, in nanoseconds of the clock.
        intended: u64,
    },
    /// Not before something that is under way has ended.
    WhenOneEnds,
    /// Never again.
    Over,
}

/// Decides when connections begin.
pub(super) trait Pacing {
    /// What to do at `now`, with so many connections under way. `Now` is taken at its word: the connection begins.
    fn next(&mut self, now: u64, under_way: usize) -> Start;

    /// Whether a kept connection may send another request at `now`.
    fn goes_on(&self, now: u64) -> bool;
}

/// So many at a time, each begun when one before it has ended.
#[derive(Debug)]
pub(super) struct ClosedLoop {
    concurrency: usize,
    left: Option<u64>,
    end: Option<u64>,
}

impl ClosedLoop {
    /// The closed loop of one generator of a load that starts at `start`.
    pub(super) fn new(load: &HttpLoad, start: u64) -> Self {
        let length = |span: plimsoll_model::units::Span| u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX);
        Self {
            concurrency: load.concurrency as usize,
            left: load.connections,
            end: load.duration.map(|span| start.saturating_add(length(span))),
        }
    }
}

impl Pacing for ClosedLoop {
    fn next(&mut self, now: u64, under_way: usize) -> Start {
        if self.left == Some(0) || !self.goes_on(now) {
            return Start::Over;
        }
        if under_way >= self.concurrency {
            return Start::WhenOneEnds;
        }
        self.left = self.left.map(|left| left - 1);
        Start::Now { intended: now }
    }

    fn goes_on(&self, now: u64) -> bool {
        self.end.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::Span;

    use super::*;

    #[test]
    fn a_closed_loop_keeps_to_its_concurrency_and_its_total() {
        let load = HttpLoad { connections: Some(3), concurrency: 2, ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&load, 100);
        assert_eq!(pacing.next(100, 0), Start::Now { intended: 100 });
        assert_eq!(pacing.next(101, 1), Start::Now { intended: 101 });
        assert_eq!(pacing.next(102, 2), Start::WhenOneEnds);
        assert_eq!(pacing.next(103, 1), Start::Now { intended: 103 });
        assert_eq!(pacing.next(104, 0), Start::Over);
    }

    #[test]
    fn a_closed_loop_begins_nothing_after_its_duration() {
        let load = HttpLoad { duration: Some(Span::millis(1)), ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&load, 100);
        assert_eq!(pacing.next(1_000_099, 0), Start::Now { intended: 1_000_099 });
        assert!(!pacing.goes_on(1_000_100));
        assert_eq!(pacing.next(1_000_100, 0), Start::Over);
    }
}
