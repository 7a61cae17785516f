//! Histograms of latencies.

use hdrhistogram::Histogram;

/// The longest latency of the histogram, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// A histogram of latencies in microseconds.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, DIGITS).expect("the bounds are valid")
}

/// Records a length of time in nanoseconds.
pub(super) fn record(histogram: &mut Histogram<u64>, from: u64, to: u64) {
    histogram.saturating_record(to.saturating_sub(from) / 1000);
}
