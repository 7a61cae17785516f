//! When is a run warm? The start of the steady state of a series of equal iterations.
//!
//! After Barrett et al. 2017 (*Virtual Machine Warmup Blows Hot and Cold*): outliers are pulled in, the series is divided where its mean or variance changes (PELT,
//! Killick, Fearnhead & Eckley 2012, with penalty 15 ln n), and segments that are equivalent to the last one, counted back from the
//! end, are the steady state. It must begin before the last part of the series, or there is none.

use crate::changes::noise::{Noise, without_outliers};
use crate::input::{JudgeError, finite};
use crate::stats::{mean, sd};
use serde::Serialize;

/// The price of a segment, per ln n.
const PENALTY: f64 = 15.0;
/// The shortest segment.
const MIN_SEGMENT: usize = 5;
/// The steady state must cover at least this share of the series.
const LAST_PART: f64 = 0.25;
/// Longer series are judged by the means of this many equal blocks.
const MAX_BLOCKS: usize = 2_000;
/// The smallest variance that counts as above none, as a share of that of the differences.
const LEAST_VARIANCE: f64 = 1e-4;
/// Means that differ by less than this share of the last are the same, however small the noise.
const EQUIVALENT: f64 = 1e-3;

/// A stretch with one mean and one variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// Its first value, counted from 0.
    pub start: usize,
    /// The mean of its values, outliers pulled in.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
}

/// How a series begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Steady from the first value on.
    Flat,
    /// The values before the steady state lie lower, on the whole.
    Lower,
    /// The values before the steady state lie higher, on the whole: a warm-up, where values are times.
    Higher,
    /// No steady state before the last part.
    Unsteady,
}

/// What [`find_warmup`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warmup {
    /// How the series begins.
    pub start: Start,
    /// The first value of the steady state; absent where there is none.
    pub steady_from: Option<usize>,
    /// The segments, by rising start.
    pub segments: Vec<Segment>,
}

/// Finds the steady state of a series in order of time. A series of more than 2,000 values is judged by the means of blocks,
/// whose ends are then the only possible places. Fewer than ten values cannot be divided, and count as flat.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`].
pub fn find_warmup(series: &[f64]) -> Result<Warmup, JudgeError> {
    finite("series", series)?;
    let block = series.len().div_ceil(MAX_BLOCKS);
    let blocks: Vec<f64> = series.chunks(block).map(mean).collect();
    let noise = Noise::from_differences(&blocks);
    let clean = without_outliers(&blocks, noise.sd);
    let edges = divide(&clean, LEAST_VARIANCE * noise.sd * noise.sd);
    let segments: Vec<Segment> = edges
        .windows(2)
        .map(|w| Segment { start: w[0] * block, mean: mean(&clean[w[0]..w[1]]), sd: sd(&clean[w[0]..w[1]]) })
        .collect();
    Ok(classify(segments, series.len()))
}

fn classify(segments: Vec<Segment>, n: usize) -> Warmup {
    let last = segments[segments.len() - 1];
    let near = last.sd.max(EQUIVALENT * last.mean.abs());
    let steady = segments.iter().rposition(|s| (s.mean - last.mean).abs() > near).map_or(0, |i| i + 1);
    let from = segments[steady].start;
    let before = &segments[..steady];
    let start = if (n - from) as f64 / (n as f64) < LAST_PART {
        Start::Unsteady
    } else if before.is_empty() {
        Start::Flat
    } else if before.iter().map(|s| s.mean - last.mean).sum::<f64>() > 0.0 {
        Start::Higher
    } else {
        Start::Lower
    };
    Warmup { start, steady_from: (start != Start::Unsteady).then_some(from), segments }
}

