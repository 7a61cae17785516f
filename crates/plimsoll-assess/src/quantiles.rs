//! Measured distributions as models take them.

use plimsoll_model::observation::Histogram;

/// Number of quantiles by which a measured distribution is represented.
const QUANTILES: u32 = 2_000;

/// A histogram of microseconds as equally likely times in seconds, each above 0.
pub fn seconds(times: &Histogram) -> Vec<f64> {
    let at =
        |i: u32| times.value_at_quantile((f64::from(i) + 0.5) / f64::from(QUANTILES)).max(1) as f64 / 1e6;
    (0..QUANTILES).map(at).collect()
}
