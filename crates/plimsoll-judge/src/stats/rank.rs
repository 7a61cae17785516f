//! Rank and permutation tests: signed rank, sign flip, Mann-Whitney, Mann-Kendall.
//!
//! Null distributions are counted out exactly where that is cheap, ties included; beyond that the normal approximation
//! with corrections for ties and continuity is used.

use super::dist::normal_two_sided;
use super::rng::SmallRng;

/// Up to this many values the signed-rank distribution is counted out.
const EXACT_SIGNED_RANK: usize = 50;
/// Up to this many values in both samples the rank-sum distribution is counted out.
const EXACT_RANK_SUM: usize = 40;
/// Up to this many values in all blocks the Mann-Kendall distribution is counted out.
const EXACT_KENDALL: usize = 60;
/// Up to this many values every sign pattern is tried.
const EXACT_SIGN_FLIP: usize = 16;

/// The ranks of values, counted from 1; equal values share the mean of their ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// The rank of each value, in the order of the input.
    pub ranks: Vec<f64>,
    /// Σ(t³ - t) over groups of t equal values: what ties take from the variance of rank statistics.
    pub ties: f64,
}

/// Ranks values; see [`Ranks`].
pub fn ranks(values: &[f64]) -> Ranks {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < order.len() {
        let value = values[order[start]];
        let len = order[start..].iter().take_while(|&&i| values[i] == value).count();
        let shared = start as f64 + (len as f64 + 1.0) / 2.0;
        for &i in &order[start..start + len] {
            ranks[i] = shared;
        }
        let t = len as f64;
        ties += t * t * t - t;
        start += len;
    }
    Ranks { ranks, ties }
}

/// Ranks that are multiples of a half, as whole numbers.
fn doubled(ranks: &[f64]) -> Vec<usize> {
    ranks.iter().map(|r| (2.0 * r).round() as usize).collect()
}

