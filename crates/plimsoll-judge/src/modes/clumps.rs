//! Values that gather close to many places, as durations do that a timer ends, or rates that were computed from these. Each place looks like a
//! narrow mode of its own, and is none: the kernel's throttling of a disk, say, ends waits by the tick of a clock, and a disk of one rate then
//! shows five or ten.

use crate::stats::{mean, median_in_place, quantile_sorted};

/// A gap is compared with the median of this many neighbours.
const NEIGHBOURS: usize = 25;
/// A gap of this many times the median of its neighbours is wide. Where nothing gathers, one gap in a thousand is, and
/// a few in long tails.
const WIDE: f64 = 10.0;
/// With this many wide gaps, or more than [`WIDE_SHARE`] of all, the values gather.
const LEAST_WIDE: usize = 10;
/// The least share of wide gaps of values that gather.
const WIDE_SHARE: f64 = 0.04;
/// The fewest close values that are a clump.
const LEAST_VALUES: usize = 3;
/// Fewer clumps are modes.
const LEAST_CLUMPS: usize = 4;
/// A clump is narrower than this share of the way to the next one: what is as wide as its distance from others is a part of a distribution, whose
/// feet are thin.
const NARROW: f64 = 0.5;
/// The quantile of the distances between clumps that stands for the usual one: between two places at such a distance a few values may have
/// gathered by chance.
const USUAL_DISTANCE: f64 = 0.75;

/// The places where values gather, as ranges of `sorted`, most of whose values are different; empty if they do not, or where these places are
/// few.
fn clumps(sorted: &[f64]) -> Vec<std::ops::Range<usize>> {
    let gaps: Vec<f64> = sorted.windows(2).map(|w| w[1] - w[0]).collect();
    let mut ends = Vec::new();
    for (block, neighbours) in gaps.chunks(NEIGHBOURS).enumerate() {
        // The last few are compared with those before them as well.
        let from = (block * NEIGHBOURS).min(gaps.len().saturating_sub(NEIGHBOURS));
        let usual = median_in_place(&mut gaps[from..block * NEIGHBOURS + neighbours.len()].to_vec());
        let wide = (0..neighbours.len()).filter(|k| neighbours[*k] > WIDE * usual);
        ends.extend(wide.map(|k| block * NEIGHBOURS + k + 1));
    }
    if ends.len() < LEAST_WIDE || (ends.len() as f64) < WIDE_SHARE * gaps.len() as f64 {
        return Vec::new();
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let ranges = starts.zip(ends.iter().copied().chain([sorted.len()])).map(|(from, to)| from..to);
    let clumps: Vec<_> = ranges.filter(|range| range.len() >= LEAST_VALUES).collect();
    let clumps = narrow(sorted, clumps);
    if clumps.len() < LEAST_CLUMPS { Vec::new() } else { clumps }
}

/// The clumps that are narrow compared with the distance to their nearest neighbour.
fn narrow(sorted: &[f64], clumps: Vec<std::ops::Range<usize>>) -> Vec<std::ops::Range<usize>> {
    let centers: Vec<f64> = clumps.iter().map(|range| mean(&sorted[range.clone()])).collect();
    let is_narrow = |k: usize, range: &std::ops::Range<usize>| {
        let below = k.checked_sub(1).map(|before| centers[k] - centers[before]);
        let above = centers.get(k + 1).map(|after| after - centers[k]);
        let nearest = below.into_iter().chain(above).fold(f64::INFINITY, f64::min);
        sorted[range.end - 1] - sorted[range.start] < NARROW * nearest
    };
    clumps.into_iter().enumerate().filter(|(k, range)| is_narrow(*k, range)).map(|(_, range)| range).collect()
}

/// Spreads the values of each clump evenly up to half-way to the next, and gives how far these usually are apart: 0 where nothing gathers. Where
/// the next is farther away than that, there may be a valley between two modes, and they are spread only so far. Rising order in and out.
pub(super) fn spread(sorted: &mut [f64]) -> f64 {
    let clumps = clumps(sorted);
    let centers: Vec<f64> = clumps.iter().map(|range| mean(&sorted[range.clone()])).collect();
    let distances: Vec<f64> = centers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if distances.is_empty() {
        return 0.0;
    }
    let step = quantile_sorted(&crate::stats::sorted(&distances), USUAL_DISTANCE);
    let half = |distance: Option<&f64>| distance.map_or(step, |distance| distance.min(step)) / 2.0;
    for (k, (range, center)) in clumps.into_iter().zip(centers).enumerate() {
        let (below, above) = (half(k.checked_sub(1).and_then(|k| distances.get(k))), half(distances.get(k)));
        let values = &mut sorted[range];
        let count = values.len() as f64;
        for (k, value) in values.iter_mut().enumerate() {
            *value = center - below + (below + above) * (k as f64 + 0.5) / count;
        }
    }
    sorted.sort_unstable_by(f64::total_cmp);
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;
    use crate::stats::sorted;

    #[test]
    fn smooth_values_and_two_narrow_modes_do_not_gather() {
        for seed in 0..200 {
            let mut rng = SmallRng::new(seed);
            let normal: Vec<f64> = (0..100).map(|_| rng.normal()).collect();
            assert_eq!(spread(&mut sorted(&normal)), 0.0, "seed {seed}");
            let two: Vec<f64> =
                (0..100).map(|k| if k % 5 == 0 { 59.0 } else { 108.0 } + 0.05 * rng.normal()).collect();
            assert_eq!(spread(&mut sorted(&two)), 0.0, "seed {seed}");
        }
    }

    #[test]
    fn values_close_to_steps_are_spread_over_them() {
        let mut rng = SmallRng::new(1);
        let values: Vec<f64> =
            (0..200).map(|_| (2.0 * rng.normal()).round() * 5.0 + 0.05 * rng.normal()).collect();
        let mut spread_out = sorted(&values);
        let step = spread(&mut spread_out);
        assert!((step - 5.0).abs() < 0.1, "{step}");
        assert!(spread_out.is_sorted() && spread_out.len() == values.len());
        let widest = spread_out[20..180].windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        assert!(widest < 1.5, "a gap of {widest} is left between two steps");
    }
}
