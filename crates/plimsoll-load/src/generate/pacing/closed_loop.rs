//! Closed loop: a fixed number of requests in flight, each begun when one before it has ended.

use super::{Afterwards, Pacing, Start};
use crate::clock;
use crate::generate::course::Course;

/// A fixed number of requests in flight, each begun when one before it has ended.
#[derive(Debug)]
pub(in crate::generate) struct ClosedLoop {
    concurrency: usize,
    /// Connections that are still to be begun.
    left: Option<u64>,
    /// Requests that are still to be begun.
    requests_left: Option<u64>,
    end: Option<u64>,
    cap: Option<Cap>,
}

/// The most requests in a time, as the generic cell rate algorithm has it (ITU-T I.371, the virtual scheduling algorithm).
#[derive(Debug)]
struct Cap {
    /// Nanoseconds between two requests at this rate.
    gap: f64,
    /// When the next request is due at this rate.
    due: f64,
}

impl Cap {
    /// Largest delay that a late loop makes up for, in nanoseconds; a longer one is lost.
    const TOLERANCE: f64 = 100e6;

    /// When a request may begin that would begin at `now`: counted if that is now.
    fn admit(&mut self, now: u64) -> Option<u64> {
        let now = now as f64;
        if self.due > now {
            return Some(self.due.ceil() as u64);
        }
        self.due = self.due.max(now - Self::TOLERANCE) + self.gap;
        None
    }
}

impl ClosedLoop {
    /// The closed loop of one generator of a load that starts at `start`.
    pub(in crate::generate) fn new(course: &Course, start: u64) -> Self {
        Self {
            concurrency: course.concurrency as usize,
            left: course.connections,
            requests_left: course.requests,
            end: course.duration.map(|duration| start.saturating_add(clock::nanoseconds(duration))),
            cap: course
                .most_per_second
                .map(|most| Cap { gap: 1e9 * f64::from(course.generators) / most, due: start as f64 }),
        }
    }

    /// Takes one of the requests that are left; false where none is.
    fn take_request(&mut self) -> bool {
        match &mut self.requests_left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn has_ended(&self, now: u64) -> bool {
        self.end.is_some_and(|end| now >= end)
    }
}

impl Pacing for ClosedLoop {
    fn next(&mut self, now: u64, busy: usize) -> Start {
        if self.left == Some(0) || self.requests_left == Some(0) || self.has_ended(now) {
            return Start::Over;
        }
        if busy >= self.concurrency {
            return Start::WhenOneEnds;
        }
        if let Some(later) = self.cap.as_mut().and_then(|cap| cap.admit(now)) {
            return Start::At(later);
        }
        self.left = self.left.map(|left| left - 1);
        self.take_request();
        Start::Now { intended: now, held: false }
    }

    fn afterwards(&mut self, now: u64) -> Afterwards {
        if self.cap.is_some() {
            // The cap counts requests where they begin.
            let over = self.has_ended(now) || self.requests_left == Some(0);
            return if over { Afterwards::Close } else { Afterwards::Rest };
        }
        if self.has_ended(now) || !self.take_request() { Afterwards::Close } else { Afterwards::AskAgain }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::{HttpLoad, SmtpLoad};
    use plimsoll_model::units::Span;

    use super::*;

    fn begun(intended: u64) -> Start {
        Start::Now { intended, held: false }
    }

    #[test]
    fn a_closed_loop_keeps_to_its_concurrency_and_its_total() {
        let load = HttpLoad { connections: Some(3), concurrency: 2, ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&Course::from(&load), 100);
        assert_eq!(pacing.next(100, 0), begun(100));
        assert_eq!(pacing.next(101, 1), begun(101));
        assert_eq!(pacing.next(102, 2), Start::WhenOneEnds);
        assert_eq!(pacing.next(103, 1), begun(103));
        assert_eq!(pacing.next(104, 0), Start::Over);
    }

    #[test]
    fn a_closed_loop_begins_nothing_after_its_duration() {
        let load = HttpLoad { duration: Some(Span::millis(1)), ..HttpLoad::default() };
        let mut pacing = ClosedLoop::new(&Course::from(&load), 100);
        assert_eq!(pacing.next(1_000_099, 0), begun(1_000_099));
        assert_eq!(pacing.afterwards(1_000_099), Afterwards::AskAgain);
        assert_eq!(pacing.afterwards(1_000_100), Afterwards::Close);
        assert_eq!(pacing.next(1_000_100, 0), Start::Over);
    }

    #[test]
    fn requests_are_counted_over_all_connections() {
        let load = SmtpLoad { messages: Some(3), sessions: 2, ..SmtpLoad::default() };
        let mut pacing = ClosedLoop::new(&Course::from(&load), 100);
        assert_eq!(pacing.next(100, 0), begun(100));
        assert_eq!(pacing.next(100, 1), begun(100));
        assert_eq!(pacing.afterwards(101), Afterwards::AskAgain);
        assert_eq!(pacing.afterwards(102), Afterwards::Close);
        assert_eq!(pacing.next(103, 0), Start::Over);
    }

    #[test]
    fn a_cap_spaces_requests_evenly_and_does_not_make_up_for_a_slow_server() {
        let load = SmtpLoad {
            duration: Some(Span::secs(10)),
            sessions: 5,
            generators: 2,
            most_per_minute: Some(120.0),
            ..SmtpLoad::default()
        };
        let mut pacing = ClosedLoop::new(&Course::from(&load), 0);
        // Two in a second, one for each of two generators.
        assert_eq!(pacing.next(0, 0), begun(0));
        assert_eq!(pacing.next(1, 1), Start::At(1_000_000_000));
        assert_eq!(pacing.afterwards(2), Afterwards::Rest);
        // The alarm was late by 5 ms, the next request is not.
        assert_eq!(pacing.next(1_005_000_000, 0), begun(1_005_000_000));
        assert_eq!(pacing.next(1_005_000_000, 1), Start::At(2_000_000_000));
        // No session was free for five seconds.
        assert_eq!(pacing.next(7_000_000_000, 5), Start::WhenOneEnds);
        assert_eq!(pacing.next(7_000_000_000, 0), begun(7_000_000_000));
        assert_eq!(pacing.next(7_000_000_000, 1), Start::At(7_900_000_000));
        assert_eq!(pacing.afterwards(10_000_000_000), Afterwards::Close);
        assert_eq!(pacing.next(10_000_000_000, 0), Start::Over);
    }
}
