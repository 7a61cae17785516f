//! Time, and what a thread used of the CPU.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC_RAW in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).expect("the clock is there since Linux 2.6.28");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
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
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask about itself");
        let micros = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
        Self { user_us: micros(usage.user_time()), system_us: micros(usage.system_time()) }
    }

    /// In programs and in the kernel together.
    pub(crate) fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }

    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }
}
