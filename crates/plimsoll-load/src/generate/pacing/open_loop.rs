//! Open loop: requests begin when they are due, whether or not those before them have been answered.

use plimsoll_model::experiment::open_loop::{Arrivals, OpenLoop as Spec};
use plimsoll_model::observation::ErrorKind;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::curve::Curve;
use super::{Afterwards, Pacing, Start};
use crate::clock;
use crate::generate::course::Course;

/// A due request that has not begun this long after the end of the load, though a connection was free, is given up: the generator
/// cannot offer the rate.
const GRACE: u64 = 100_000_000;

/// When the requests of one generator are due.
struct Schedule {
    curve: Curve,
    start: u64,
    arrivals: Arrivals,
    random: SmallRng,
    /// How many generators share the rate.
    share: f64,
    /// Where on the curve the next request is.
    place: f64,
    /// When that is; `None` once the curve has ended.
    next: Option<u64>,
}

impl Schedule {
    fn new(spec: &Spec, length: f64, start: u64, (nth, of): (u32, u32), seed: u64) -> Self {
        let curve = Curve::new(spec, length);
        let random = SmallRng::seed_from_u64(seed.wrapping_add(u64::from(nth)));
        let mut schedule = Self {
            curve,
            start,
            arrivals: spec.arrivals,
            random,
            share: f64::from(of),
            place: 0.0,
            next: None,
        };
        schedule.place = match spec.arrivals {
            Arrivals::Constant => f64::from(nth),
            Arrivals::Poisson => schedule.gap(),
        };
        schedule.find();
        schedule
    }

    fn find(&mut self) {
        self.next = self.curve.when(self.place).map(|at| self.start + (at * 1e9) as u64);
    }

    fn advance(&mut self) {
        self.place += self.gap();
        self.find();
    }

    /// Requests of all generators between two of this one.
    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.share,
            Arrivals::Poisson => -self.share * (1.0 - self.random.random::<f64>()).ln(),
        }
    }
}

/// The open loop of one generator.
pub(in crate::generate) struct OpenLoop {
    schedule: Schedule,
    concurrency: usize,
    patience: u64,
    end: u64,
    /// No connection was free when the pacing was asked last.
    blocked: bool,
    /// Requests that were due before then had to wait for a connection.
    held_until: u64,
}

impl OpenLoop {
    /// The open loop of the `nth` generator of a load that starts at `start`.
    pub(in crate::generate) fn new(
        course: &Course,
        spec: &Spec,
        start: u64,
        place: (u32, u32),
        seed: u64,
    ) -> Self {
        let length = length(course, spec);
        Self {
            schedule: Schedule::new(spec, length, start, place, seed),
            concurrency: course.concurrency as usize,
            patience: clock::nanoseconds(course.timeout),
            end: start.saturating_add((length * 1e9) as u64),
            blocked: false,
            held_until: start,
        }
    }

    /// Why a request that was due at `due` is not sent any more at `now`, if so.
    fn too_late(&self, due: u64, now: u64) -> Option<ErrorKind> {
        let held = self.blocked || due < self.held_until;
        if now.saturating_sub(due) > self.patience {
            Some(if held { ErrorKind::NoConnection } else { ErrorKind::GeneratorLate })
        } else {
            (!held && now > self.end.saturating_add(GRACE)).then_some(ErrorKind::GeneratorLate)
        }
    }
}

/// How long an open loop goes on, in seconds: as it says, or until as many requests were due as it says.
pub(in crate::generate) fn length(course: &Course, spec: &Spec) -> f64 {
    match (course.duration, course.connections) {
        (Some(duration), _) => duration.as_secs_f64(),
        (None, each) => each.unwrap_or(0) as f64 * f64::from(course.generators) / spec.mean_rate(),
    }
}

impl Pacing for OpenLoop {
    fn next(&mut self, now: u64, busy: usize) -> Start {
        let Some(due) = self.schedule.next else { return Start::Over };
        if due > now {
            self.blocked = false;
            return Start::At(due);
        }
        if let Some(why) = self.too_late(due, now) {
            self.schedule.advance();
            return Start::TooLate { intended: due, why };
        }
        if busy >= self.concurrency {
            self.blocked = true;
            return Start::WhenOneEnds;
        }
        if std::mem::take(&mut self.blocked) {
            self.held_until = now;
        }
        self.schedule.advance();
        Start::Now { intended: due, held: due < self.held_until }
    }

