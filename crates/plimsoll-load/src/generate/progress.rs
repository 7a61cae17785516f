//! The progress of a load, reported now and then while it runs.

use std::time::Instant;

use plimsoll_model::observation::Progress;

use super::Control;

/// Reports the progress of a load at the caller's interval.
pub(super) struct ProgressReporter<'a> {
    control: &'a Control<'a>,
    /// How much there will be in all, where that is known.
    of: Option<u64>,
    /// The time of the last report, and how much was done by then.
    last: (Instant, u64),
}

impl<'a> ProgressReporter<'a> {
    /// Of a load that begins now.
    pub(super) fn new(control: &'a Control<'a>, of: Option<u64>) -> Self {
        Self { control, of, last: (Instant::now(), 0) }
    }

    /// Reports how much is done, how much of it failed, and the rate since the last report, unless that was a moment ago.
    pub(super) fn report(&mut self, done: u64, errors: u64) {
        let now = Instant::now();
        let since = now.duration_since(self.last.0);
        if since < self.control.every {
            return;
        }
        let rate = (done - self.last.1) as f64 / since.as_secs_f64().max(1e-9);
        (self.control.progress)(Progress { done, of: self.of, errors, rate });
        self.last = (now, done);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Reports of 30 done of 100, and then 40 at once, one of which failed.
    fn reports(every: Duration) -> Vec<Progress> {
        let reports = RefCell::new(Vec::new());
        let progress = |progress| reports.borrow_mut().push(progress);
        let control = Control { abort: &AtomicBool::new(false), progress: &progress, every };
        let mut progress = ProgressReporter::new(&control, Some(100));
        thread::sleep(Duration::from_millis(20));
        progress.report(30, 0);
        progress.report(40, 1);
        reports.take()
    }

    #[test]
    fn nothing_is_reported_before_it_is_time() {
        assert!(reports(Duration::from_secs(3600)).is_empty());
    }

    #[test]
    fn the_rate_is_that_since_the_last_time() {
        let reports = reports(Duration::ZERO);
        let [first, second] = &reports[..] else { panic!("two are expected: {reports:?}") };
        assert_eq!((first.done, first.of, first.errors), (30, Some(100), 0));
        assert_eq!((second.done, second.of, second.errors), (40, Some(100), 1));
        assert!(first.rate > 0.0 && first.rate <= 30.0 / 0.02, "{first:?}");
        assert!(second.rate > 0.0, "{second:?}");
    }
}
