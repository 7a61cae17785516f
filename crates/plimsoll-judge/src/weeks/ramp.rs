//! A level that began to move of late: a slow leak is reported before its hours have parted into levels.
//!
//! What could not be foreseen of each hour from the one before is compared with what a level would leave that moves
//! evenly since some hour, and with one that rose at once, by the generalised likelihood ratio (Basseville and
//! Nikiforov 1993, *Detection of abrupt changes*, 2.4 and 7.2). Hours of something else count for little (Huber 1964).
//! Real levels wander farther than neighbouring hours let expect, so that the same is asked of the weeks before, in
//! which nothing changed: a report must stand out of that as well.

use std::ops::Range;

use super::{MAD, NEWS, WEEK, is_sure};
use crate::changes::Changes;
use crate::stats::median;

/// The hours for which a level must have moved.
const LASTED: usize = 12;
/// The standard errors by which the movement must stand out ..
const SURE: f64 = 5.7;
/// .. and by how many times what the weeks before show, in which nothing changed.
const BEYOND: f64 = 1.4;
/// The hours of a week that must have been measured.
const LEAST: usize = WEEK / 2;
/// Largest contribution of an hour to the evidence, in standard deviations.
const MOST: f64 = 3.0;

/// How well a ramp must explain the hours beside a level that rose at once, as a share of its standard errors. Early on
/// a leak looks like both.
const AS_WELL: f64 = 0.9;
/// Fewer hours know the cycles too badly.
const KNOWN: usize = 5 * WEEK;
/// The step between hours of the weeks before that are examined.
const EVERY: usize = 6;
/// The variance of a median of normal values, in those of their mean: π/2.
const MEDIAN: f64 = std::f64::consts::FRAC_PI_2;
/// Neighbours are taken to be no more alike.
const MOST_ALIKE: f64 = 0.9;
/// How far the 95 % of a normal distribution reach, in standard deviations.
const REACHES: f64 = 1.96;

/// A level that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ramp {
    /// The last hour before it moved.
    pub(super) index: usize,
    /// The level before.
    pub(super) before: f64,
    /// How far it has come, and the ends of the interval of that at 95 %.
    pub(super) size: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A level that has begun to move in the last days, and moves evenly rather than that it rose at once.
pub(super) fn begun(flat: &[Option<f64>], found: &Changes) -> Option<Ramp> {
    let n = flat.len();
    let late = n.checked_sub(NEWS).filter(|_| n >= KNOWN)?;
    let unforeseen = Unforeseen::of(flat, late)?;
    // A level is known after a week alone: what a weekend differs by may have changed with it.
    let known = late.checked_sub(WEEK)?;
    let changed = |hours: Range<usize>| {
        found.changes.iter().any(|change| is_sure(change) && hours.contains(&change.index))
    };
    let seen = unforeseen.best(known..n).filter(|_| !changed(known..late))?;
    if seen.ramp.sure.abs() < SURE || seen.ramp.sure.abs() < AS_WELL * seen.step.abs() {
        return None;
    }
    let usual = (WEEK + NEWS..=late).step_by(EVERY).filter_map(|end| {
        let from = end - NEWS - WEEK;
        unforeseen.best(from..end).filter(|_| !changed(from..end + NEWS))
    });
    let usual = usual.map(|seen| seen.ramp.sure.abs()).fold(0.0, f64::max);
    let Evidence { index, sure, per_hour } = seen.ramp;
    let hours = (n - 1 - index) as f64;
    let error = per_hour / sure;
    let [size, low, high] = [0.0, -REACHES, REACHES].map(|side| (per_hour + side * error.abs()) * hours);
    (sure.abs() > BEYOND * usual).then_some(Ramp { index, before: seen.level, size, low, high })
}

/// Hours as they follow from one another.
struct Unforeseen<'h> {
    hours: &'h [Option<f64>],
    /// How much neighbouring hours are alike.
    rho: f64,
    /// The standard deviation of an hour's surprise, given the hour before.
    sd: f64,
}

/// Evidence of a stretch of hours.
struct Best {
    level: f64,
    ramp: Evidence,
    /// By how many standard errors a level stands out that rose at once.
    step: f64,
}