/// Twice the smaller tail of a discrete distribution, both tails including the value itself.
fn two_sided(share: &[f64], at: usize) -> f64 {
    let at = at.min(share.len() - 1);
    let below: f64 = share[..=at].iter().sum();
    let above: f64 = share[at..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// The normal p-value of a deviation, moved towards zero by the correction for continuity.
fn corrected_two_sided(deviation: f64, correction: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    normal_two_sided((deviation.abs() - correction).max(0.0) / variance.sqrt())
}

/// The largest `k` for which the `k`-th smallest and largest Walsh averages of `n` values still hold the centre with
/// at least `confidence`, with the confidence that they reach; `None` when even the extremes do not.
pub fn signed_rank_depth(n: usize, confidence: f64) -> Option<(u64, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    if n > EXACT_SIGNED_RANK {
        let m = n as f64;
        let z = super::dist::normal_quantile(1.0 - tail);
        let depth = m * (m + 1.0) / 4.0 - z * (m * (m + 1.0) * (2.0 * m + 1.0) / 24.0).sqrt();
        return Some(((depth + 0.5).floor().max(1.0) as u64, confidence));
    }
    let total = n * (n + 1) / 2;
    let mut share = vec![0.0; total + 1];
    share[0] = 1.0;
    for r in 1..=n {
        for s in (0..=total).rev() {
            let with = if s >= r { share[s - r] } else { 0.0 };
            share[s] = 0.5 * share[s] + 0.5 * with;
        }
    }
    let mut below = 0.0;
    let mut found = None;
    for (k, p) in share.iter().enumerate() {
        below += p;
        if below > tail {
            break;
        }
        found = Some((k as u64 + 1, 1.0 - 2.0 * below));
    }
    found
}

/// The two-sided p-value of the mean under random flips of the signs (Fisher 1935). Every pattern is tried up to 16
/// values; beyond that 20,000 random ones from `seed`, the observed one counted among them.
pub fn sign_flip(values: &[f64], seed: u64) -> f64 {
    const DRAWS: u32 = 20_000;
    let observed = values.iter().sum::<f64>().abs();
    // A pattern that only rounding puts below the observed sum counts as equal to it.
    let threshold = observed - 1e-12 * values.iter().map(|v| v.abs()).sum::<f64>();
    if values.is_empty() || observed == 0.0 {
        return 1.0;
    }
    if values.len() <= EXACT_SIGN_FLIP {
        let patterns = 1_u32 << (values.len() - 1);
        let signed = |bits: u32, i: usize, v: f64| if bits >> i & 1 == 1 { -v } else { v };
        let extreme = (0..patterns)
            .filter(|&bits| {
                let sum: f64 = values.iter().enumerate().map(|(i, &v)| signed(bits, i, v)).sum();
                sum.abs() >= threshold
            })
            .count();
        return extreme as f64 / f64::from(patterns);
    }
    let mut rng = SmallRng::new(seed);
    let extreme = (0..DRAWS)
        .filter(|_| values.iter().map(|&v| if rng.coin() { v } else { -v }).sum::<f64>().abs() >= threshold)
        .count();
    (extreme + 1) as f64 / f64::from(DRAWS + 1)
}

/// [`sign_flip`] of values whose size is cut at one and a half times their median size: exact under random signs like
/// the plain test, nearly as powerful as the mean on normal values, and unmoved by how wild a wild value is, which the
/// signed rank is not (a few large values of the wrong sign take its highest ranks; Huber 1964 on why to cut). Beyond 16
/// values the normal approximation is used, which random signs of bounded values stay inside of.
pub fn tamed_sign_flip(values: &[f64]) -> f64 {
    const REACH: f64 = 1.5;
    let sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|size| *size > 0.0).collect();
    if sizes.is_empty() {
        return 1.0;
    }
    let most = REACH * super::median(&sizes);
    // In units of the cut, so that neither tiny nor huge values lose their squares.
    let tame: Vec<f64> = values.iter().map(|v| (v / most).clamp(-1.0, 1.0)).collect();
    if tame.len() <= EXACT_SIGN_FLIP {
        return sign_flip(&tame, 0);
    }
    normal_two_sided(tame.iter().sum::<f64>() / tame.iter().map(|v| v * v).sum::<f64>().sqrt())
}

/// The result of the Mann-Whitney test (Mann & Whitney 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// How many pairs (x, y) have x above y, equal ones counted half.
    pub u: f64,
    /// U / (n·m): the chance that a value of x lies above one of y, also called AUC.
    pub auc: f64,
    /// The normal deviate of U, corrected for ties but not for continuity; 0 when all values are equal.
    pub z: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// Tests whether values of `x` tend to lie above or below those of `y`. Without values on one side: p = 1, AUC = 0.5.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> MannWhitney {
    let (n, m) = (x.len() as f64, y.len() as f64);
    if x.is_empty() || y.is_empty() {
        return MannWhitney { u: 0.0, auc: 0.5, z: 0.0, p: 1.0 };
    }
    let pooled = ranks(&[x, y].concat());
    let rank_sum: f64 = pooled.ranks[..x.len()].iter().sum();
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - pooled.ties / (total * (total - 1.0)));
    let deviation = u - n * m / 2.0;
    let z = if variance > 0.0 { deviation / variance.sqrt() } else { 0.0 };
    let p = if x.len() + y.len() <= EXACT_RANK_SUM {
        rank_sum_exact(&pooled.ranks, x.len(), rank_sum)
    } else {
        corrected_two_sided(deviation, 0.5, variance)
    };
    MannWhitney { u, auc: u / (n * m), z, p }
}

/// Counts the subsets of `size` ranks by their sum, and takes the tails from there.
fn rank_sum_exact(ranks: &[f64], size: usize, rank_sum: f64) -> f64 {
    let ranks = doubled(ranks);
    let total: usize = ranks.iter().sum();
    let mut counts = vec![vec![0.0; total + 1]; size + 1];
    counts[0][0] = 1.0;
    for &r in &ranks {
        for k in (1..=size).rev() {
            let (smaller, larger) = counts.split_at_mut(k);
            for s in r..=total {
                larger[0][s] += smaller[k - 1][s - r];
            }
        }
    }
    let all: f64 = counts[size].iter().sum();
    let share: Vec<f64> = counts[size].iter().map(|c| c / all).collect();
    two_sided(&share, (2.0 * rank_sum).round() as usize)
}

