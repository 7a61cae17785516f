//! Evidence that may be looked at after every pair, without end.
//!
//! A bettor on the signs of pairs, which random order makes coins if nothing differs, has no more than the stake on average. The capital then
//! exceeds 1/α at any time with a chance of at most α (Ville 1939), whatever the sizes are and however they follow from each other. A stake is
//! shared out among bettors, and all of them together are the evidence:
//!
//! - half of it bets on the share of positive signs, which wild pairs cannot carry away (a mixture over that share, Robbins 1970);
//! - half of it bets more on a large difference than on a small one, by its rank among those so far (sequential signed ranks, Reynolds 1975).
//!
//! A shift of all pairs tests any other effect than none. Bets on one side alone also hold for each effect beyond the shift: larger positive and smaller
//! negative differences win no more for those who bet on negative ones. Two such bettors show that the effect lies within a margin ([`Equivalence`]),
//! and the shifts that the evidence does not refute are the [`interval`].

use crate::stats::mean;
use crate::stats::shift::{Location, hodges_lehmann};
use statrs::function::beta::{beta_reg, ln_beta};

/// The normal quantile of the chance, nine in ten, to find an effect that is planned for.
const PLANNED_QUANTILE: f64 = 1.2816;
/// Both parameters of the beta prior of the share of positive signs: most weight is on effects that all signs agree on.
const SIGN_PRIOR: f64 = 0.25;
/// The log odds at which a bettor takes the largest difference so far, for small effects to large ones. One bets on each side.
const LOG_ODDS: [f64; 4] = [0.4, 1.2, 4.0, 12.0];
/// Halvings that find an end of an interval.
const HALVINGS: usize = 40;

/// Winnings of bets on the signs of differences.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The sizes so far, in order.
    sizes: Vec<f64>,
    positive: f64,
    negative: f64,
    /// The logarithm of each bettor's capital over its stake: on positive signs, and on negative ones.
    by_rank: [[f64; LOG_ODDS.len()]; 2],
}

impl Evidence {
    /// Takes a difference.
    pub fn push(&mut self, d: f64) {
        let size = d.abs();
        let below = self.sizes.partition_point(|known| *known < size);
        let equal = self.sizes[below..].partition_point(|known| *known <= size);
        self.sizes.insert(below, size);
        // Without a sign there is nothing to bet on.
        if size == 0.0 {
            return;
        }
        if d > 0.0 {
            self.positive += 1.0;
        } else {
            self.negative += 1.0;
        }
        let rank = (below as f64 + 0.5 * equal as f64 + 1.0) / self.sizes.len() as f64;
        for (side, capitals) in [d.signum(), -d.signum()].into_iter().zip(&mut self.by_rank) {
            for (capital, odds) in capitals.iter_mut().zip(LOG_ODDS) {
                *capital += std::f64::consts::LN_2 - (-side * odds * rank).exp().ln_1p();
            }
        }
    }

    /// How many times better "some difference" explains the pairs than "none": 100 is evidence at the level 1 %.
    #[must_use]
    pub fn against_no_difference(&self) -> f64 {
        0.5 * self.capitals().iter().sum::<f64>()
    }

    /// Whether those who bet on positive signs won more than those who bet on negative ones.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        let [positive, negative] = self.capitals();
        positive > negative
    }

    /// Capital over stake of those who bet on positive signs, and of those who bet on negative ones.
    fn capitals(&self) -> [f64; 2] {
        let counts = [self.positive, self.negative].map(|count| count + SIGN_PRIOR);
        let all = self.positive + self.negative;
        let by_sign =
            ln_beta(counts[0], counts[1]) - ln_beta(SIGN_PRIOR, SIGN_PRIOR) + all * std::f64::consts::LN_2;
        [0, 1].map(|side: usize| {
            // The part of the mixture whose share of signs of this side is above one half.
            let this_side = (2.0 * beta_reg(counts[1 - side], counts[side], 0.5)).ln();
            let by_rank = self.by_rank[side].map(f64::exp);
            (0.5 * ((by_sign + this_side).exp() + mean(&by_rank))).min(f64::MAX / 2.0)
        })
    }
}

impl FromIterator<f64> for Evidence {
    fn from_iter<I: IntoIterator<Item = f64>>(differences: I) -> Self {
        let mut evidence = Self::default();
        differences.into_iter().for_each(|d| evidence.push(d));
        evidence
    }
}

/// Two one-sided tests that the effect lies within a margin (Schuirmann 1987).
#[derive(Clone, Debug)]
pub struct Equivalence {
    margin: f64,
    /// Differences above the lower end of the margin, and above its upper end.
    above: [Evidence; 2],
    /// The most that was won against effects below the margin, and against those above it.
    most: [f64; 2],
}