    fn afterwards(&mut self, _now: u64) -> Afterwards {
        if self.schedule.next.is_none() { Afterwards::Close } else { Afterwards::Rest }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::HttpLoad;
    use plimsoll_model::units::Span;

    use super::*;

    fn pacing(rate: f64, arrivals: Arrivals, concurrency: u32, place: (u32, u32)) -> OpenLoop {
        let spec = Spec { rate, arrivals, ..Spec::default() };
        let load = HttpLoad {
            duration: Some(Span::secs(10)),
            timeout: Span::secs(1),
            concurrency,
            ..HttpLoad::default()
        };
        OpenLoop::new(&Course::from(&load), &spec, 1_000, place, 1)
    }

    /// When everything is due, for a generator that is never late.
    fn due(mut pacing: OpenLoop) -> Vec<u64> {
        let mut times = Vec::new();
        loop {
            match pacing.next(times.last().copied().unwrap_or(0), 0) {
                Start::At(time) => times.push(time),
                Start::Now { .. } => {}
                _ => return times,
            }
        }
    }

    #[test]
    fn generators_take_turns_at_a_constant_rate() {
        let (first, second) = (
            due(pacing(4.0, Arrivals::Constant, 1, (0, 2))),
            due(pacing(4.0, Arrivals::Constant, 1, (1, 2))),
        );
        assert_eq!((first.len(), second.len()), (20, 20));
        assert_eq!(&first[..3], [1_000, 500_001_000, 1_000_001_000]);
        assert_eq!(second[0], 250_001_000);
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_variance_that_it_should() {
        let times = due(pacing(2_000.0, Arrivals::Poisson, 1, (0, 1)));
        let mut counts = [0.0; 100];
        times.iter().for_each(|time| counts[((time - 1_000) / 100_000_000) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 100.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 99.0;
        assert!((190.0..210.0).contains(&mean), "{mean} per tenth of a second");
        // The index of dispersion is 1; its standard error with 100 counts is 0.14.
        assert!((0.5..1.6).contains(&(variance / mean)), "{variance} at a mean of {mean}");
        let two = due(pacing(2_000.0, Arrivals::Poisson, 1, (1, 2)));
        assert!((9_500..10_500).contains(&two.len()), "half the rate for each of two: {}", two.len());
    }

    #[test]
    fn what_waited_for_a_connection_is_distinguished_from_what_the_generator_sent_late() {
        let mut pacing = pacing(1_000.0, Arrivals::Constant, 1, (0, 1));
        assert_eq!(pacing.next(1_000, 0), Start::Now { intended: 1_000, held: false });
        assert_eq!(pacing.next(1_000, 1), Start::At(1_001_000));
        assert_eq!(pacing.next(1_101_000, 1), Start::WhenOneEnds);
        assert_eq!(pacing.next(2_501_000, 0), Start::Now { intended: 1_001_000, held: true });
        assert_eq!(pacing.next(2_501_000, 0), Start::Now { intended: 2_001_000, held: true });
        assert_eq!(pacing.next(3_901_000, 0), Start::Now { intended: 3_001_000, held: false });
    }

    #[test]
    fn what_is_never_sent_says_whose_fault_it_was() {
        let mut pacing = pacing(1.0, Arrivals::Constant, 1, (0, 1));
        assert_eq!(pacing.next(1_000, 1), Start::WhenOneEnds);
        let given_up = pacing.next(1_000_002_000, 1);
        assert_eq!(given_up, Start::TooLate { intended: 1_000, why: ErrorKind::NoConnection });
        assert_eq!(pacing.next(1_000_002_000, 0), Start::Now { intended: 1_000_001_000, held: true });
        let late = pacing.next(3_500_000_000, 0);
        assert_eq!(late, Start::TooLate { intended: 2_000_001_000, why: ErrorKind::GeneratorLate });
    }

    #[test]
    fn a_rate_that_cannot_be_offered_ends_soon_after_its_time() {
        let mut pacing = pacing(1_000_000.0, Arrivals::Constant, 1, (0, 1));
        let late = pacing.next(10_200_000_000, 0);
        assert!(matches!(late, Start::TooLate { why: ErrorKind::GeneratorLate, .. }), "{late:?}");
    }
}