/// The result of the Mann-Kendall test for a trend (Mann 1945, Kendall 1975).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Rising pairs minus falling pairs.
    pub s: f64,
    /// S over the number of pairs: -1 falls throughout, 1 rises throughout; 0 without pairs.
    pub tau: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// Tests several series that share a direction of time, such as the cycles of several trials: pairs are formed inside
/// each series only, and their S and its distribution are added up (Hirsch, Slack & Smith 1982).
pub fn mann_kendall_blocks(blocks: &[&[f64]]) -> MannKendall {
    let (mut s, mut pairs, mut variance, mut ties) = (0.0, 0.0, 0.0, 0.0);
    for block in blocks {
        let n = block.len() as f64;
        let block_ties = Ties::of(block);
        let block_pairs = n * (n - 1.0) / 2.0;
        let falling = falling_pairs(&mut block.to_vec());
        s += block_pairs - block_ties.pairs - 2.0 * falling as f64;
        pairs += block_pairs;
        variance += (n * (n - 1.0) * (2.0 * n + 5.0) - block_ties.variance) / 18.0;
        ties += block_ties.pairs;
    }
    if pairs == 0.0 {
        return MannKendall { s: 0.0, tau: 0.0, p: 1.0 };
    }
    let values: usize = blocks.iter().map(|b| b.len()).sum();
    let p = if ties == 0.0 && values <= EXACT_KENDALL {
        kendall_exact(blocks, ((pairs - s) / 2.0).round() as usize)
    } else {
        corrected_two_sided(s, 1.0, variance)
    };
    MannKendall { s, tau: s / pairs, p }
}

/// Reduction of Kendall's S by equal values.
struct Ties {
    pairs: f64,
    variance: f64,
}

impl Ties {
    fn of(values: &[f64]) -> Self {
        let mut ties = Self { pairs: 0.0, variance: 0.0 };
        for group in super::sorted(values).chunk_by(|a, b| a == b) {
            let t = group.len() as f64;
            ties.pairs += t * (t - 1.0) / 2.0;
            ties.variance += t * (t - 1.0) * (2.0 * t + 5.0);
        }
        ties
    }
}