impl Equivalence {
    /// Tests without pairs. The margin is on the scale of the differences.
    #[must_use]
    pub fn new(margin: f64) -> Self {
        Self { margin, above: Default::default(), most: [0.0; 2] }
    }

    /// Takes a difference.
    pub fn push(&mut self, d: f64) {
        for (side, end) in [-self.margin, self.margin].into_iter().enumerate() {
            self.above[side].push(d - end);
            self.most[side] = self.most[side].max(self.above[side].capitals()[side]);
        }
    }

    /// Evidence that the effect is within the margin: 20 is evidence at the level 5 %.
    #[must_use]
    pub fn within_margin(&self) -> f64 {
        self.most[0].min(self.most[1])
    }
}

/// The estimate of Hodges and Lehmann, with an interval that holds at all times together with probability 1 − `alpha`: the shifts that the evidence
/// does not refute. Unbounded while there are too few pairs for any.
pub fn interval(d: &[f64], alpha: f64) -> Location {
    let estimate = hodges_lehmann(d);
    let is_refuted =
        |shift: f64| d.iter().map(|d| d - shift).collect::<Evidence>().against_no_difference() >= 1.0 / alpha;
    let beyond_all = 1.0 + 2.0 * d.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    let end = |mut out: f64| {
        if !is_refuted(out) {
            return out * f64::INFINITY;
        }
        let mut inside = estimate;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, out);
            *if is_refuted(middle) { &mut out } else { &mut inside } = middle;
        }
        out
    };
    Location { estimate, lo: end(-beyond_all), hi: end(beyond_all) }
}

