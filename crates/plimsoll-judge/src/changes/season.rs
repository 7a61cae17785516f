//! Cycles of a series, such as the hours of a day and the days of a week: found, estimated, and taken out.
//!
//! A cycle shows in the Fourier coefficients of stretches as long as it is: they agree from stretch to stretch, by more than their scatter
//! explains (the harmonic F test over segments; Thomson 1982, *Spectrum estimation and harmonic analysis*). Each stretch has its own line
//! taken out, so that trends and levels count for nothing, and a step spoils but one stretch. What is taken out is the mean of each phase around
//! the levels, of long cycles only the harmonics that stand out, as the seasonal part of a decomposition is (Cleveland et al. 1990, *STL*).

use crate::stats::{mean, median_in_place};
use std::borrow::Cow;
use std::f64::consts::TAU;
use std::sync::OnceLock;

/// Cycles that calendars bring: days of a working week and of a week, months of a year, hours of a day, half hours, weeks, quarters of an hour,
/// hours of a week, five minutes of a day, and so on.
const USUAL: [usize; 17] = [5, 7, 12, 24, 28, 30, 48, 52, 60, 96, 144, 168, 288, 336, 672, 1_008, 1_440];
/// Other cycles that are looked for.
const OTHERS: std::ops::RangeInclusive<usize> = 3..=60;
/// The fewest periods that a cycle must span.
const LEAST_SEEN: usize = 3;
/// The chance at which a usual cycle is believed, for each harmonic that is tried.
const USUAL_CHANCE: f64 = 1e-3;
/// A series with days may have weeks.
pub(super) const DAYS: usize = 7;
/// Lengths of a day: of hours, half hours, quarters of an hour, ten and five minutes. A cycle of another length, such as the days of a
/// week, has no weeks of its own: seven times its length follows growth instead of repeating itself.
const DAY_LENGTHS: [usize; 5] = [24, 48, 96, 144, 288];
/// The chance at which any other cycle is believed, for each harmonic that is tried.
const OTHER_CHANCE: f64 = 1e-6;
/// The number of harmonics of a cycle that are examined.
const HARMONICS: usize = 6;
/// No more values are looked at to find a cycle.
const ENOUGH: usize = 16_384;
/// Up to this length a cycle keeps all of its phases.
const SHORT: usize = 12;
/// A harmonic of a longer cycle is kept if its power is this many times that of noise.
const STANDS_OUT: f64 = 4.0;

/// The cycle that shows best in values that stand at these indices, as its number of indices. The weeks of a known day are tried first.
pub(super) fn find(values: &[f64], at: &[usize], known: &[usize]) -> Option<usize> {
    let grid = filled(values, at);
    let others = OTHERS.filter(|p| !USUAL.contains(p)).map(|p| (p, OTHER_CHANCE));
    let untried = |period: usize| period * LEAST_SEEN <= grid.len() && !known.contains(&period);
    let mut weeks = known.iter().filter(|day| DAY_LENGTHS.contains(day)).map(|day| DAYS * day);
    if let Some(week) = weeks.find(|week| untried(*week)) {
        return Some(week);
    }
    let periods = USUAL.into_iter().map(|p| (p, USUAL_CHANCE)).chain(others);
    let seen = periods.filter(|(period, _)| untried(*period));
    let chances = seen.filter_map(|(period, least)| {
        let chance = chance(&grid, period) / least;
        (chance < 1.0).then_some((chance, period))
    });
    chances.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, period)| period)
}

/// The values at every index, those between known ones on a line.
fn filled(values: &[f64], at: &[usize]) -> Vec<f64> {
    let mut grid = Vec::with_capacity(values.len());
    for (value, index) in values.iter().zip(at) {
        let offset = index - at[0];
        if let Some(&before) = grid.last() {
            let from = grid.len();
            let gap = (offset - from + 1) as f64;
            grid.extend((from..offset).map(|i| before + (value - before) * (i - from + 1) as f64 / gap));
        }
        grid.push(*value);
        if grid.len() >= ENOUGH {
            break;
        }
    }
    grid
}