/// Counts pairs whose earlier value is larger, by merge sort (Knight 1966); leaves `values` sorted.
fn falling_pairs(values: &mut [f64]) -> u64 {
    let middle = values.len() / 2;
    if middle == 0 {
        return 0;
    }
    let (left, right) = values.split_at_mut(middle);
    let mut count = falling_pairs(left) + falling_pairs(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut j = 0;
    for &l in left.iter() {
        while j < right.len() && right[j] < l {
            merged.push(right[j]);
            j += 1;
        }
        count += j as u64;
        merged.push(l);
    }
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    count
}

/// The i-th value of a random order has 0..i larger ones before it, each number as likely; their sum is convolved.
fn kendall_exact(blocks: &[&[f64]], falling: usize) -> f64 {
    let mut share = vec![1.0];
    for block in blocks {
        for i in 2..=block.len() {
            let mut next = vec![0.0; share.len() + i - 1];
            for (at, p) in share.iter().enumerate() {
                for slot in &mut next[at..at + i] {
                    *slot += p / i as f64;
                }
            }
            share = next;
        }
    }
    two_sided(&share, falling)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPRESSION: [f64; 9] = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1e-3)
    }

    #[test]
    fn equal_values_share_their_mean_rank() {
        let ranked = ranks(&[3.0, 1.0, 3.0, 2.0]);
        assert_eq!(ranked.ranks, [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranked.ties, 6.0);
    }

    #[test]
    fn the_depth_of_the_interval_agrees_with_published_tables() {
        // Critical values of W+ for two-sided 5 %: n = 6: 0, 8: 3, 10: 8, 20: 52; the depth is one more.
        for (n, critical) in [(6, 0), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(signed_rank_depth(n, 0.95).unwrap().0, critical + 1, "n = {n}");
        }
        assert_eq!(signed_rank_depth(5, 0.95), None);
    }

    #[test]
    fn flipping_signs_by_enumeration_and_by_chance_agree() {
        let few: Vec<f64> = DEPRESSION.to_vec();
        assert!(close(sign_flip(&[1.0; 8], 0), 2.0 / 256.0));
        let exact = sign_flip(&few, 0);
        // Darwin's maize (Fisher 1935, Design of Experiments, section 21): 1,726 of 32,768 patterns are as extreme.
        let maize = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        assert!(close(sign_flip(&maize, 0), 1726.0 / 32768.0));
        assert!(exact < 0.05);
        let many: Vec<f64> = maize.iter().chain(&maize).copied().collect();
        assert!((sign_flip(&many, 1) - sign_flip(&many, 2)).abs() < 0.005);
    }

    #[test]
    fn four_wild_values_in_thirty_do_not_hide_what_all_others_show() {
        let mut values: Vec<f64> = (0..26).map(|i| 0.1 + 0.001 * f64::from(i)).collect();
        values.extend([-0.4, -0.5, -0.3, -0.6]);
        assert!(tamed_sign_flip(&values) < 0.001);
        assert!(close(tamed_sign_flip(&[1.0; 8]), 2.0 / 256.0));
        assert_eq!(tamed_sign_flip(&[0.0; 20]), 1.0);
    }

    #[test]
    fn values_of_random_sign_alarm_as_often_as_the_level_says() {
        let mut rng = SmallRng::new(12);
        for n in [10, 16, 17, 30] {
            let mut below = || tamed_sign_flip(&(0..n).map(|_| rng.normal()).collect::<Vec<_>>()) <= 0.05;
            let alarms = (0..1000).filter(|_| below()).count();
            assert!((25..=70).contains(&alarms), "{alarms} of 1000 at n = {n}");
        }
    }

    #[test]
    fn mann_whitney_agrees_with_scipy() {
        // scipy.stats.mannwhitneyu(x, y, method="exact")
        let x = [19.0, 22.0, 16.0, 29.0, 24.0];
        let y = [20.0, 11.0, 17.0, 12.0];
        let result = mann_whitney(&x, &y);
        assert_eq!(result.u, 17.0);
        assert!(close(result.p, 0.111_111_111_111_111_1));
        assert!(close(result.auc, 0.85));
    }

    #[test]
    fn mann_kendall_counts_out_short_series() {
        // Four falling cycles: one order of 4! = 24 on each side.
        let result = mann_kendall_blocks(&[&[4.0, 3.0, 2.0, 1.0]]);
        assert_eq!((result.s, result.tau), (-6.0, -1.0));
        assert!(close(result.p, 2.0 / 24.0));
        // Two trials that fall alike: one of 24² on each side.
        let both = mann_kendall_blocks(&[&[4.0, 3.0, 2.0, 1.0], &[9.0, 8.0, 5.0, 1.0]]);
        assert!(close(both.p, 2.0 / 576.0));
    }

    #[test]
    fn a_series_without_pairs_or_spread_has_no_trend() {
        assert_eq!(mann_kendall_blocks(&[&[]]).p, 1.0);
        assert_eq!(mann_kendall_blocks(&[&[1.0]]).p, 1.0);
        assert_eq!(mann_kendall_blocks(&[&[2.0; 30]]).p, 1.0);
    }

    #[test]
    fn falling_pairs_are_counted_as_by_hand() {
        assert_eq!(falling_pairs(&mut [3.0, 1.0, 2.0, 2.0, 0.0]), 7);
    }
}
