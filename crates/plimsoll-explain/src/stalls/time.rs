//! Times of packets are nanoseconds.

/// Nanoseconds in a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub(super) const SECOND: u64 = 1000 * MILLISECOND;

/// Nanoseconds as milliseconds.
pub(super) fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Nanoseconds as seconds.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