/// The chance that stretches of this length agree so well in one of their harmonics, times the number of harmonics.
fn chance(grid: &[f64], period: usize) -> f64 {
    let harmonics = (period / 2).min(HARMONICS);
    let phases = phases(period);
    let mut sums = vec![[0.0; 3]; harmonics];
    let stretches = grid.chunks_exact(period);
    let count = stretches.len() as f64;
    let mut flat = vec![0.0; period];
    for stretch in stretches {
        without_line(stretch, &mut flat);
        let mut of_stretch = [[0.0; 2]; HARMONICS];
        for (value, waves) in flat.iter().zip(phases.iter()) {
            for (sum, wave) in of_stretch.as_flattened_mut().iter_mut().zip(waves.as_flattened()) {
                *sum += value * wave;
            }
        }
        for ([sine, cosine, squares], [s, c]) in sums.iter_mut().zip(of_stretch) {
            *sine += s;
            *cosine += c;
            *squares += s * s + c * c;
        }
    }
    let freedom = count - 1.0;
    let of = |[sine, cosine, squares]: [f64; 3]| {
        let common = (sine * sine + cosine * cosine) / count;
        let scatter = squares - common;
        if common <= 0.0 {
            return 1.0;
        }
        // F of 2 and 2 (count - 1) degrees of freedom has this tail.
        (1.0 + common / scatter.max(f64::MIN_POSITIVE)).powf(-freedom)
    };
    let chances: Vec<f64> = sums.into_iter().map(of).collect();
    let best = harmonics as f64 * chances.iter().copied().fold(1.0, f64::min);
    2.0 * best.min(together(&chances))
}

/// Sine and cosine at each phase of a period.
fn waves(period: usize) -> Vec<[f64; 2]> {
    (0..period).map(|i| (TAU * i as f64 / period as f64).sin_cos().into()).collect()
}

/// Sine and cosine of all harmonics at a phase, side by side, so that they are summed together.
type Phase = [[f64; 2]; HARMONICS];

/// The phases of a period. Those of short ones are kept: each series tries them all.
fn phases(period: usize) -> Cow<'static, [Phase]> {
    static KEPT: [OnceLock<Vec<Phase>>; *OTHERS.end() + 1] = [const { OnceLock::new() }; *OTHERS.end() + 1];
    let make = || {
        let waves = waves(period);
        (0..period).map(|i| std::array::from_fn(|k| waves[i * (k + 1) % period])).collect()
    };
    match KEPT.get(period) {
        Some(kept) => Cow::Borrowed(kept.get_or_init(make)),
        None => Cow::Owned(make()),
    }
}

/// The chance of independent chances as small as these, by the sum of their logarithms (Fisher 1932).
fn together(chances: &[f64]) -> f64 {
    let sum = -chances.iter().map(|chance| chance.max(f64::MIN_POSITIVE).ln()).sum::<f64>();
    // The tail of the gamma distribution of that shape.
    let terms = (1..chances.len()).scan(1.0, |term, k| {
        *term *= sum / k as f64;
        Some(*term)
    });
    (-sum).exp() * (1.0 + terms.sum::<f64>())
}

fn without_line(stretch: &[f64], flat: &mut [f64]) {
    let middle = (stretch.len() - 1) as f64 / 2.0;
    let level = mean(stretch);
    let (mut slope, mut squares) = (0.0, 0.0);
    for (i, value) in stretch.iter().enumerate() {
        let t = i as f64 - middle;
        slope += t * (value - level);
        squares += t * t;
    }
    slope /= squares;
    for (i, (out, value)) in flat.iter_mut().zip(stretch).enumerate() {
        *out = value - level - slope * (i as f64 - middle);
    }
}

/// One cycle: what it adds at each of its phases, 0 on average.
#[derive(Clone, Debug)]
pub(super) struct Season {
    profile: Vec<f64>,
    /// Number of consecutive indices with the same offset: a day, if only whole days of a week differ; else 1.
    together: usize,
    /// How many figures describe it.
    pub(super) parameters: usize,
}

impl Season {
    pub(super) fn period(&self) -> usize {
        self.profile.len()
    }

    pub(super) fn value(&self, index: usize) -> f64 {
        self.profile[index % self.profile.len()]
    }

    /// A first guess, by the medians over all cycles of what each adds to its own middle.
    pub(super) fn guess(values: &[f64], at: &[usize], period: usize, together: usize) -> Self {
        let mut around = Vec::with_capacity(values.len());
        let mut from = 0;
        while from < values.len() {
            let cycle = at[from] / period;
            let to = from + at[from..].partition_point(|index| index / period == cycle);
            let middle = mean(&values[from..to]);
            around.extend(values[from..to].iter().map(|v| v - middle));
            from = to;
        }
        let mut phases = vec![Vec::new(); period];
        for (value, index) in around.iter().zip(at) {
            phases[index % period].push(*value);
        }
        let middle = |phase: &mut Vec<f64>| if phase.is_empty() { 0.0 } else { median_in_place(phase) };
        Self::centred(phases.iter_mut().map(middle).collect(), together)
    }

