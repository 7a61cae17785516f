//! A machine's weeks: what changed of late beside the cycles of days and weeks, and when a limit is reached.
//!
//! Every few hours, the hours of the last weeks are divided into levels (see [`crate::changes`]), without what the hours of a week differ by. A
//! change is news when it began within the last days, has lasted for some hours, and stands out by many standard errors: looking that often, at
//! dozens of series, what is told must seldom be wrong. Where the level goes on moving after a change, it is a drift; from then on only what the drift does
//! not explain is news.

mod forecast;
mod ramp;

use plimsoll_model::weeks::{Drift, News};
use serde::{Deserialize, Serialize};

use crate::changes::{self, Change, Changes};
use crate::input::JudgeError;
use crate::stats::{mean, median};

pub use forecast::reached;
use ramp::Ramp;

/// So many hours are looked at: six weeks.
pub const LOOKED_AT: usize = 6 * 7 * DAY;
/// With fewer hours nothing is told: the cycle of weeks is known after three.
pub const LEAST: usize = 3 * 7 * DAY;
/// Hours of a day.
pub const DAY: usize = 24;
/// Hours of a week.
const WEEK: usize = 7 * DAY;
/// A change is news for so many hours.
const NEWS: usize = 3 * DAY;
/// It must have lasted for so many.
const LASTED: usize = 6;
/// It must stand out by so many standard errors of its size.
const SURE: f64 = 8.0;
/// What was told once is not told again within so many hours of it.
const SAME: u64 = 36;
/// A drift is tried once a change has lasted for so many hours.
const DRIFTS_AFTER: usize = 60;
/// A drift has ended when the level moves by less than this share of it.
const ENDED: f64 = 0.2;
/// From the median deviation to the standard deviation of a normal distribution.
const MAD: f64 = 1.4826;
/// So many neighbouring hours tell about as much as one that stands alone.
const ALIKE: f64 = 8.0;
/// An hour is compared with those of the other weeks alone where there are so many.
const OTHERS: usize = 3;
/// A level that has less than this share left is no measure of its cycles any more.
const LEAST_LEFT: f64 = 0.05;
/// A drift must explain so many times the variance that a level leaves.
const EXPLAINS: f64 = 2.0;

/// What is remembered of a series from hour to hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// The hours of changes that were told, the newest last.
    told: Vec<u64>,
    /// What is taken for granted: each drift goes on until the next; one that ended is followed by one of 0.
    drifts: Vec<Drift>,
    /// The level from which the first of them went; 0 where there is none.
    #[serde(default)]
    level: f64,
}

impl Remembered {
    /// The drift that is going on.
    #[must_use]
    pub fn drift(&self) -> Option<Drift> {
        self.drifts.last().copied().filter(|drift| drift.per_hour != 0.0)
    }

    /// Looks at the mean of each of the last hours, of which the first is `first_hour` (hours since 1970, UTC); nothing stands where nothing was
    /// measured.
    ///
    /// # Errors
    /// [`JudgeError::NotFinite`].
    pub fn look(&mut self, hours: &[Option<f64>], first_hour: u64) -> Result<Vec<News>, JudgeError> {
        let skipped = hours.len().saturating_sub(LOOKED_AT);
        let (hours, first_hour) = (&hours[skipped..], first_hour + skipped as u64);
        if hours.len() < LEAST || hours.iter().flatten().count() < LEAST / 2 {
            return Ok(Vec::new());
        }
        self.told.retain(|told| told + LOOKED_AT as u64 >= first_hour);
        let moved = self.without_drift(hours, first_hour);
        let Divided { flat, found, slope } = divided(&moved, first_hour)?;
        let late = flat.len().saturating_sub(NEWS);
        let mut news = Vec::new();
        for change in found.changes.iter().filter(|change| change.index >= late) {
            let hour = first_hour + change.index as u64;
            let lasted = flat[change.index..].iter().flatten().count();
            if self.is_told(hour) {
                if lasted >= DRIFTS_AFTER {
                    news.extend(self.drifts(&flat, change.index, slope, first_hour).map(News::Drift));
                }
            } else if lasted >= LASTED && is_sure(change) {
                self.told.push(hour);
                // What was taken out for a drift or a trend belongs to both levels.
                let drift = hours[change.index].zip(moved[change.index]).map_or(0.0, |(was, now)| was - now);
                let drifted = drift + trend(slope, change.index, flat.len());
                let (before, after) = (change.before + drifted, change.after + drifted);
                let interval = change.interval;
                news.push(News::Change { hour, before, after, low: interval.lo(), high: interval.hi() });
            }
        }
        if news.is_empty() && self.drift().is_none() {
            news.extend(self.begins(&flat, &found, slope, first_hour));
        }
        Ok(news)
    }

