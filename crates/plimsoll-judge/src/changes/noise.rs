//! The noise of a series whose level may jump: its spread, its correlation, and what sticks out of it.

use crate::stats::{mean, median_in_place};

/// 1 / Φ⁻¹(3/4): from the median of absolute values to the standard deviation of a normal variable.
const MEDIAN_TO_SD: f64 = 1.482_602_218_505_602;
/// √(π/2): from the mean of absolute values to the standard deviation of a normal variable.
const MEAN_TO_SD: f64 = 1.253_314_137_315_500_3;
/// How far a value may stand from the running median before it counts as an outlier, in standard deviations.
pub(super) const OUTLIER: f64 = 3.0;
/// Values on each side of the running median: three outliers in a row are outvoted, four are a level of their own.
const REACH: usize = 3;

/// Longest burst, in values; what lasts longer is a level.
const BURST: usize = 6;

/// The noise around the levels of a series, as a first-order autoregression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    /// The standard deviation of a single value.
    pub(crate) sd: f64,
    /// The correlation of neighbours, 0 or more: a negative one would only make the tests bolder.
    pub(crate) rho: f64,
}

impl Noise {
    /// Estimates the noise before any level is known, from differences, in which a jump shows only once.
    ///
    /// For an autoregression `Var(xₜ - xₜ₋₁) = 2σ²(1-ρ)` and `Var(xₜ - xₜ₋₂) = 2σ²(1-ρ²)`, so that their ratio is 1 + ρ
    /// (Chakar et al. 2017, *A robust approach for estimating change-points in the mean of an AR(1) process*).
    pub(crate) fn from_differences(series: &[f64]) -> Self {
        let step =
            |lag: usize| series.iter().zip(&series[lag.min(series.len())..]).map(|(a, b)| (b - a).abs());
        let (mut near, mut far): (Vec<f64>, Vec<f64>) = (step(1).collect(), step(2).collect());
        let (mut s1, mut s2) =
            (MEDIAN_TO_SD * median_in_place(&mut near), MEDIAN_TO_SD * median_in_place(&mut far));
        if s1 <= 0.0 {
            // Most neighbours are equal, as in coarse data: the mean still sees the rest.
            (s1, s2) = (MEAN_TO_SD * mean(&near), MEAN_TO_SD * mean(&far));
        }
        let rho = if s1 > 0.0 { ((s2 / s1).powi(2) - 1.0).clamp(0.0, 0.8) } else { 0.0 };
        Self { sd: s1 / (2.0 * (1.0 - rho)).sqrt(), rho }
    }

    /// √((1+ρ)/(1-ρ)): by how much correlation inflates the standard error of a mean.
    pub(crate) fn inflation(self) -> f64 {
        ((1.0 + self.rho) / (1.0 - self.rho)).sqrt()
    }
}

/// Replaces every value that stands off the running median of seven by more than three standard deviations (Hampel's identifier)
/// with the median of the others there. A level that lasts for four values stays.
pub(crate) fn without_outliers(series: &[f64], sd: f64) -> Vec<f64> {
    let n = series.len();
    let width = (2 * REACH + 1).min(n);
    let mut window = Vec::with_capacity(width);
    (0..n)
        .map(|i| {
            let start = i.saturating_sub(REACH).min(n - width);
            window.clear();
            window.extend_from_slice(&series[start..start + width]);
            if width % 2 == 1 && is_near_median(&window, series[i], OUTLIER * sd) {
                return series[i];
            }
            let middle = median_in_place(&mut window);
            let usual = |v: &f64| (v - middle).abs() <= OUTLIER * sd;
            if usual(&series[i]) {
                return series[i];
            }
            window.retain(usual);
            median_in_place(&mut window)
        })
        .collect()
}

/// Whether the median of an odd number of values is within `reach` of this value. Counting what lies beyond needs no order.
fn is_near_median(values: &[f64], value: f64, reach: f64) -> bool {
    let below = values.iter().filter(|v| **v < value - reach).count();
    let above = values.iter().filter(|v| **v > value + reach).count();
    2 * below < values.len() && 2 * above < values.len()
}

/// Replaces every burst by the level around it: four to [`BURST`] values in a row off the running median, between stretches that agree.
/// [`without_outliers`] outvotes shorter ones; in the noise, the squares of a longer one would hide every later step.
pub(crate) fn replace_bursts(series: &mut [f64], sd: f64) {
    let n = series.len();
    if n < 4 * BURST {
        return;
    }
    let off: Vec<bool> = (0..n)
        .map(|i| {
            let start = i.saturating_sub(BURST).min(n - 2 * BURST - 1);
            !is_near_median(&series[start..start + 2 * BURST + 1], series[i], OUTLIER * sd)
        })
        .collect();
    let mut window = Vec::with_capacity(BURST);
    let mut middle = |series: &[f64]| {
        window.clear();
        window.extend_from_slice(series);
        median_in_place(&mut window)
    };
    let mut start = BURST;
    while start + BURST < n {
        let len = off[start..].iter().take_while(|off| **off).count();
        let end = start + len;
        if !off[start - 1] && (REACH + 1..=BURST).contains(&len) && end + BURST <= n {
            let (before, after) = (middle(&series[start - BURST..start]), middle(&series[end..end + BURST]));
            if (before - after).abs() <= OUTLIER * sd {
                series[start..end].fill(f64::midpoint(before, after));
            }
        }
        start = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    #[test]
    fn jumps_do_not_move_the_estimate_of_an_autoregression() {
        let mut rng = SmallRng::new(3);
        let mut state = 0.0;
        let series: Vec<f64> = (0..20_000)
            .map(|i| {
                state = 0.5 * state + 0.75_f64.sqrt() * rng.normal();
                state + 50.0 * f64::from(i / 1000)
            })
            .collect();
        let noise = Noise::from_differences(&series);
        assert!((noise.rho - 0.5).abs() < 0.06, "{noise:?}");
        assert!((noise.sd - 1.0).abs() < 0.06, "{noise:?}");
    }

    #[test]
    fn a_burst_is_replaced_and_a_short_level_is_not() {
        for len in 4..=6 {
            let mut burst = vec![1.0; 60];
            burst[30..30 + len].fill(9.0);
            replace_bursts(&mut burst, 0.5);
            assert_eq!(burst, [1.0; 60], "{len}");
            let mut steps = vec![1.0; 60];
            steps[30..30 + len].fill(9.0);
            steps[30 + len..].fill(5.0);
            let before = steps.clone();
            replace_bursts(&mut steps, 0.5);
            assert_eq!(steps, before, "{len}");
            let mut end = vec![1.0; 60];
            end[60 - len..].fill(9.0);
            let before = end.clone();
            replace_bursts(&mut end, 0.5);
            assert_eq!(end, before, "{len} at the end may be a change");
        }
    }

    #[test]
    fn an_outlier_is_replaced_and_a_step_is_not() {
        let mut series = vec![0.0; 20];
        series[15..].fill(10.0);
        series[5] = 90.0;
        let clean = without_outliers(&series, 1.0);
        assert_eq!(clean[5], 0.0);
        assert_eq!(clean[15..], series[15..]);
        assert_eq!(clean[..5], series[..5]);
    }
}