    /// The cycle refitted from the means of each phase. The input is the rest after levels, trend and other cycles,
    /// pulled in to `reach`.
    pub(super) fn refined(&self, left: &[f64], at: &[usize], reach: f64) -> Self {
        let period = self.period();
        let mut sums = vec![(0.0, 0.0); period];
        for (value, index) in left.iter().zip(at) {
            let phase = &mut sums[index % period];
            phase.0 += value;
            phase.1 += 1.0;
        }
        let means: Vec<f64> =
            sums.iter().map(|(sum, count)| if *count > 0.0 { sum / count } else { 0.0 }).collect();
        // Once more, with what is far from its phase pulled in.
        let mut pulled = vec![0.0; period];
        for (value, index) in left.iter().zip(at) {
            let phase = index % period;
            pulled[phase] += (value - means[phase]).clamp(-reach, reach);
        }
        let profile = means.iter().zip(&pulled).zip(&sums).map(|((m, p), s)| m + p / s.1.max(1.0)).collect();
        let season = Self::centred(profile, self.together);
        if period <= SHORT || self.together > 1 {
            season
        } else {
            season.with_what_stands_out(left.len() as f64, reach)
        }
    }

    fn centred(mut profile: Vec<f64>, together: usize) -> Self {
        let middle = mean(&profile);
        for block in profile.chunks_mut(together) {
            let value = mean(block) - middle;
            block.fill(value);
        }
        let parameters = profile.len() / together - 1;
        Self { profile, together, parameters }
    }

    /// Only the harmonics whose power stands out of noise, `reach` being three of its standard deviations.
    fn with_what_stands_out(self, values: f64, reach: f64) -> Self {
        let period = self.profile.len();
        let noise = (reach / 3.0).powi(2);
        let mut profile = vec![0.0; period];
        let mut parameters = 0;
        let waves = waves(period);
        for k in 1..=period / 2 {
            let wave = |i: usize| waves[k * i % period];
            let (mut s, mut c) = (0.0, 0.0);
            for (i, value) in self.profile.iter().enumerate() {
                s += value * wave(i)[0];
                c += value * wave(i)[1];
            }
            let share = if 2 * k == period { 1.0 } else { 2.0 } / period as f64;
            if (s * s + c * c) * share / period as f64 * values > 2.0 * STANDS_OUT * noise {
                parameters += 2;
                for (i, out) in profile.iter_mut().enumerate() {
                    *out += share * (s * wave(i)[0] + c * wave(i)[1]);
                }
            }
        }
        Self { profile, parameters, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    #[test]
    fn a_week_is_found_beside_a_step_and_none_in_noise_that_lasts() {
        let mut rng = SmallRng::new(4);
        let at: Vec<usize> = (0..140).collect();
        let week = [2.0, 1.0, 0.0, 0.0, 1.0, -2.0, -2.0];
        let values: Vec<f64> =
            at.iter().map(|&i| week[i % 7] + if i > 80 { 9.0 } else { 0.0 } + rng.normal()).collect();
        assert_eq!(find(&values, &at, &[]), Some(7));
        let mut state = 0.0;
        let called = (0..200).filter(|_| {
            let lasting: Vec<f64> = (0..140)
                .map(|i| {
                    state = 0.6 * state + rng.normal();
                    state + f64::from(i) / 20.0
                })
                .collect();
            find(&lasting, &at, &[]).is_some()
        });
        let called = called.count();
        assert!(called <= 16, "{called} of 200");
    }

    #[test]
    fn a_long_cycle_keeps_its_own_harmonics_only() {
        let mut rng = SmallRng::new(4);
        let at: Vec<usize> = (0..168 * 4).collect();
        let wave = |i: usize| 3.0 * (TAU * i as f64 / 168.0).sin();
        let values: Vec<f64> = at.iter().map(|&i| wave(i) + rng.normal()).collect();
        let season = Season::guess(&values, &at, 168, 1).refined(&values, &at, 3.0);
        assert!(season.parameters <= 12, "{}", season.parameters);
        assert!((0..168).all(|i| (season.value(i) - wave(i)).abs() < 0.6));
    }
}
