//! A machine's weeks: what changed of late beside the cycles of days and weeks, and when a limit is reached.
//!
//! Every few hours, the hours of the last weeks are divided into levels (see [`crate::changes`]), without what the
//! hours of a week differ by. A change is news when it began within the last days, has lasted for some hours, stands
//! out by many standard errors, leads to another level than the one before it that had lasted, and is no day that goes
//! like another of the week: with so frequent looks, at dozens of series, news must seldom be wrong. Where the level
//! goes on moving after a change, it is a drift; from then on the drift is followed (`moving`), and after its end the
//! weeks are learned again, since those of the drift are no measure.

mod cycles;
mod forecast;
mod moving;
mod ramp;
mod usual;

use plimsoll_model::weeks::{Drift, News};
use serde::{Deserialize, Serialize};

use crate::changes::Change;
use crate::input::JudgeError;
use crate::stats::median;

use cycles::{Divided, divided, trend};
pub use forecast::reached;
use moving::{DriftState, Moving};
use ramp::Ramp;

/// The hours that are examined: six weeks.
pub const LOOKED_AT: usize = 6 * 7 * DAY;
/// The fewest hours for any news: the cycle of weeks is known after three.
pub const LEAST: usize = 3 * 7 * DAY;
/// Hours of a day.
pub const DAY: usize = 24;
/// Hours of a week.
const WEEK: usize = 7 * DAY;
/// The hours for which a change is news.
const NEWS: usize = 3 * DAY;
/// The hours for which a change must have lasted.
const LASTED: usize = 6;
/// A level is one to return to after this many hours. Until then, days that go like others of the week are no change.
const STAYS: usize = 66;
/// The standard errors of its size by which a change must stand out.
const SURE: f64 = 8.0;
/// The hours around news in which the same news is not repeated.
const SAME: u64 = 36;
/// A drift is tried after a change has lasted for the first number of hours, and until the second number of hours
/// later.
const DRIFTS_AFTER: u64 = 60;
const DRIFTS_FOR: u64 = 36;
/// From the median deviation to the standard deviation of a normal distribution.
const MAD: f64 = 1.4826;
/// Number of consecutive hours with the information of one independent hour.
const ALIKE: f64 = 8.0;
/// A drift must explain this many times the variance that a level leaves.
const EXPLAINS: f64 = 2.0;

/// State of a series from hour to hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// The changes that were news, the newest last.
    announced: Vec<Announced>,
    /// The drift that goes on.
    moving: Option<Moving>,
    /// Hours before this one belong to a drift that has ended (hours since 1970, UTC).
    since_hour: u64,
}

/// A change that was news.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Announced {
    hour: u64,
    rose: bool,
}

impl Remembered {
    /// Rebuilds the state of a series from its news, the oldest first. For a series without a stored state, as after a
    /// version that stored it in another form.
    #[must_use]
    pub fn from_news(news: &[News]) -> Self {
        let mut remembered = Self::default();
        for news in news {
            match (*news, &mut remembered.moving) {
                (News::Change { hour, .. }, Some(moving)) => moving.came_back_at(hour),
                (News::Change { hour, before, after, .. }, None) => {
                    remembered.announced.push(Announced { hour, rose: after > before });
                }
                (News::Drift(drift), _) if drift.per_hour == 0.0 => {
                    remembered = Self { since_hour: drift.since_hour, ..Self::default() };
                }
                (News::Drift(drift), Some(moving)) => moving.drift = drift,
                (News::Drift(drift), None) => remembered.moving = Some(Moving::new(drift)),
            }
        }
        remembered
    }

    /// The drift that is going on.
    pub fn drift(&self) -> Option<Drift> {
        self.moving.map(|moving| moving.drift)
    }

    /// Looks at the mean of each of the last hours, of which the first is `first_hour` (hours since 1970, UTC); nothing stands where nothing was
    /// measured.
    ///
    /// # Errors
    /// [`JudgeError::NotFinite`].
    pub fn look(&mut self, hours: &[Option<f64>], first_hour: u64) -> Result<Vec<News>, JudgeError> {
        if let Some(moving) = &mut self.moving {
            return Ok(match moving.look(hours, first_hour) {
                DriftState::Nothing => Vec::new(),
                DriftState::News(news) => vec![news],
                DriftState::Ended(drift) => {
                    *self = Self { since_hour: drift.since_hour, ..Self::default() };
                    vec![News::Drift(drift)]
                }
            });
        }
        let old = usize::try_from(self.since_hour.saturating_sub(first_hour)).unwrap_or(usize::MAX);
        let skipped = hours.len().saturating_sub(LOOKED_AT).max(old).min(hours.len());
        // A series that is new has nothing in the weeks before.
        let unknown = hours[skipped..].iter().take_while(|hour| hour.is_none()).count();
        let skipped = skipped + unknown;
        let (hours, first_hour) = (&hours[skipped..], first_hour + skipped as u64);
        if hours.len() < LEAST || hours.iter().flatten().count() < LEAST / 2 {
            return Ok(Vec::new());
        }
        self.announced.retain(|change| change.hour + LOOKED_AT as u64 >= first_hour);
        let divided = divided(hours, first_hour)?;
        let mut news: Vec<News> = self.drifts(&divided, first_hour).map(News::Drift).into_iter().collect();
        if news.is_empty() {
            news.extend(self.changes(hours, &divided, first_hour));
        }
        if news.is_empty() {
            news.extend(self.begins(hours, &divided, first_hour));
        }
        Ok(news)
    }

