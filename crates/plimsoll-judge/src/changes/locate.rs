//! Puts each boundary where it explains the values best, and says between which indices it lies.
//!
//! The loss is Huber's (1964) on the innovations of the autoregression: as good as least squares for normal noise, as good as least
//! absolute deviations for outliers, and sharper than both where neighbours are correlated, for a jump then stands out of the
//! innovations more than out of the values.

use super::MIN_LEVEL;
use super::noise::Noise;

/// Where Huber's loss goes over from square to linear, in standard deviations of an innovation.
const BEND: f64 = 1.5;
/// How far a boundary may move: this many indices for a step of one standard deviation, more for a smaller one.
const REACH: f64 = 12.0;
/// No boundary moves farther than this.
const MAX_REACH: f64 = 256.0;
/// Values farther from the median of their level do not pull it any more, in standard deviations.
const PULL: f64 = 2.5;

/// A boundary in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Located {
    /// The first index of the new level.
    pub(super) index: usize,
    /// The first and the last index that it may be, at the confidence asked for.
    pub(super) between: (usize, usize),
}

/// Moves every boundary to where the loss is least, given the levels on its sides, in place; gives the levels.
pub(super) fn relocate(series: &[f64], boundaries: &mut [usize], noise: Noise) -> Vec<f64> {
    let mut levels = robust_levels(series, boundaries, noise.sd);
    for _ in 0..2 {
        for k in 0..boundaries.len() {
            let losses = Losses::around(series, boundaries, k, &levels, noise);
            boundaries[k] = losses.least();
        }
        levels = robust_levels(series, boundaries, noise.sd);
    }
    levels
}

/// Every boundary with the indices that it may have; `boundaries` and `levels` as [`relocate`] left them.
pub(super) fn places(
    series: &[f64],
    boundaries: &[usize],
    levels: &[f64],
    noise: Noise,
    share: f64,
) -> Vec<Located> {
    (0..boundaries.len())
        .map(|k| {
            let between = Losses::around(series, boundaries, k, levels, noise).likely(share);
            Located {
                index: boundaries[k],
                between: (between.0.min(boundaries[k]), between.1.max(boundaries[k])),
            }
        })
        .collect()
}

/// The mean of each level, its values pulled in to 2.5 standard deviations from their median.
fn robust_levels(series: &[f64], boundaries: &[usize], sd: f64) -> Vec<f64> {
    let ends = boundaries.iter().copied().chain([series.len()]);
    [0].into_iter()
        .chain(boundaries.iter().copied())
        .zip(ends)
        .map(|(start, end)| {
            let values = &series[start..end];
            let middle = crate::stats::median(values);
            let pulled = |v: &f64| v.clamp(middle - PULL * sd, middle + PULL * sd) - middle;
            middle + values.iter().map(pulled).sum::<f64>() / values.len() as f64
        })
        .collect()
}

/// The loss for each place of one boundary, the levels on its sides held fast.
struct Losses {
    from: usize,
    losses: Vec<f64>,
}

impl Losses {
    fn around(series: &[f64], boundaries: &[usize], k: usize, levels: &[f64], noise: Noise) -> Self {
        let here = boundaries[k];
        let (left, right) = (levels[k], levels[k + 1]);
        let floor = if k == 0 { 0 } else { boundaries[k - 1] } + MIN_LEVEL;
        let ceiling = boundaries.get(k + 1).copied().unwrap_or(series.len()) - MIN_LEVEL;
        let signal = (right - left).abs() / (noise.sd * noise.inflation());
        let reach = (REACH / signal.powi(2).min(1.0)).min(MAX_REACH) as usize;
        let from = here.saturating_sub(reach).max(floor).min(here);
        let to = (here + reach).min(ceiling).max(here);
        let innovation = noise.sd * (1.0 - noise.rho * noise.rho).sqrt();
        let loss = |i: usize, level: f64, level_before: f64| {
            huber((series[i] - level - noise.rho * (series[i - 1] - level_before)) / innovation)
        };
        let mut total: f64 =
            (from + 1..=to).map(|i| loss(i, right, right)).sum::<f64>() + loss(from, right, left);
        let mut losses = vec![total];
        for at in from + 1..=to {
            total += loss(at - 1, left, left) - loss(at - 1, right, left);
            total += loss(at, right, left) - loss(at, right, right);
            losses.push(total);
        }
        Self { from, losses }
    }

    fn least(&self) -> usize {
        let least = self.losses.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        self.from + least.map_or(0, |(i, _)| i)
    }

    /// The narrowest run of places that holds the likeliest ones up to `share` of the probability, every place being as
    /// likely as any other beforehand.
    fn likely(&self, share: f64) -> (usize, usize) {
        let least = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        let mut weights: Vec<(f64, usize)> =
            self.losses.iter().enumerate().map(|(i, loss)| ((least - loss).exp(), i)).collect();
        weights.sort_by(|a, b| b.0.total_cmp(&a.0));
        let enough = share * weights.iter().map(|w| w.0).sum::<f64>();
        let (mut held, mut lo, mut hi) = (0.0, usize::MAX, 0);
        for (weight, i) in weights {
            lo = lo.min(i);
            hi = hi.max(i);
            held += weight;
            if held >= enough {
                break;
            }
        }
        (self.from + lo, self.from + hi)
    }
}

/// Huber's loss: minus the log-likelihood of a distribution with a normal middle and exponential tails.
fn huber(r: f64) -> f64 {
    let r = r.abs();
    if r <= BEND { 0.5 * r * r } else { BEND * (r - 0.5 * BEND) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_moves_to_the_step_and_past_an_outlier() {
        let mut series = [0.1, -0.1, 0.2, -0.2].repeat(10);
        for v in &mut series[20..] {
            *v += 3.0;
        }
        series[16] = 30.0;
        let mut boundaries = [16];
        let noise = Noise { sd: 0.2, rho: 0.0 };
        let levels = relocate(&series, &mut boundaries, noise);
        assert_eq!(boundaries, [20]);
        assert!((levels[1] - 3.0).abs() < 0.1);
        assert_eq!(places(&series, &boundaries, &levels, noise, 0.95)[0].between, (20, 20));
    }

    #[test]
    fn a_faint_step_has_a_wide_place() {
        let series: Vec<f64> =
            (0..200).map(|i| f64::from(i * 7 % 11) / 3.0 + f64::from(u8::from(i >= 100))).collect();
        let mut boundaries = [100];
        let noise = Noise { sd: 1.05, rho: 0.0 };
        let levels = relocate(&series, &mut boundaries, noise);
        let place = places(&series, &boundaries, &levels, noise, 0.95)[0];
        assert!(place.between.1 - place.between.0 >= 3, "{place:?}");
    }
}