    /// A level that has begun to move, where that was not told.
    fn begins(&mut self, flat: &[Option<f64>], found: &Changes, slope: f64, first_hour: u64) -> Option<News> {
        let Ramp { index, before, size, low, high } = ramp::begun(flat, found)?;
        let hour = first_hour + index as u64;
        if self.is_told(hour) {
            return None;
        }
        self.told.push(hour);
        let before = before + trend(slope, index, flat.len());
        Some(News::Change { hour, before, after: before + size, low, high })
    }

    /// Whether a change in this hour was told, or is part of a drift that was.
    fn is_told(&self, hour: u64) -> bool {
        self.told.iter().any(|told| told.abs_diff(hour) <= SAME)
    }

    /// The hours as they would be without the drift that is known.
    fn without_drift(&self, hours: &[Option<f64>], first_hour: u64) -> Vec<Option<f64>> {
        let ends = self.drifts.iter().skip(1).map(|drift| drift.since_hour).chain([u64::MAX]);
        let drifts: Vec<(Drift, u64)> = self.drifts.iter().copied().zip(ends).collect();
        let moved = |n: usize| {
            let hour = first_hour + n as u64;
            let of = |(drift, end): &(Drift, u64)| {
                drift.per_hour * hour.min(*end).saturating_sub(drift.since_hour) as f64
            };
            drifts.iter().map(of).sum::<f64>()
        };
        let level = self.level;
        // Cycles shrink and grow with the level.
        let factors = level > 0.0
            && hours.iter().flatten().all(|value| *value > 0.0)
            && (0..hours.len()).all(|n| level + moved(n) > LEAST_LEFT * level);
        let still = |n: usize, value: f64| {
            if factors { value * level / (level + moved(n)) } else { value - moved(n) }
        };
        hours.iter().enumerate().map(|(n, value)| value.map(|value| still(n, value))).collect()
    }

    /// The drift since a change, where a moving level explains what was measured since much better than one that stands; nothing where it is the
    /// one that is known, or where a drift has ended.
    fn drifts(&mut self, flat: &[Option<f64>], index: usize, trend: f64, first_hour: u64) -> Option<Drift> {
        let since: Vec<(f64, f64)> =
            (index..flat.len()).filter_map(|at| Some((at as f64, flat[at]?))).collect();
        let slope = slope(&since)?;
        let left = |slope: f64| {
            let values: Vec<f64> = since.iter().map(|(at, value)| value - slope * at).collect();
            let middle = median(&values);
            values.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
        };
        if left(0.0) < EXPLAINS * left(slope) {
            return None;
        }
        let known = self.drift().map_or(0.0, |drift| drift.per_hour);
        let per_hour = slope + trend + known;
        let ended = per_hour.abs() < ENDED * known.abs();
        let since_hour = first_hour + index as u64;
        if self.drifts.is_empty() {
            let before: Vec<f64> =
                flat[index.saturating_sub(WEEK)..index].iter().flatten().copied().collect();
            self.level = if before.is_empty() { 0.0 } else { median(&before) };
        }
        self.drifts.retain(|drift| drift.since_hour < since_hour);
        self.drifts.push(Drift { since_hour, per_hour: if ended { 0.0 } else { per_hour } });
        self.drift()
    }
}

/// Hours divided into levels.
struct Divided {
    /// The hours without the cycles of days and weeks, and without the trend.
    flat: Vec<Option<f64>>,
    found: Changes,
    /// By how much they rise with each hour, all the time.
    slope: f64,
}

/// Takes the cycles of days and weeks out, and finds the changes between the levels that are left. Cycles are what an hour of the week differs by
/// from the level around it, in the median over the weeks: a machine has them whatever a criterion of few parameters says.
fn divided(hours: &[Option<f64>], first_hour: u64) -> Result<Divided, JudgeError> {
    let slope = trend_of(hours);
    let n = hours.len();
    let still: Vec<Option<f64>> =
        hours.iter().enumerate().map(|(i, value)| value.map(|value| value - trend(slope, i, n))).collect();
    let all: Vec<f64> = still.iter().flatten().copied().collect();
    let level = if all.is_empty() { 0.0 } else { median(&all) };
    let first = without_cycles(&still, &vec![level; n], first_hour);
    // Levels that are known spoil the cycles no more.
    let found = changes::find_levels_with_gaps(&first)?;
    let mut levels = vec![found.changes.first().map_or(level, |change| change.before); n];
    for change in &found.changes {
        levels[change.index..].fill(change.after);
    }
    let flat = without_cycles(&still, &levels, first_hour);
    let found = changes::find_levels_with_gaps(&flat)?;
    Ok(Divided { flat, found, slope })
}

