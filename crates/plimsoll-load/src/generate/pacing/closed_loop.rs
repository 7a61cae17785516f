//! Closed loop: so many at a time, each begun when one before it has ended.

use plimsoll_model::experiment::HttpLoad;

use super::{Afterwards, Pacing, Start};

/// So many at a time, each begun when one before it has ended.
#[derive(Debug)]
pub(in crate::generate) struct ClosedLoop {
    concurrency: usize,
    left: Option<u64>,
    end: Option<u64>,
}

impl ClosedLoop {
    /// The closed loop of one generator of a load that starts at `start`.
    pub(in crate::generate) fn new(load: &HttpLoad, start: u64) -> Self {
        let length = |span: plimsoll_model::units::Span| u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX);
        Self {
            concurrency: load.concurrency as usize,
            left: load.connections,
            end: load.duration.map(|span| start.saturating_add(length(span))),
        }
    }

    fn has_ended(&self, now: u64) -> bool {
        self.end.is_some_and(|end| now >= end)
    }
}

impl Pacing for ClosedLoop {
    fn next(&mut self, now: u64, busy: usize) -> Start {
        if self.left == Some(0) || self.has_ended(now) {
            return Start::Over;
        }
        if busy >= self.concurrency {
            return Start::WhenOneEnds;
        }
        self.left = self.left.map(|left| left - 1);
        Start::Now { intended: now, held: false }
    }

    fn afterwards(&self, now: u64) -> Afterwards {
        if self.has_ended(now) { Afterwards::Close } else { Afterwards::AskAgain }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::Span;

    use super::*;

    fn begun(intended: u64) -> Start {
        Start::Now { intended, held: false }
    }

    #[test]
    fn a_closed_loop_keeps_to_its_concurrency_and_its_total() {
        let load = HttpLoad { connections: Some(3), concurrency: 2, ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&load, 100);
        assert_eq!(pacing.next(100, 0), begun(100));
        assert_eq!(pacing.next(101, 1), begun(101));
        assert_eq!(pacing.next(102, 2), Start::WhenOneEnds);
        assert_eq!(pacing.next(103, 1), begun(103));
        assert_eq!(pacing.next(104, 0), Start::Over);
    }

    #[test]
    fn a_closed_loop_begins_nothing_after_its_duration() {
        let load = HttpLoad { duration: Some(Span::millis(1)), ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&load, 100);
        assert_eq!(pacing.next(1_000_099, 0), begun(1_000_099));
        assert_eq!(pacing.afterwards(1_000_099), Afterwards::AskAgain);
        assert_eq!(pacing.afterwards(1_000_100), Afterwards::Close);
        assert_eq!(pacing.next(1_000_100, 0), Start::Over);
    }
}
