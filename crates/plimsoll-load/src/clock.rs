//! Time, and what a thread used of the CPU.

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
}

impl CpuTime {
    /// What the calling thread has used so far.
    pub(crate) fn of_this_thread() -> Self {
        Self::of(getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask about itself"))
    }

    /// What this process has used so far, with all of its threads, and with those of its processes that have ended and were waited for.
    pub(crate) fn of_this_process_and_those_ended() -> Self {
        let of = |who| Self::of(getrusage(who).expect("a process may ask about itself and its own"));
        of(UsageWho::RUSAGE_SELF).plus(of(UsageWho::RUSAGE_CHILDREN))
    }

    fn of(usage: Usage) -> Self {
        let micros = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
        Self { user_us: micros(usage.user_time()), system_us: micros(usage.system_time()) }
    }

    /// In programs and in the kernel together.
    pub(crate) fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { user_us: self.user_us + other.user_us, system_us: self.system_us + other.system_us }
    }

    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }
}
