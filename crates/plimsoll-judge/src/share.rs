//! Share of a loss that an intervention brings back: how much of a difference a cause explains.
//!
//! Of the good side, the bad side and the bad side with the intervention, the share is (mended - bad) / (good - bad), on the scale of the
//! figures (logarithms for ratios). It is a ratio of two means that were estimated from the same blocks, and its interval is Fieller's (1954,
//! *Some problems in interval estimation*): exact for normal figures, and without end where the loss itself is not sure.

use crate::Scale;
use crate::input::{JudgeError, finite, positive, same_length};
use crate::stats::dist::t_quantile;

/// Fewer blocks than these have no scatter worth an interval.
pub const FEWEST_BLOCKS: usize = 4;

/// A share of a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// 1 when all of it came back; below 0 when it became worse, above 1 when more than was lost.
    pub estimate: f64,
    /// The interval around it; absent where the loss is not sure to be one.
    pub interval: Option<(f64, f64)>,
}

/// An estimate with the variance of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertain {
    /// The estimate.
    pub mean: f64,
    /// The variance of the estimate, not of what it was made from.
    pub variance: f64,
}

/// The share that blocks of three figures show, one block per place.
///
/// # Errors
/// Fewer than [`FEWEST_BLOCKS`] blocks, sides of different lengths, values that are not finite, or (for ratios) not above 0.
pub fn of_blocks(
    good: &[f64],
    bad: &[f64],
    mended: &[f64],
    scale: Scale,
    confidence: f64,
) -> Result<Share, JudgeError> {
    let sides = [("good", good), ("bad", bad), ("mended", mended)];
    for (name, side) in sides {
        if scale == Scale::Ratio {
            positive(name, side)?;
        } else {
            finite(name, side)?;
        }
        same_length(("bad", bad), (name, side))?;
    }
    let n = bad.len();
    if n < FEWEST_BLOCKS {
        return Err(JudgeError::TooFew { what: "blocks".into(), got: n, needed: FEWEST_BLOCKS });
    }
    let on_scale = |value: f64| if scale == Scale::Ratio { value.ln() } else { value };
    let back: Vec<f64> = mended.iter().zip(bad).map(|(m, b)| on_scale(*m) - on_scale(*b)).collect();
    let lost: Vec<f64> = good.iter().zip(bad).map(|(g, b)| on_scale(*g) - on_scale(*b)).collect();
    let count = n as f64;
    let mean = |of: &[f64]| of.iter().sum::<f64>() / count;
    let (back_mean, lost_mean) = (mean(&back), mean(&lost));
    let moment = |a: &[f64], a_mean: f64, b: &[f64], b_mean: f64| {
        a.iter().zip(b).map(|(x, y)| (x - a_mean) * (y - b_mean)).sum::<f64>() / (count - 1.0) / count
    };
    let back_side = Uncertain { mean: back_mean, variance: moment(&back, back_mean, &back, back_mean) };
    let lost_side = Uncertain { mean: lost_mean, variance: moment(&lost, lost_mean, &lost, lost_mean) };
    let covariance = moment(&back, back_mean, &lost, lost_mean);
    Ok(ratio(back_side, lost_side, covariance, t_quantile(0.5 + confidence / 2.0, count - 1.0)))
}

/// `over / under`, with Fieller's interval at `quantile` standard errors.
pub fn ratio(over: Uncertain, under: Uncertain, covariance: f64, quantile: f64) -> Share {
    let estimate = over.mean / under.mean;
    // How much of the denominator is within its own error: from 1 on it may be 0.
    let g = quantile.powi(2) * under.variance / under.mean.powi(2);
    if !estimate.is_finite() || g.is_nan() || g >= 1.0 {
        return Share { estimate, interval: None };
    }
    let middle = estimate - quantile.powi(2) * covariance / under.mean.powi(2);
    let within = over.variance - 2.0 * estimate * covariance + estimate.powi(2) * under.variance
        - quantile.powi(2) * (over.variance * under.variance - covariance.powi(2)) / under.mean.powi(2);
    let half = quantile / under.mean.abs() * within.max(0.0).sqrt();
    let ends = ((middle - half) / (1.0 - g), (middle + half) / (1.0 - g));
    Share { estimate, interval: Some(ends) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    #[test]
    fn fiellers_interval_is_that_of_a_worked_example() {
        // Finney, Statistical Method in Biological Assay (1964), formula 2.7.1, by hand: 10 / 5, variances 0.4 and 0.1, none in common, t = 2.
        let share =
            ratio(Uncertain { mean: 10.0, variance: 0.4 }, Uncertain { mean: 5.0, variance: 0.1 }, 0.0, 2.0);
        // g = 4 * 0.1 / 25 = 0.016; half = 2 / 5 * sqrt(0.4 + 4 * 0.1 - 0.016 * 0.4) = 0.356 33; (2 -+ half) / 0.984.
        let (low, high) = share.interval.unwrap();
        assert!((low - 1.670_39).abs() < 1e-4 && (high - 2.394_65).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn a_loss_that_may_be_none_has_a_share_without_ends() {
        let share = of_blocks(
            &[100.0, 90.0, 110.0, 100.0],
            &[100.0, 110.0, 90.0, 101.0],
            &[100.0; 4],
            Scale::Ratio,
            0.95,
        );
        assert_eq!(share.unwrap().interval, None);
        let few = of_blocks(&[1.0; 3], &[2.0; 3], &[1.0; 3], Scale::Ratio, 0.95);
        assert!(matches!(few, Err(JudgeError::TooFew { got: 3, needed: FEWEST_BLOCKS, .. })));
    }

    /// By simulation: 19 of 20 intervals hold the true share, whatever it is.
    #[test]
    fn nineteen_of_twenty_intervals_hold_the_true_share() {
        let mut random = SmallRng::new(20_260_401);
        for (truth, blocks) in [(1.0, 6), (0.5, 6), (0.0, 10), (0.9, 20)] {
            let (rounds, mut held) = (4000, 0);
            for _ in 0..rounds {
                let mut sides = [Vec::new(), Vec::new(), Vec::new()];
                for _ in 0..blocks {
                    let common = 0.3 * random.normal();
                    for (side, level) in sides.iter_mut().zip([1.0, 0.0, truth]) {
                        side.push((level + common + 0.15 * random.normal()).exp());
                    }
                }
                let [good, bad, mended] = &sides;
                let share = of_blocks(good, bad, mended, Scale::Ratio, 0.95).unwrap();
                let (low, high) = share.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                held += u32::from(low <= truth && truth <= high);
            }
            let covered = f64::from(held) / f64::from(rounds);
            assert!((0.94..=0.96).contains(&covered), "{truth} of {blocks} blocks: {covered}");
        }
    }
}
