//! The time that every sample carries.

use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC_RAW in nanoseconds: it is neither stepped nor slewed.
pub fn raw_now_ns() -> u64 {
    // The clock exists since Linux 2.6.28, so the call cannot fail on anything that runs this.
    clock_gettime(ClockId::CLOCK_MONOTONIC_RAW)
        .map_or(0, |time| u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000 + time.tv_nsec() as u64)
}
