//! Hartigan's dip test: how far is a sample from the nearest distribution with one mode?
//!
//! Hartigan & Hartigan 1985, *The Dip Test of Unimodality*; the search is that of Hartigan 1985, algorithm AS 217, with the corrections
//! of Maechler (R package `diptest`): the modal interval is narrowed from both sides, between the greatest convex minorant and the least
//! concave majorant of the empirical distribution.

/// The sample sizes of [`CRITICAL`].
const SIZES: [f64; 8] = [30.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 5_000.0, 72_000.0];
/// The probabilities, under a uniform distribution, of a smaller dip than in [`CRITICAL`].
const PROBABILITIES: [f64; 9] = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999];
/// Quantiles of the dip of uniform samples (Maechler's table, from a million samples each).
const CRITICAL: [[f64; 9]; 8] = [
    [0.06145, 0.07392, 0.08148, 0.08817, 0.09606, 0.10148, 0.10650, 0.11272, 0.11716],
    [0.04885, 0.05882, 0.06491, 0.07027, 0.07671, 0.08120, 0.08529, 0.09048, 0.09409],
    [0.03546, 0.04273, 0.04715, 0.05113, 0.05580, 0.05902, 0.06204, 0.06580, 0.06845],
    [0.02558, 0.03080, 0.03400, 0.03684, 0.04027, 0.04269, 0.04496, 0.04776, 0.04972],
    [0.01645, 0.01982, 0.02188, 0.02373, 0.02592, 0.02745, 0.02890, 0.03068, 0.03202],
    [0.01174, 0.01414, 0.01561, 0.01693, 0.01851, 0.01961, 0.02065, 0.02193, 0.02287],
    [0.00531, 0.00639, 0.00706, 0.00765, 0.00837, 0.00886, 0.00934, 0.00993, 0.01035],
    [0.00141, 0.00170, 0.00187, 0.00203, 0.00222, 0.00236, 0.00248, 0.00264, 0.00275],
];

/// A dip and how rare it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dip {
    /// The largest distance between the empirical distribution and the nearest one with a single mode: 1/(2n) to 1/4.
    pub statistic: f64,
    /// The chance of so large a dip in a uniform sample, the worst case of a single mode. Interpolated from a table; no smaller than
    /// 0.001 and no larger than 0.5, where it ends.
    pub p: f64,
}

/// The dip of values in rising order; 0 for fewer than four values or none that differ.
pub fn dip_test(sorted: &[f64]) -> Dip {
    let statistic = dip(sorted);
    Dip { statistic, p: p_value(statistic, sorted.len()) }
}

fn dip(x: &[f64]) -> f64 {
    let n = x.len();
    if n < 4 || x[0] == x[n - 1] {
        return 0.0;
    }
    let (minorant, majorant) = (minorant_links(x), majorant_links(x));
    let (mut low, mut high, mut dip) = (0, n - 1, 1.0_f64);
    loop {
        let gcm = minorant_between(low, high, &minorant);
        let lcm = majorant_between(low, high, &majorant);
        let gap = widest_gap(x, &gcm, &lcm);
        if gap.distance < dip {
            break;
        }
        let below = gcm.windows(2).filter(|s| s[1] <= gap.low).map(|s| above_chord(x, s[0], s[1]));
        let above = lcm.windows(2).filter(|s| s[0] >= gap.high).map(|s| below_chord(x, s[0], s[1]));
        dip = below.chain(above).fold(dip, f64::max);
        if (gap.low, gap.high) == (low, high) {
            break;
        }
        (low, high) = (gap.low, gap.high);
    }
    dip / (2.0 * n as f64)
}

/// For each point, the previous vertex of the greatest convex minorant of all points up to it.
fn minorant_links(x: &[f64]) -> Vec<usize> {
    let mut link = vec![0; x.len()];
    for j in 1..x.len() {
        let mut k = j - 1;
        while k > 0 && (x[j] - x[k]) * (k - link[k]) as f64 >= (x[k] - x[link[k]]) * (j - k) as f64 {
            k = link[k];
        }
        link[j] = k;
    }
    link
}

/// For each point, the next vertex of the least concave majorant of all points from it on.
fn majorant_links(x: &[f64]) -> Vec<usize> {
    let last = x.len() - 1;
    let mut link = vec![last; x.len()];
    for j in (0..last).rev() {
        let mut k = j + 1;
        while k < last && (x[k] - x[j]) * (link[k] - k) as f64 >= (x[link[k]] - x[k]) * (k - j) as f64 {
            k = link[k];
        }
        link[j] = k;
    }
    link
}

/// The vertices of the minorant from `low` to `high`, in rising order.
fn minorant_between(low: usize, high: usize, links: &[usize]) -> Vec<usize> {
    let mut vertices = vec![high];
    let mut at = high;
    while at > low {
        at = links[at].max(low);
        vertices.push(at);
    }
    vertices.reverse();
    vertices
}

/// The vertices of the majorant from `low` to `high`, in rising order.
fn majorant_between(low: usize, high: usize, links: &[usize]) -> Vec<usize> {
    let mut vertices = vec![low];
    let mut at = low;
    while at < high {
        at = links[at].min(high);
        vertices.push(at);
    }
    vertices
}

/// Where the majorant stands highest above the minorant, and the modal interval that it leaves.
struct Gap {
    distance: f64,
    low: usize,
    high: usize,
}

