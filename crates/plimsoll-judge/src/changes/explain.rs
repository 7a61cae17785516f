//! Components of a series besides its levels: cycles, and a trend or a smooth curve. Each counts only where it explains the values
//! better than more levels would, by Schwarz's criterion.

use super::lasting::best_order;
use super::noise::{self, Noise, without_outliers};
use super::season::{self, Season};
use super::smooth::{DEGREES, Places, Smooth, smooth};
use super::{LEAST_NOISE, PENALTY, exchange, locate, partition, prune};
use crate::stats::mean;

/// No more cycles are looked for.
const MOST_CYCLES: usize = 3;
/// A trend is tried if the levels have one of this many standard errors: levels that steps cut out of a trend keep only
/// a part of it.
const TRIED: f64 = 1.0;
/// Rounds in which levels are found without the rest, and the rest without the levels.
const ROUNDS: usize = 3;
/// Values farther from their level, in standard deviations, do not make a cycle.
const REACH: f64 = 3.0;
/// Cost of each figure of a cycle in Schwarz's criterion: as in Akaike's, because that there is a cycle was tested before.
const OF_A_CYCLE: f64 = 2.0;
/// A cycle must gain so much by this criterion.
const GAIN: f64 = 6.0;
/// A longer series is not tried as a smooth curve, which takes time for each value.
const MOST_SMOOTH: usize = 20_000;
/// Fewer steps may go one way by chance: one random staircase in 2^7 has as many.
const LEAST_STAIRS: usize = 8;
/// The shortest regular interval, in values: seven random intervals share a factor of 4 or more once in about 10,000.
const LEAST_INTERVAL: usize = 4;
/// Longest series tried as noise with a long memory, which takes time for each pair of values.
const MOST_LASTING: usize = 1_500;
/// Most steps of a series tried as such noise.
const MOST_WANDERING: usize = 100;
/// Shortest series tried as such noise: a shorter one shows no memory.
const LEAST_LASTING: usize = 40;
/// The chance that a stretch of random order keeps a change.
const ALPHA: f64 = 0.02;

/// A series divided into levels.
#[derive(Clone)]
pub(super) struct Explained {
    /// The series without cycles and trend.
    pub(super) values: Vec<f64>,
    /// The values with their outliers pulled in.
    pub(super) clean: Vec<f64>,
    pub(super) boundaries: Vec<usize>,
    /// One for each level.
    pub(super) levels: Vec<f64>,
    pub(super) noise: Noise,
    /// By how much the series rises with each index.
    pub(super) slope: f64,
    pub(super) seasons: Vec<Season>,
    /// The curve that was taken out instead of levels.
    pub(super) curve: Option<Smooth>,
    /// The order of integration of noise with a long memory, where it explains the values better than more levels.
    pub(super) memory: Option<f64>,
    /// Whether bursts were replaced before levels were looked for.
    without_bursts: bool,
}

/// Divides values that stand at the indices `at` into levels, having taken out what pays. Without `cycles`, whatever comes and goes is a
/// level, also a single burst.
pub(super) fn explain(values: &[f64], at: &[usize], cycles: bool) -> Explained {
    let mut best = Explained::levels_of(values.to_vec(), cycles);
    let mut known = Vec::new();
    while cycles && known.len() < MOST_CYCLES {
        let Some(period) = season::find(&best.values, at, &known) else { break };
        known.push(period);
        let before = best.clone();
        let days = (period / season::DAYS).max(1);
        let whole_days = (period % season::DAYS == 0 && known.contains(&days)).then_some(days);
        for together in [1].into_iter().chain(whole_days) {
            let with = before.clone().with_cycle(values, at, period, together);
            if with.criterion() + GAIN < best.criterion() {
                best = with;
            }
        }
    }
    for slope in best.slopes(at) {
        let with = best.clone().with_slope(values, at, slope);
        if with.criterion() < best.criterion() {
            best = with;
        }
    }
    if cycles {
        best = best.smoothed(values, at).unwrap_or(best);
        best = best.wandering().unwrap_or(best);
    }
    best.keep_what_is_in_order();
    best
}