    /// Levels that are others than before.
    fn changes(&mut self, hours: &[Option<f64>], divided: &Divided, first_hour: u64) -> Vec<News> {
        let Divided { flat, found, slope, cycle } = divided;
        let n = flat.len();
        let late = n.saturating_sub(NEWS);
        let mut news = Vec::new();
        for (k, change) in found.changes.iter().enumerate().filter(|(_, change)| change.index >= late) {
            let hour = first_hour + change.index as u64;
            let end = found.changes.get(k + 1).map_or(n, |next| next.index);
            let lasted = flat[change.index..end].iter().flatten().count();
            // A change that came and went, and was no news meanwhile, is none afterwards.
            if end < n && lasted < STAYS {
                continue;
            }
            let before = self.level_before(&found.changes[..=k], first_hour);
            let size = change.after - before;
            if lasted < LASTED || !stands_out(size, change) || self.was_news(hour, size > 0.0) {
                continue;
            }
            let still = stills(hours, *slope);
            if lasted < STAYS && usual::go_like_other_days(&still, change.index..n, before, cycle, first_hour)
            {
                continue;
            }
            self.announced.push(Announced { hour, rose: size > 0.0 });
            // The trend that was removed belongs to both levels.
            let drifted = trend(*slope, change.index, n);
            let [before, after] = [before, change.after].map(|level| level + drifted);
            let moved = size - change.size();
            let (low, high) = (change.interval.lo() + moved, change.interval.hi() + moved);
            news.push(News::Change { hour, before, after, low, high });
        }
        news
    }

    /// The level before the last of some changes: the last one that was news, or had lasted.
    fn level_before(&self, changes: &[Change], first_hour: u64) -> f64 {
        let known = changes.windows(2).rev().find(|pair| {
            let hour = first_hour + pair[0].index as u64;
            pair[1].index - pair[0].index >= STAYS || self.was_news(hour, pair[0].size() > 0.0)
        });
        known.map_or(changes[0].before, |pair| pair[1].before)
    }

    /// A level that has begun to move, if that was not news yet.
    fn begins(&mut self, hours: &[Option<f64>], divided: &Divided, first_hour: u64) -> Option<News> {
        let Divided { flat, found, slope, cycle } = divided;
        let Ramp { index, before, size, low, high } = ramp::begun(flat, found)?;
        let hour = first_hour + index as u64;
        let still = stills(hours, *slope);
        if self.was_news(hour, size > 0.0)
            || usual::go_like_other_days(&still, index..flat.len(), before, cycle, first_hour)
        {
            return None;
        }
        self.announced.push(Announced { hour, rose: size > 0.0 });
        let before = before + trend(*slope, index, flat.len());
        Some(News::Change { hour, before, after: before + size, low, high })
    }

    /// Whether a change in this hour was news, or is part of one that was: a level that goes on moving is divided into
    /// several.
    fn was_news(&self, hour: u64, rose: bool) -> bool {
        self.announced.iter().any(|news| {
            news.hour.abs_diff(hour) <= SAME
                || news.rose == rose && hour >= news.hour && hour - news.hour <= DRIFTS_AFTER + DRIFTS_FOR
        })
    }

    /// The drift since the latest news, if a moving level explains the values since then much better than a constant
    /// one.
    fn drifts(&mut self, divided: &Divided, first_hour: u64) -> Option<Drift> {
        let Divided { flat, slope: trend, .. } = divided;
        let news = self.announced.last()?;
        let index = usize::try_from(news.hour.checked_sub(first_hour)?).ok()?;
        let lasted = flat.len().checked_sub(index)? as u64;
        if !(DRIFTS_AFTER..DRIFTS_AFTER + DRIFTS_FOR).contains(&lasted) {
            return None;
        }
        let since: Vec<(f64, f64)> =
            (index..flat.len()).filter_map(|at| Some((at as f64, flat[at]?))).collect();
        let slope = slope(&since)?;
        let left = |slope: f64| {
            let values: Vec<f64> = since.iter().map(|(at, value)| value - slope * at).collect();
            let middle = median(&values);
            values.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
        };
        let per_hour = slope + trend;
        if (per_hour > 0.0) != news.rose || left(0.0) < EXPLAINS * left(slope) {
            return None;
        }
        let drift = Drift { since_hour: news.hour, per_hour };
        self.moving = Some(Moving::new(drift));
        Some(drift)
    }
}

/// The median of each of the last days without cycles, for a forecast. Days with less than half of their hours are left out.
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

/// The hours without their trend.
fn stills(hours: &[Option<f64>], slope: f64) -> Vec<Option<f64>> {
    let still = |(n, value): (usize, &Option<f64>)| value.map(|value| value - trend(slope, n, hours.len()));
    hours.iter().enumerate().map(still).collect()
}

fn is_sure(change: &Change) -> bool {
    stands_out(change.size(), change)
}

/// Whether a size exceeds its own uncertainty by far.
fn stands_out(size: f64, change: &Change) -> bool {
    // The interval reaches about two standard errors to each side.
    let error = (change.interval.hi() - change.interval.lo()) / 4.0;
    size.abs() > SURE * error
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
