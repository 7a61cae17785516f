//! Time, and what a thread used of the CPU.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC_RAW in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).expect("the clock is there since Linux 2.6.28");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// A span in nanoseconds; one that is too long for that is taken for the longest there is.
pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of a thread in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    /// How long it was ready to run while others ran; `None` if the kernel does not say.
    pub(crate) waited_us: Option<u64>,
}

impl CpuTime {
    /// CPU time of the calling thread so far.
    pub(crate) fn of_this_thread() -> Self {
        let used = Self::of(getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask about itself"));
        Self { waited_us: waited_ns().map(|ns| ns / 1000), ..used }
    }

    /// CPU time of this process so far, with all of its threads, and with those of its processes that have ended and were waited for.
    pub(crate) fn of_this_process_and_those_ended() -> Self {
        let of = |who| Self::of(getrusage(who).expect("a process may ask about itself and its own"));
        of(UsageWho::RUSAGE_SELF).plus(of(UsageWho::RUSAGE_CHILDREN))
    }

    fn of(usage: Usage) -> Self {
        let micros = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
        Self { user_us: micros(usage.user_time()), system_us: micros(usage.system_time()), waited_us: None }
    }

    /// In programs and in the kernel together.
    pub(crate) fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
            waited_us: match (self.waited_us, other.waited_us) {
                (Some(own), Some(others)) => Some(own + others),
                (own, others) => own.or(others),
            },
        }
    }

    /// CPU time used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            waited_us: self.waited_us.zip(earlier.waited_us).map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// How long the calling thread has been ready to run while others ran: the second figure of its `schedstat`
/// (Documentation/scheduler/sched-stats.rst), which there is with CONFIG_SCHED_INFO.
fn waited_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}
