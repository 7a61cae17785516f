//! The unit of CPU time in `/proc/stat` and `/proc/PID/stat`.

/// Microseconds of so many clock ticks. A tick is 10 ms: USER_HZ is part of the kernel's interface to programs, and 100 wherever
/// Linux runs but on Alpha.
pub(crate) fn ticks(count: f64) -> f64 {
    count * 10_000.0
}
