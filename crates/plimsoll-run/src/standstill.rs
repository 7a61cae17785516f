//! Notices when the controller stood still: it was stopped (`kill -STOP`, Ctrl-Z), or the machine was suspended.
//!
//! Clocks run on meanwhile, and loads may, so what was timed across such a pause means nothing.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Time between two looks of the watching thread at the clock.
const EVERY: Duration = Duration::from_millis(100);
/// Shortest reported pause, if the kernel says how long the thread waited for a CPU.
const LEAST: Duration = Duration::from_secs(1);
/// Shortest reported pause without that figure, so that a busy machine is not taken for one that stood still.
const LEAST_BY_CLOCK_ALONE: Duration = Duration::from_secs(10);

/// Watches the clock from a thread of its own until it is dropped.
pub(crate) struct Standstill {
    /// The longest pause since it was last asked, in nanoseconds.
    longest_ns: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Standstill {
    /// Begins to watch. If no thread can start, no pause is noticed.
    pub(crate) fn watch() -> Self {
        let longest_ns = Arc::new(AtomicU64::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let (longest, ended) = (longest_ns.clone(), over.clone());
        let thread = thread::Builder::new().name("standstill".into()).spawn(move || {
            let mut before = Reading::now();
            while !ended.load(Ordering::Acquire) {
                thread::park_timeout(EVERY);
                let now = Reading::now();
                if let Some(pause) = before.pause_until(now) {
                    longest.fetch_max(pause, Ordering::AcqRel);
                }
                before = now;
            }
        });
        Self { longest_ns, over, thread: thread.ok() }
    }

    /// The longest pause since the last call, if there was one.
    pub(crate) fn take(&self) -> Option<Duration> {
        let longest = self.longest_ns.swap(0, Ordering::AcqRel);
        (longest > 0).then(|| Duration::from_nanos(longest))
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

/// The time, and how long this thread has waited for a CPU so far.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at_ns: u64,
    waited_ns: Option<u64>,
}

impl Reading {
    fn now() -> Self {
        // The clock that goes on while the machine is suspended.
        let at_ns = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |time| {
            u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
                + u64::try_from(time.tv_nsec()).unwrap_or(0)
        });
        Self { at_ns, waited_ns: waited_for_cpu() }
    }

    /// Delay of `later` beyond its due time and the wait for a CPU, in nanoseconds; `None` if it is short.
    fn pause_until(self, later: Self) -> Option<u64> {
        let waited = later.waited_ns.zip(self.waited_ns).map(|(now, before)| now.saturating_sub(before));
        let least = if waited.is_some() { LEAST } else { LEAST_BY_CLOCK_ALONE };
        let expected = u64::try_from(EVERY.as_nanos()).unwrap_or(0) + waited.unwrap_or(0);
        let pause = later.at_ns.saturating_sub(self.at_ns).saturating_sub(expected);
        (pause >= u64::try_from(least.as_nanos()).unwrap_or(u64::MAX)).then_some(pause)
    }
}

/// Nanoseconds that the calling thread waited for a CPU: the second figure of its `schedstat`.
fn waited_for_cpu() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn reading(seconds: f64, waited: Option<f64>) -> Reading {
        let ns = |seconds: f64| (seconds * SECOND as f64) as u64;
        Reading { at_ns: ns(seconds), waited_ns: waited.map(ns) }
    }

    #[test]
    fn a_wait_for_a_cpu_is_no_standstill_and_a_stop_is() {
        let before = reading(100.0, Some(5.0));
        assert_eq!(before.pause_until(reading(100.1, Some(5.0))), None);
        assert_eq!(before.pause_until(reading(120.1, Some(24.8))), None, "the machine was busy");
        let stopped = before.pause_until(reading(120.1, Some(5.0))).unwrap();
        assert!(stopped.abs_diff(20 * SECOND) < SECOND / 100, "{stopped}");
    }

    #[test]
    fn without_the_schedulers_word_only_a_long_pause_counts() {
        let before = reading(100.0, None);
        assert_eq!(before.pause_until(reading(105.0, None)), None);
        assert!(before.pause_until(reading(115.0, None)).is_some());
    }

    #[test]
    fn a_thread_that_runs_has_not_stood_still() {
        let watched = Standstill::watch();
        thread::sleep(3 * EVERY);
        assert_eq!(watched.take(), None);
    }
}
