//! The unit of CPU time in `/proc/stat` and `/proc/PID/stat`.

/// Microseconds of `count` clock ticks. A tick is 10 ms: USER_HZ is part of the kernel's interface to programs, and 100
/// on every Linux except Alpha.
pub(crate) fn ticks(count: f64) -> f64 {
    count * 10_000.0
}