/// Compares both chains at every vertex of either; heights are counts, below the step for the minorant and above it for the majorant.
fn widest_gap(x: &[f64], gcm: &[usize], lcm: &[usize]) -> Gap {
    let (low, high) = (gcm[0], gcm[gcm.len() - 1]);
    let mut widest = Gap { distance: 0.0, low, high };
    if gcm.len() == 2 && lcm.len() == 2 {
        return Gap { distance: 1.0, ..widest };
    }
    let (mut g, mut l) = (0, 0);
    while g + 1 < gcm.len() && l + 1 < lcm.len() {
        let (g_next, l_next) = (gcm[g + 1], lcm[l + 1]);
        let at_majorant = l_next < g_next;
        let gap = if at_majorant {
            let distance = (l_next + 1) as f64 - line(x, gcm[g], g_next, x[l_next]);
            Gap { distance, low: gcm[g], high: l_next }
        } else {
            let distance = line(x, lcm[l], l_next, x[g_next]) + 1.0 - g_next as f64;
            Gap { distance, low: g_next, high: l_next }
        };
        let inner = at_majorant || g_next < high;
        if inner && gap.distance > widest.distance {
            widest = gap;
        }
        g += usize::from(!at_majorant);
        l += usize::from(at_majorant || l_next == g_next);
    }
    widest
}

/// The height at `at` of the line through the points `from` and `to`, whose heights are their indices.
fn line(x: &[f64], from: usize, to: usize, at: f64) -> f64 {
    if x[to] == x[from] {
        return to as f64;
    }
    from as f64 + (to - from) as f64 * ((at - x[from]) / (x[to] - x[from]))
}

/// The largest distance of the distribution above a piece of the minorant; 1, a step, at least.
fn above_chord(x: &[f64], from: usize, to: usize) -> f64 {
    if to - from <= 1 || x[to] == x[from] {
        return 1.0;
    }
    (from..=to).map(|j| (j + 1) as f64 - line(x, from, to, x[j])).fold(1.0, f64::max)
}

/// The largest distance of the distribution below a piece of the majorant; 1, a step, at least.
fn below_chord(x: &[f64], from: usize, to: usize) -> f64 {
    if to - from <= 1 || x[to] == x[from] {
        return 1.0;
    }
    (from..=to).map(|j| line(x, from, to, x[j]) + 1.0 - j as f64).fold(1.0, f64::max)
}

/// Interpolates the table in √n·dip, linearly over ln n.
fn p_value(dip: f64, n: usize) -> f64 {
    let n = (n as f64).clamp(SIZES[0], SIZES[SIZES.len() - 1]);
    let right = SIZES.iter().position(|&s| s >= n).unwrap_or(SIZES.len() - 1).max(1);
    let share = (n / SIZES[right - 1]).ln() / (SIZES[right] / SIZES[right - 1]).ln();
    let scaled = n.sqrt() * dip;
    let quantile = |k: usize| {
        let at = |row: usize| CRITICAL[row][k] * SIZES[row].sqrt();
        at(right - 1) + share * (at(right) - at(right - 1))
    };
    let Some(above) = (0..PROBABILITIES.len()).find(|&k| quantile(k) >= scaled) else { return 0.001 };
    if above == 0 {
        return 0.5;
    }
    let (q0, q1) = (quantile(above - 1), quantile(above));
    let (p0, p1) = (PROBABILITIES[above - 1], PROBABILITIES[above]);
    1.0 - (p0 + (p1 - p0) * (scaled - q0) / (q1 - q0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_dip(values: &[f64], expected: f64) {
        let found = dip_test(&crate::stats::sorted(values)).statistic;
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }

    #[test]
    fn dips_agree_with_the_diptest_package() {
        // diptest 0.12.0 from PyPI, dipstat(values).
        let gaps = [0.13, 0.9, 1.7, 1.72, 1.75, 2.0, 3.3, 3.4, 5.0, 5.2, 5.3, 5.31, 8.0];
        assert_dip(&gaps, 0.132_233_325_586_799_95);
        let squares: Vec<f64> = (0..60).map(|i| f64::from(i * i * 7 % 101)).collect();
        assert_dip(&squares, 0.035_087_719_298_245_62);
        let two_groups: Vec<f64> =
            (0..90).map(|i| f64::from(i % 10 + if i % 3 == 0 { 20 } else { 0 })).collect();
        assert_dip(&two_groups, 0.091_666_666_666_666_66);
        assert_dip(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 5.0], 0.214_285_714_285_714_27);
    }

    #[test]
    fn equal_and_few_values_have_no_dip() {
        assert_dip(&[3.0; 9], 0.0);
        assert_dip(&[1.0, 2.0], 0.0);
        assert_eq!(dip_test(&[]).p, 0.5);
    }

    #[test]
    fn p_values_agree_with_the_table_and_lie_between_its_rows() {
        assert!((p_value(0.05113, 100) - 0.05).abs() < 1e-9);
        assert!((p_value(0.02745, 500) - 0.01).abs() < 1e-9);
        assert!((p_value(0.0421, 150) - 0.05).abs() < 0.005, "diptest's own interpolation gives 0.05");
        assert_eq!(p_value(0.2, 1_000), 0.001);
        assert_eq!(p_value(0.001, 1_000), 0.5);
    }
}