/// The edges of the segments of least cost, n·ln(variance) each, by optimal partitioning with pruning.
fn divide(values: &[f64], least_variance: f64) -> Vec<usize> {
    let n = values.len();
    let origin = values[n / 2];
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (i, v) in values.iter().enumerate() {
        sums[i + 1] = sums[i] + (v - origin);
        squares[i + 1] = squares[i] + (v - origin).powi(2);
    }
    let cost = |from: usize, to: usize| {
        let len = (to - from) as f64;
        let sum: f64 = sums[to] - sums[from];
        let variance = (squares[to] - squares[from] - sum * sum / len) / len;
        len * variance.max(least_variance).max(f64::MIN_POSITIVE).ln()
    };
    let penalty = PENALTY * (n as f64).ln();
    let mut best = vec![f64::INFINITY; n + 1];
    let mut previous = vec![0; n + 1];
    best[0] = -penalty;
    let mut starts = vec![0];
    for end in MIN_SEGMENT.min(n)..=n {
        if let Some(start) = end.checked_sub(MIN_SEGMENT).filter(|&s| s >= MIN_SEGMENT) {
            starts.push(start);
        }
        let totals: Vec<f64> = starts.iter().map(|&s| best[s] + cost(s, end)).collect();
        for (&start, &total) in starts.iter().zip(&totals) {
            if total + penalty < best[end] {
                best[end] = total + penalty;
                previous[end] = start;
            }
        }
        let mut kept = totals.iter().map(|t| *t <= best[end]);
        starts.retain(|_| kept.next().unwrap_or(true));
    }
    let mut edges = vec![n];
    while let Some(&end) = edges.last().filter(|&&e| e > 0) {
        edges.push(previous[end]);
    }
    edges.reverse();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn noisy(levels: &[(usize, f64, f64)]) -> Vec<f64> {
        let mut rng = SmallRng::new(1);
        let values = levels.iter().flat_map(|&(n, level, sd)| std::iter::repeat_n((level, sd), n));
        values.map(|(level, sd)| level + sd * rng.normal()).collect()
    }

    #[test]
    fn a_warm_up_ends_where_the_times_settle() {
        let found = find_warmup(&noisy(&[(40, 30.0, 1.0), (30, 20.0, 1.0), (230, 15.0, 0.5)])).unwrap();
        assert_eq!((found.start, found.steady_from), (Start::Higher, Some(70)));
        assert_eq!(found.segments.len(), 3);
    }

    #[test]
    fn a_steady_series_is_flat_and_a_rate_that_rises_starts_lower() {
        assert_eq!(find_warmup(&noisy(&[(300, 15.0, 0.5)])).unwrap().steady_from, Some(0));
        assert_eq!(find_warmup(&noisy(&[(60, 5.0, 0.5), (240, 15.0, 0.5)])).unwrap().start, Start::Lower);
    }

    #[test]
    fn what_changes_in_the_last_part_is_unsteady() {
        let found = find_warmup(&noisy(&[(250, 15.0, 0.5), (50, 20.0, 0.5)])).unwrap();
        assert_eq!((found.start, found.steady_from), (Start::Unsteady, None));
    }

    #[test]
    fn an_excursion_in_the_middle_moves_the_steady_state_behind_it() {
        let found = find_warmup(&noisy(&[(100, 15.0, 0.5), (30, 20.0, 0.5), (170, 15.0, 0.5)])).unwrap();
        assert_eq!(found.steady_from, Some(130));
    }

    #[test]
    fn short_constant_and_long_series_get_an_answer() {
        for series in [vec![1.0], vec![1.0, 2.0, 9.0], vec![4.0; 50], vec![4.0; 100_000]] {
            assert_eq!(find_warmup(&series).unwrap().start, Start::Flat, "{} values", series.len());
        }
        let long = find_warmup(&noisy(&[(200_000, 9.0, 1.0), (1_800_000, 5.0, 1.0)])).unwrap();
        assert_eq!(long.steady_from, Some(200_000));
        assert!(find_warmup(&[]).is_err() && find_warmup(&[f64::NAN]).is_err());
    }
}