/// What a trend adds to one of so many hours; nothing to the last.
fn trend(slope: f64, hour: usize, count: usize) -> f64 {
    slope * (hour as f64 - (count - 1) as f64)
}

/// By how much hours rise all the time, from the same hours of neighbouring weeks, which no cycle sets apart; 0 where that may be chance.
fn trend_of(hours: &[Option<f64>]) -> f64 {
    let pairs = hours.iter().zip(hours.iter().skip(WEEK));
    let slopes: Vec<f64> =
        pairs.filter_map(|(before, after)| Some(((*after)? - (*before)?) / WEEK as f64)).collect();
    if slopes.len() < WEEK {
        return 0.0;
    }
    let slope = median(&slopes);
    let scatter = median(&slopes.iter().map(|one| (one - slope).abs()).collect::<Vec<_>>()) * MAD;
    // Neighbours tell nearly the same.
    let error = scatter / (slopes.len() as f64 / ALIKE).sqrt();
    if slope.abs() > SURE * error { slope } else { 0.0 }
}

/// A load that grows has larger cycles, so that they are factors where all is above nothing; elsewhere they add up.
fn without_cycles(hours: &[Option<f64>], levels: &[f64], first_hour: u64) -> Vec<Option<f64>> {
    let of_week = |n: usize| ((first_hour + n as u64) % WEEK as u64) as usize;
    let factors = hours.iter().flatten().chain(levels).all(|value| *value > 0.0);
    let mut around: Vec<Vec<(usize, f64)>> = vec![Vec::new(); WEEK];
    for (n, value) in hours.iter().enumerate().filter_map(|(n, value)| Some((n, (*value)?))) {
        around[of_week(n)].push((n, if factors { value / levels[n] } else { value - levels[n] }));
    }
    let nothing = if factors { 1.0 } else { 0.0 };
    let middle = |these: &[(usize, f64)], without: Option<usize>| {
        let values: Vec<f64> =
            these.iter().filter(|(n, _)| Some(*n) != without).map(|(_, value)| *value).collect();
        if values.is_empty() { nothing } else { median(&values) }
    };
    let level = mean(&around.iter().map(|these| middle(these, None)).collect::<Vec<_>>());
    let flat = |n: usize, value: f64| {
        let these = &around[of_week(n)];
        // An hour that is itself in the middle of its weeks would seem to follow them exactly.
        let hour = middle(these, (these.len() > OTHERS).then_some(n));
        if factors { value / (hour / level) } else { value - (hour - level) }
    };
    hours.iter().enumerate().map(|(n, value)| value.map(|value| flat(n, value))).collect()
}

/// The median of each of the last days without cycles, for a forecast. Days of which less than half was measured are left out.
///
/// # Errors
/// [`JudgeError::Empty`] where nothing was measured, or [`JudgeError::NotFinite`].
pub fn days(hours: &[Option<f64>], first_hour: u64) -> Result<Vec<f64>, JudgeError> {
    let skipped = hours.len().saturating_sub(LOOKED_AT);
    let Divided { flat, slope, .. } = divided(&hours[skipped..], first_hour + skipped as u64)?;
    let n = flat.len();
    let whole: Vec<Option<f64>> =
        flat.iter().enumerate().map(|(i, value)| value.map(|value| value + trend(slope, i, n))).collect();
    let days = whole.rchunks(DAY).rev().map(|day| day.iter().flatten().copied().collect::<Vec<f64>>());
    Ok(days.filter(|day| day.len() >= DAY / 2).map(|day| median(&day)).collect())
}

fn is_sure(change: &Change) -> bool {
    // The interval reaches about two standard errors to each side.
    let error = (change.interval.hi() - change.interval.lo()) / 4.0;
    change.size().abs() > SURE * error
}

/// The median of the slopes between points that lie half of all apart.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let half = points.len() / 2;
    let pairs = points.iter().zip(&points[half..]);
    let slopes: Vec<f64> = pairs.map(|((x, y), (to, value))| (value - y) / (to - x)).collect();
    (half > 0).then(|| median(&slopes))
}

#[cfg(test)]
mod tests;