#[derive(Clone, Copy)]
struct Evidence {
    index: usize,
    sure: f64,
    per_hour: f64,
}

impl<'h> Unforeseen<'h> {
    /// The noise is that of the hours before those that are looked at.
    fn of(hours: &'h [Option<f64>], late: usize) -> Option<Self> {
        let known: Vec<f64> = hours[..late].iter().flatten().copied().collect();
        if known.len() < LEAST {
            return None;
        }
        let level = median(&known);
        let rho = alike(&hours[..late], level);
        let left: Vec<f64> =
            (1..late).filter_map(|hour| unforeseen(hours, hour, level, rho)).map(f64::abs).collect();
        let sd = MAD * median(&left);
        (sd > 0.0).then_some(Self { hours, rho, sd })
    }

    /// The best moving level and the best step in the last days of a stretch; the level is that of the hours of the stretch before.
    fn best(&self, stretch: Range<usize>) -> Option<Best> {
        let late = stretch.end - NEWS;
        let before: Vec<f64> = self.hours[stretch.start..late].iter().flatten().copied().collect();
        if before.len() < LEAST {
            return None;
        }
        let level = median(&before);
        let left: Vec<Option<f64>> = (late..stretch.end)
            .map(|hour| unforeseen(self.hours, hour, level, self.rho))
            .map(|left| left.map(|left| (left / self.sd).clamp(-MOST, MOST)))
            .collect();
        let rho = self.rho;
        // The level before is a median, and known no better than its hours allow.
        let of_level = MEDIAN / before.len() as f64;
        let (mut ramp, mut step) = (Evidence { index: late, sure: 0.0, per_hour: 0.0 }, 0.0_f64);
        for from in 0..NEWS - LASTED {
            // Surprise of an hour, of a level that moves by 1 an hour, or that rose by 1.
            let (mut moved, mut moves, mut sum, mut rose, mut rises, mut steps) =
                (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
            for (n, left) in left[from..].iter().enumerate() {
                let Some(left) = left else { continue };
                let n = n as f64;
                let (of_ramp, of_step) = if n == 0.0 { (0.0, 1.0) } else { (n - rho * (n - 1.0), 1.0 - rho) };
                moved += of_ramp * left;
                moves += of_ramp * of_ramp;
                sum += of_ramp;
                rose += of_step * left;
                rises += of_step * of_step;
                steps += of_step;
            }
            let (moving, rising) =
                ((moves + of_level * sum * sum).sqrt(), (rises + of_level * steps * steps).sqrt());
            if moves > 0.0 && (moved / moving).abs() > ramp.sure.abs() {
                ramp =
                    Evidence { index: late + from, sure: moved / moving, per_hour: self.sd * moved / moves };
            }
            if rises > 0.0 && (rose / rising).abs() > step.abs() {
                step = rose / rising;
            }
        }
        Some(Best { level, ramp, step })
    }
}

/// The correlation of neighbouring hours around a level, 0 or more; what stands far off counts no more than what stands three deviations off.
fn alike(hours: &[Option<f64>], level: f64) -> f64 {
    let off: Vec<Option<f64>> = hours.iter().map(|hour| hour.map(|hour| hour - level)).collect();
    let most = 3.0 * MAD * median(&off.iter().flatten().map(|off| off.abs()).collect::<Vec<_>>());
    let pulled = |off: f64| off.clamp(-most, most);
    let pairs = off.windows(2).filter_map(|pair| Some((pulled(pair[0]?), pulled(pair[1]?))));
    let (together, alone) = pairs.fold((0.0, 0.0), |(together, alone), (a, b)| {
        (together + a * b, alone + f64::midpoint(a * a, b * b))
    });
    if alone > 0.0 { (together / alone).clamp(0.0, MOST_ALIKE) } else { 0.0 }
}

/// Surprise of an hour, given the one before; `None` if one of them was not measured.
fn unforeseen(hours: &[Option<f64>], hour: usize, level: f64, rho: f64) -> Option<f64> {
    Some(hours[hour]? - level - rho * (hours[hour - 1]? - level))
}
