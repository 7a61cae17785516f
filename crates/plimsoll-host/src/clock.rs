//! The clock that all hosts of a machine share.

use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC_RAW, in nanoseconds.
pub(crate) fn raw_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).expect("the clock is there since Linux 2.6.28");
    time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs()
}