impl Explained {
    fn levels_of(values: Vec<f64>, without_bursts: bool) -> Self {
        let n = values.len();
        let first_guess = Noise::from_differences(&values);
        let mut clean = without_outliers(&values, first_guess.sd);
        if without_bursts {
            noise::replace_bursts(&mut clean, first_guess.sd);
        }
        let penalty = PENALTY * (n as f64).ln();
        let largest = clean.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let spread =
            (first_guess.sd * first_guess.inflation().sqrt()).max(LEAST_NOISE * (n as f64).sqrt() * largest);
        let candidates = partition::levels(&clean, spread, penalty);
        let pruned = prune::prune(&clean, &candidates);
        let mut boundaries = pruned.boundaries;
        let levels = locate::relocate(&values, &mut boundaries, pruned.noise);
        let noise = pruned.noise;
        Self {
            values,
            clean,
            boundaries,
            levels,
            noise,
            slope: 0.0,
            seasons: Vec::new(),
            curve: None,
            memory: None,
            without_bursts,
        }
    }

    /// One level for all values.
    fn level(values: Vec<f64>) -> Self {
        let clean = without_outliers(&values, Noise::from_differences(&values).sd);
        let noise = prune::prune(&clean, &[]).noise;
        let levels = locate::relocate(&values, &mut [], noise);
        Self {
            values,
            clean,
            boundaries: Vec::new(),
            levels,
            noise,
            slope: 0.0,
            seasons: Vec::new(),
            curve: None,
            memory: None,
            without_bursts: true,
        }
    }

    /// The series as a smooth curve and cycles, if Schwarz's criterion prefers that to levels.
    fn smoothed(&self, values: &[f64], at: &[usize]) -> Option<Self> {
        if self.boundaries.is_empty() || values.len() > MOST_SMOOTH {
            return None;
        }
        let places = Places::of(at);
        let known = self.curved(values, at, &places, &self.seasons)?;
        let period = season::find(&known.values, at, &[]).filter(|_| self.seasons.is_empty());
        let repeated = period.and_then(|period| {
            let guess = Season::guess(&known.values, at, period, 1);
            self.curved(values, at, &places, &[guess])
        });
        let best =
            repeated.filter(|repeated| repeated.criterion() + GAIN < known.criterion()).unwrap_or(known);
        let criterion =
            if self.is_staircase(at) { best.criterion_of(best.innovation()) } else { best.criterion() };
        (criterion < self.criterion()).then_some(best)
    }

    /// Whether the steps are more orderly than chance makes them: all go one way, or all are whole numbers of one interval apart.
    /// So a slope looks, once it is cut into levels, or into levels and a cycle that repeats a piece of it.
    fn is_staircase(&self, at: &[usize]) -> bool {
        let steps = self.levels.windows(2).map(|pair| pair[1] - pair[0]);
        let one_way = steps.clone().all(|step| step > 0.0) || steps.clone().all(|step| step < 0.0);
        let interval = self.boundaries.windows(2).map(|pair| at[pair[1]] - at[pair[0]]).fold(0, gcd);
        self.boundaries.len() >= LEAST_STAIRS && (one_way || interval >= LEAST_INTERVAL)
    }

    /// The series as noise with a long memory around some of its levels, or around one, if Schwarz's criterion prefers that.
    fn wandering(&self) -> Option<Self> {
        let n = self.clean.len();
        let steps = self.boundaries.len();
        if !(1..=MOST_WANDERING).contains(&steps) || !(LEAST_LASTING..=MOST_LASTING).contains(&n) {
            return None;
        }
        let mut now = self.clone();
        let mut best: Option<(f64, Self)> = None;
        while !now.boundaries.is_empty() {
            for _ in 0..now.boundaries.len().div_ceil(8) {
                now.drop_smallest();
            }
            now.noise = prune::noise_around(&now.clean, &now.boundaries);
            now.levels = locate::relocate(&now.values, &mut now.boundaries, now.noise);
            let (order, of_noise) = best_order(&now.residuals())?;
            // In such noise a step pays twice: it must also stand out of the slow wandering.
            let criterion = of_noise + now.cost() + 2.0 * now.boundaries.len() as f64 * (n as f64).ln();
            if best.as_ref().is_none_or(|(least, _)| criterion < *least) {
                best = Some((criterion, Self { memory: Some(order), ..now.clone() }));
            }
        }
        best.filter(|(criterion, _)| *criterion < self.criterion()).map(|(_, best)| best)
    }

