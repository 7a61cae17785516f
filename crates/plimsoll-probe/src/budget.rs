//! The part of the time that looks at an expensive source may take.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// After this time, further looks show little that is new.
const MUCH: Duration = Duration::from_secs(10);

/// Share of one CPU that looks may take. Each look delays the next by its cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    first: f64,
    later: f64,
    opened: Instant,
}

impl Budget {
    /// One share for the whole time, above 0.
    #[must_use]
    pub fn new(share: f64) -> Self {
        Self { first: share, later: share, opened: Instant::now() }
    }

    /// Another share, above 0, after ten seconds.
    #[must_use]
    pub fn later(self, share: f64) -> Self {
        Self { later: share, ..self }
    }

    /// The time until the next look, after one of this cost.
    pub fn pause(&self, cost: Duration) -> Duration {
        self.pause_at(self.opened.elapsed(), cost)
    }

    fn pause_at(&self, elapsed: Duration, cost: Duration) -> Duration {
        cost.div_f64(if elapsed < MUCH { self.first } else { self.later })
    }
}

/// CPU time of the calling thread: what the cost of a look is measured by.
pub fn thread_cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_puts_off_the_next_by_its_cost_and_by_more_after_ten_seconds() {
        let (look, early, late) = (Duration::from_millis(2), Duration::from_secs(9), Duration::from_secs(10));
        let falls = Budget::new(0.01).later(0.0025);
        assert_eq!(falls.pause_at(early, look), Duration::from_millis(200));
        assert_eq!(falls.pause_at(late, look), Duration::from_millis(800));
        assert_eq!(Budget::new(0.01).pause_at(late, look), Duration::from_millis(200));
    }
}