/// The effect that `n` pairs of a standard deviation find about nine times in ten, on the scale of the pairs, as evidence and as an estimate beyond a
/// margin. Normal pairs give about the evidence of a mixture over their effect (Robbins 1970), apart from the pairs that the level costs if all
/// signs agree.
pub fn detectable(n: usize, spread: f64, alpha: f64, margin: f64) -> f64 {
    let pairs = n as f64 - (4.0 / alpha).log2();
    if pairs <= 0.0 {
        return f64::INFINITY;
    }
    let quantile = ((1.0 + n as f64) / (alpha * alpha)).ln().sqrt();
    let as_evidence = spread * (quantile + PLANNED_QUANTILE) / pairs.sqrt();
    as_evidence.max(margin + PLANNED_QUANTILE * spread / (n as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn after(d: impl IntoIterator<Item = f64>) -> Evidence {
        d.into_iter().collect()
    }

    /// Whether the evidence reaches the level at any look from the eighth on.
    fn is_found(d: impl IntoIterator<Item = f64>, alpha: f64) -> bool {
        let mut evidence = Evidence::default();
        d.into_iter().enumerate().any(|(at, d)| {
            evidence.push(d);
            at >= 7 && evidence.against_no_difference() >= 1.0 / alpha
        })
    }

    #[test]
    fn an_effect_that_is_detectable_is_found_about_nine_times_in_ten() {
        for margin in [0.0, 0.03] {
            let effect = detectable(100, 0.05, 0.01, margin);
            let found = (0..400)
                .filter(|&seed| {
                    let mut rng = SmallRng::new(seed);
                    let d: Vec<f64> = (0..100).map(|_| effect + 0.05 * rng.normal()).collect();
                    is_found(d.iter().copied(), 0.01) && hodges_lehmann(&d) > margin
                })
                .count();
            assert!((330..=385).contains(&found), "{found} of 400 at the margin {margin}");
        }
    }

    #[test]
    fn the_mean_of_the_evidence_over_all_signs_is_one() {
        let sizes = [3.0_f64, 0.2, 1.0, 1.0, 50.0, 0.7, 0.0, 2.0];
        let patterns = 1_u32 << sizes.len();
        let sum: f64 = (0..patterns)
            .map(|bits| {
                let signed = |(at, size): (usize, &f64)| if bits >> at & 1 == 1 { -size } else { *size };
                after(sizes.iter().enumerate().map(signed)).against_no_difference()
            })
            .sum();
        assert!((sum / f64::from(patterns) - 1.0).abs() < 1e-12, "{}", sum / f64::from(patterns));
    }

    #[test]
    fn ten_equal_signs_are_evidence_of_one_percent_and_wild_pairs_do_not_hide_them() {
        assert!(after([1.0; 10]).against_no_difference() > 100.0);
        assert!(after([1.0; 8]).against_no_difference() < 100.0);
        let wild = [-1e6, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(after(wild).against_no_difference() > 100.0);
    }

    #[test]
    fn the_interval_ends_where_a_shift_is_refuted() {
        let mut rng = SmallRng::new(1);
        let d: Vec<f64> = (0..15).map(|_| rng.normal()).collect();
        let Location { estimate, lo, hi } = interval(&d, 0.05);
        assert!(lo < estimate && estimate < hi, "{lo} {estimate} {hi}");
        for (end, out) in [(lo, -1e-6), (hi, 1e-6)] {
            assert!(after(d.iter().map(|d| d - end - out)).against_no_difference() >= 20.0);
            assert!(after(d.iter().map(|d| d - end + out)).against_no_difference() < 20.0);
        }
    }

    #[test]
    fn few_pairs_have_no_interval_and_equal_ones_a_narrow_one() {
        assert_eq!(interval(&[0.1; 4], 0.05).hi, f64::INFINITY);
        assert_eq!(interval(&[], 0.05).lo, f64::NEG_INFINITY);
        let Location { lo, hi, .. } = interval(&[0.1; 12], 0.05);
        assert!((lo - 0.1).abs() < 1e-9 && (hi - 0.1).abs() < 1e-9, "{lo} {hi}");
        let wild = interval(&[1e300, -1e300, 1e300, -1e300, 0.0, 1.0, 2.0, 3.0], 0.05);
        assert!(wild.lo < wild.hi, "{wild:?}");
    }

    #[test]
    fn bets_on_one_side_win_nothing_on_average_from_a_larger_effect() {
        // Every assignment of base and head to pairs of these distances, with an effect of just the margin and of more.
        let distances = [3.0_f64, 0.2, 1.0, 1.0, 50.0, 0.7, 0.4, 2.0];
        let mean_capital = |effect: f64| {
            let patterns = 1_u32 << distances.len();
            let capital = |bits: u32| {
                let signed = |(at, d): (usize, &f64)| effect + if bits >> at & 1 == 1 { -d } else { *d };
                after(distances.iter().enumerate().map(signed)).capitals()[1]
            };
            (0..patterns).map(capital).sum::<f64>() / f64::from(patterns)
        };
        let means = [0.0, 0.1, 1.5, 60.0].map(mean_capital);
        assert!((means[0] - 1.0).abs() < 1e-12, "{means:?}");
        assert!(means.is_sorted_by(|less, more| less > more) && means[3] < 0.1, "{means:?}");
    }

    /// Logarithms of times, in the order in which they are measured: a run that follows another is slower, a throttled CPU makes each run slower
    /// than the last, a neighbour comes and goes, and bursts have no mean.
    fn disturbed(kind: usize, at: usize, burst: &mut f64, rng: &mut SmallRng) -> f64 {
        let small = 1e-4 * rng.normal();
        match kind {
            0 => small + if at.is_multiple_of(2) { 0.05 } else { 0.0 },
            1 => small + 0.02 * at as f64,
            2 => {
                if rng.below(20) == 0 {
                    *burst = 0.7 - *burst;
                }
                small + *burst
            }
            _ => {
                if rng.below(12) == 0 {
                    *burst = if rng.coin() { 0.0 } else { 0.02 / (1.0 - rng.uniform()) };
                }
                small + burst.ln_1p()
            }
        }
    }

    /// Differences of both pairs of 25 blocks.
    fn gate(kind: usize, seed: u64) -> Vec<f64> {
        let mut rng = SmallRng::new(seed);
        let mut burst = 0.0;
        let block = |block: usize| {
            let runs: [f64; 4] =
                std::array::from_fn(|at| disturbed(kind, 4 * block + at, &mut burst, &mut rng));
            let mut order = [0, 1, 2, 3];
            rng.shuffle(&mut order);
            [[0, 2], [1, 3]].map(|[base, head]| runs[order[head]] - runs[order[base]])
        };
        (0..25).flat_map(block).collect()
    }

    #[test]
    fn an_effect_of_just_the_margin_is_seldom_called_equivalent_in_noise_of_any_kind() {
        const MARGIN: f64 = 0.01;
        for kind in 0..4 {
            for effect in [MARGIN, -MARGIN, 3.0 * MARGIN] {
                let is_same = |seed: &u64| {
                    let mut equivalence = Equivalence::new(MARGIN);
                    gate(kind, *seed).into_iter().for_each(|d| equivalence.push(d + effect));
                    equivalence.within_margin() >= 20.0
                };
                let same = (0..1000).filter(is_same).count();
                // More than 68 of 1,000 have a chance of 1 % at the level of 5 %.
                assert!(same <= 68, "noise {kind} at {effect}: {same}");
            }
        }
    }

    #[test]
    fn random_order_alone_keeps_the_level_in_noise_of_any_kind() {
        const GATES: u64 = 4000;
        // The level of one of ten benchmarks.
        const ALPHA: f64 = 0.001;
        for kind in 0..4 {
            let alarms = (0..GATES).filter(|&seed| is_found(gate(kind, seed), ALPHA)).count();
            // More than 9 of 4,000 have a chance of 1 % at the level of 0.1 %.
            assert!(alarms <= 9, "{alarms} of {GATES} in noise {kind}");
        }
    }
}