    /// Joins the two levels that differ least.
    fn drop_smallest(&mut self) {
        let size = |k: &usize| (self.levels[k + 1] - self.levels[*k]).abs();
        let Some(least) = (0..self.boundaries.len()).min_by(|a, b| size(a).total_cmp(&size(b))) else {
            return;
        };
        self.boundaries.remove(least);
        let ends: Vec<usize> = self.boundaries.iter().copied().chain([self.clean.len()]).collect();
        let mut from = 0;
        self.levels = ends
            .into_iter()
            .map(|to| {
                let level = mean(&self.clean[from..to]);
                from = to;
                level
            })
            .collect();
    }

    /// The values without outliers, less the mean of their level.
    fn residuals(&self) -> Vec<f64> {
        let ends = self.boundaries.iter().copied().chain([self.clean.len()]);
        let starts = std::iter::once(0).chain(self.boundaries.iter().copied());
        starts
            .zip(ends)
            .flat_map(|(from, to)| {
                let level = mean(&self.clean[from..to]);
                self.clean[from..to].iter().map(move |value| value - level)
            })
            .collect()
    }

    /// Fits a curve of each degree together with these cycles, and keeps the best degree.
    fn curved(&self, values: &[f64], at: &[usize], places: &Places, seasons: &[Season]) -> Option<Self> {
        let of = |degree: usize| {
            let mut seasons = seasons.to_vec();
            let mut curve = smooth(&without(values, at, &seasons), places, degree)?;
            for _ in 1..if seasons.is_empty() { 1 } else { ROUNDS } {
                for k in 0..seasons.len() {
                    let others: Vec<Season> =
                        seasons.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, s)| s.clone()).collect();
                    let left = less(&without(values, at, &others), &curve.values);
                    seasons[k] = seasons[k].refined(&left, at, REACH * self.noise.sd);
                }
                curve = smooth(&without(values, at, &seasons), places, degree)?;
            }
            let rest = less(&without(values, at, &seasons), &curve.values);
            Some(Self { seasons, curve: Some(curve), ..Self::level(rest) })
        };
        DEGREES.filter_map(of).min_by(|a, b| a.criterion().total_cmp(&b.criterion()))
    }

    /// Levels of the series with these seasons and this slope taken out.
    fn rest_of(&self, values: &[f64], at: &[usize], seasons: Vec<Season>, slope: f64) -> Self {
        let rest = |index: usize| slope * index as f64 + seasons.iter().map(|s| s.value(index)).sum::<f64>();
        let without = values.iter().zip(at).map(|(v, &index)| v - rest(index)).collect();
        Self { seasons, slope, ..Self::levels_of(without, self.without_bursts) }
    }

    fn level_at(&self, place: usize) -> f64 {
        self.levels[self.boundaries.partition_point(|b| *b <= place)]
    }

    fn with_cycle(self, values: &[f64], at: &[usize], period: usize, together: usize) -> Self {
        let first = Season::guess(&self.values, at, period, together);
        let mut seasons = self.seasons.clone();
        seasons.push(first);
        let mut now = self.rest_of(values, at, seasons, self.slope);
        for _ in 0..ROUNDS {
            for k in 0..now.seasons.len() {
                let left: Vec<f64> = (0..values.len())
                    .map(|i| now.values[i] + now.seasons[k].value(at[i]) - now.level_at(i))
                    .collect();
                let season = now.seasons[k].refined(&left, at, REACH * now.noise.sd);
                let mut seasons = now.seasons.clone();
                seasons[k] = season;
                now = now.rest_of(values, at, seasons, now.slope);
            }
        }
        now
    }

    /// Slopes that are worth a try: that of the levels, and that of the whole.
    fn slopes(&self, at: &[usize]) -> Vec<f64> {
        let Some((within, error)) = self.slope_within(at) else { return Vec::new() };
        if self.boundaries.is_empty() || within.abs() < TRIED * error {
            return Vec::new();
        }
        slope(&self.clean, at).map(|(whole, _)| whole).into_iter().chain([within]).collect()
    }

    /// The common slope of all levels, with its standard error.
    fn slope_within(&self, at: &[usize]) -> Option<(f64, f64)> {
        let ends = self.boundaries.iter().copied().chain([self.values.len()]);
        let (mut products, mut squares) = (0.0, 0.0);
        for (from, to) in std::iter::once(0).chain(self.boundaries.iter().copied()).zip(ends) {
            if let Some((slope, square)) = slope(&self.clean[from..to], &at[from..to]) {
                products += slope * square;
                squares += square;
            }
        }
        (squares > 0.0).then(|| (products / squares, self.noise.sd * self.noise.inflation() / squares.sqrt()))
    }

    fn with_slope(self, values: &[f64], at: &[usize], slope: f64) -> Self {
        let mut now = self.rest_of(values, at, self.seasons.clone(), slope);
        for _ in 0..ROUNDS {
            let Some((more, error)) = now.slope_within(at) else { break };
            let slope = now.slope + more;
            now = now.rest_of(values, at, now.seasons.clone(), slope);
            if more.abs() < error / 10.0 {
                break;
            }
        }
        now
    }

    /// Schwarz's criterion of the innovations.
    fn criterion(&self) -> f64 {
        self.criterion_of(self.noise.sd * (1.0 - self.noise.rho.powi(2)).sqrt())
    }

    fn criterion_of(&self, innovation: f64) -> f64 {
        2.0 * self.clean.len() as f64 * innovation.ln() + self.cost()
    }

    /// Standard deviation of the innovations around a single level, with whatever correlation the values have: [`Noise`] bounds it, and
    /// slow waves around a curve exceed that bound.
    fn innovation(&self) -> f64 {
        let middle = mean(&self.clean);
        let off: Vec<f64> = self.clean.iter().map(|value| value - middle).collect();
        let square: f64 = off.iter().map(|value| value * value).sum();
        let product: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = if square > 0.0 { product / square } else { 0.0 };
        let left: f64 = off.windows(2).map(|pair| (pair[1] - correlation * pair[0]).powi(2)).sum();
        (left / off.len().max(1) as f64).sqrt().max(f64::MIN_POSITIVE)
    }

    /// Cost of the parameters by that criterion.
    fn cost(&self) -> f64 {
        let n = self.clean.len() as f64;
        let levels = self.boundaries.len() as f64;
        let seasons: usize = self.seasons.iter().map(|s| s.parameters).sum();
        let curve = self.curve.as_ref().map_or(0, |curve| curve.degree);
        let parameters = 2.0 * levels + f64::from(u8::from(self.slope != 0.0)) + curve as f64;
        parameters * n.ln() + OF_A_CYCLE * seasons as f64
    }

    /// Drops the changes between which the order of the values is a random one, from the whole to its parts.
    fn keep_what_is_in_order(&mut self) {
        if self.boundaries.is_empty() {
            return;
        }
        let mut kept = Vec::new();
        let mut stretches = vec![(0, self.values.len())];
        while let Some((from, to)) = stretches.pop() {
            let first = self.boundaries.partition_point(|b| *b <= from);
            let end = self.boundaries.partition_point(|b| *b < to);
            let size = |k: usize| (self.levels[k + 1] - self.levels[k]).abs();
            let Some(k) = (first..end).max_by(|a, b| size(*a).total_cmp(&size(*b))) else { continue };
            let at = self.boundaries[k];
            if exchange::in_order(&self.values[from..to], ALPHA) {
                kept.push(at);
                stretches.extend([(from, at), (at, to)]);
            }
        }
        if kept.len() < self.boundaries.len() {
            kept.sort_unstable();
            self.boundaries = kept;
            self.levels = locate::relocate(&self.values, &mut self.boundaries, self.noise);
        }
    }
}

/// Values without these cycles.
fn without(values: &[f64], at: &[usize], seasons: &[Season]) -> Vec<f64> {
    let rest = |index: usize| seasons.iter().map(|season| season.value(index)).sum::<f64>();
    values.iter().zip(at).map(|(value, index)| value - rest(*index)).collect()
}

fn less(values: &[f64], others: &[f64]) -> Vec<f64> {
    values.iter().zip(others).map(|(value, other)| value - other).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The slope of values over their indices, with the sum of squares that it rests on; `None` if there is but one.
fn slope(values: &[f64], at: &[usize]) -> Option<(f64, f64)> {
    let origin = *at.first()?;
    let places: Vec<f64> = at.iter().map(|index| (index - origin) as f64).collect();
    let (middle, level) = (mean(&places), mean(values));
    let (mut products, mut squares) = (0.0, 0.0);
    for (place, value) in places.iter().zip(values) {
        products += (place - middle) * (value - level);
        squares += (place - middle).powi(2);
    }
    (squares > 0.0).then(|| (products / squares, squares))
}
