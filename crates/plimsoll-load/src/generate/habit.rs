//! An attempt that pays where it works, and is a waste where it does not.

/// Whether to try something that saves system calls on some paths and costs them on others.
#[derive(Debug, Default)]
pub(super) struct Habit {
    /// How often in a row it has failed.
    failures: u32,
    /// How often in a row it was not tried.
    skipped: u32,
}

impl Habit {
    /// After this many failures in a row the habit is tried only now and then.
    const FAILURES: u32 = 8;
    /// How often it is left out before it is tried again.
    const SKIPS: u32 = 100;

    /// Whether to try it this time.
    pub(super) fn is_worth_trying(&mut self) -> bool {
        if self.failures < Self::FAILURES {
            return true;
        }
        self.skipped = (self.skipped + 1) % Self::SKIPS;
        self.skipped == 0
    }

    /// Records an attempt.
    pub(super) fn tried(&mut self, worked: bool) {
        self.failures = if worked { 0 } else { self.failures.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_work_is_given_up_and_tried_again_now_and_then() {
        let mut habit = Habit::default();
        for _ in 0..Habit::FAILURES {
            assert!(habit.is_worth_trying());
            habit.tried(false);
        }
        let tries = (0..1000).filter(|_| habit.is_worth_trying()).count();
        assert_eq!(tries, 1000 / Habit::SKIPS as usize);
        habit.tried(true);
        assert!(habit.is_worth_trying());
    }
}
