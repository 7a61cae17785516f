//! A moving level, and what is still news about it.
//!
//! Hours are compared with those a week before, from which no cycle sets them apart, whether it adds up or is a factor
//! that shrinks with the level. So a drift is followed silently, and only three things are news: that it has ended,
//! that it goes on at quite another pace, and that the level came to another place at once, as memory does when its
//! owner is started again.

use plimsoll_model::weeks::{Drift, News};
use serde::{Deserialize, Serialize};

use super::{ALIKE, DAY, MAD, WEEK};
use crate::stats::median;

/// The hours from which the pace is computed, against those a week before.
const PACE: usize = 2 * DAY;
/// A drift has ended when the level moves by less than this share of it.
const ENDED: f64 = 0.2;
/// A drift has another pace if that is this many times the reported one, or less than one over this.
const OTHER: f64 = 1.5;
/// And when two days before it did so as well, up to this share of it.
const STEADY: f64 = 0.15;
/// The hours for which a level that moved at once must have stayed.
const STAYED: usize = DAY;
/// The hours before these that it is compared with.
const BEFORE: usize = 2 * DAY;
/// A jump must cover this share of the whole distance of the drift, this many hours of its pace ..
const OF_WAY: f64 = 0.25;
const OF_PACE: f64 = 24.0;
/// .. and this many standard deviations of single hours.
const SURE: f64 = 4.0;
/// The share of values since the jump that must lie beyond the middle of both levels.
const BEYOND: f64 = 0.9;
/// How far the 95 % of a normal distribution reach, in standard deviations.
const REACHES: f64 = 1.96;

/// A drift that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Moving {
    /// The drift as it was last reported.
    pub(super) drift: Drift,
    /// Since which hour nothing but the drift has moved the level (hours since 1970, UTC).
    still: u64,
    /// Whether the level was somewhere else before.
    came_back: bool,
}

/// The state of a drift after some hours.
pub(super) enum DriftState {
    /// Nothing new.
    Nothing,
    /// News; the drift goes on.
    News(News),
    /// The drift has ended.
    Ended(Drift),
}

impl Moving {
    pub(super) fn new(drift: Drift) -> Self {
        Self { drift, still: drift.since_hour, came_back: false }
    }

    /// In this hour the level came to another place at once.
    pub(super) fn came_back_at(&mut self, hour: u64) {
        (self.still, self.came_back) = (hour, true);
    }

    /// Looks at hours, of which the first is `first_hour`.
    pub(super) fn look(&mut self, hours: &[Option<f64>], first_hour: u64) -> DriftState {
        let against = WeekOverWeek { hours, first_hour };
        if let Some((hour, news)) = self.jump(&against) {
            self.came_back_at(hour);
            return DriftState::News(news);
        }
        let now = first_hour + hours.len() as u64;
        let known = self.drift.per_hour;
        // Both hours must belong to the present movement.
        let Some(pace) = against.pace(hours.len(), self.still) else { return DriftState::Nothing };
        let share = pace.per_hour / known;
        if share + pace.error / known.abs() < ENDED {
            // A week back it moved for that share of the time.
            let ended = now - (WEEK as f64 * (1.0 - share.clamp(0.0, 1.0))) as u64;
            // Where it came back at once, that was its end.
            let since_hour = if self.came_back { self.still } else { ended.max(self.still) };
            return DriftState::Ended(Drift { since_hour, per_hour: 0.0 });
        }
        let before = against.pace(hours.len() - PACE, self.still);
        let steady = before
            .is_some_and(|before| (before.per_hour - pace.per_hour).abs() < STEADY * pace.per_hour.abs());
        let sure = (pace.per_hour - known).abs() > SURE * pace.error;
        if !(1.0 / OTHER..OTHER).contains(&share) && steady && sure {
            self.drift =
                Drift { since_hour: self.still.max(now - (WEEK + PACE) as u64), per_hour: pace.per_hour };
            return DriftState::News(News::Drift(self.drift));
        }
        DriftState::Nothing
    }

    /// The hour in which the level came to another place, where it stayed.
    fn jump(&self, against: &WeekOverWeek<'_>) -> Option<(u64, News)> {
        let (n, known) = (against.hours.len(), self.drift.per_hour);
        let begins = n.checked_sub(STAYED + BEFORE)?;
        let after = |k: usize| against.first_hour + k as u64;
        let of_week = WEEK as u64;
        // After it came back, an hour a week before is of another place for a week.
        if self.came_back && after(begins) < self.still + of_week {
            return None;
        }
        let surprise = |k: usize| {
            let moved = (after(k).saturating_sub(self.still)).min(of_week) as f64;
            Some(against.week(k)? - known * moved)
        };
        let of = |from: usize, to: usize| (from..to).filter_map(surprise).collect::<Vec<f64>>();
        let (earlier, late) = (of(begins, n - STAYED), of(n - STAYED, n));
        if earlier.len() < BEFORE / 2 || late.len() < STAYED / 2 {
            return None;
        }
        let usual = median(&earlier);
        let sd = MAD * median(&earlier.iter().map(|one| (one - usual).abs()).collect::<Vec<_>>());
        let size = median(&late) - usual;
        let way = known.abs() * (against.first_hour + n as u64).saturating_sub(self.still) as f64;
        let least = (SURE * sd).max(OF_WAY * way).max(OF_PACE * known.abs());
        let is_beyond = |one: f64| (one - usual) / size > 0.5;
        let beyond = late.iter().filter(|one| is_beyond(**one)).count();
        if size.abs() <= least || (beyond as f64) < BEYOND * late.len() as f64 {
            return None;
        }
        let from = (begins..n).rev().find(|k| surprise(*k).is_some_and(|one| !is_beyond(one)))? + 1;
        let day = |from: usize| {
            let values: Vec<f64> =
                against.hours[from..(from + DAY).min(n)].iter().flatten().copied().collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let before = day(from.checked_sub(DAY)?)?;
        let error = REACHES * sd * (2.0 * ALIKE / STAYED as f64).sqrt();
        let hour = after(from);
        Some((
            hour,
            News::Change { hour, before, after: before + size, low: size - error, high: size + error },
        ))
    }
}

/// Hours against those a week before.
struct WeekOverWeek<'h> {
    hours: &'h [Option<f64>],
    first_hour: u64,
}

/// By how much a level moves in an hour.
struct Pace {
    per_hour: f64,
    /// The standard error of that.
    error: f64,
}

impl WeekOverWeek<'_> {
    fn week(&self, k: usize) -> Option<f64> {
        Some((*self.hours.get(k)?)? - self.hours[k.checked_sub(WEEK)?]?)
    }

    /// The pace of the hours before one, where those a week before are not older than `still`.
    fn pace(&self, end: usize, still: u64) -> Option<Pace> {
        let from = end.checked_sub(PACE + WEEK)? + WEEK;
        if self.first_hour + ((from - WEEK) as u64) < still {
            return None;
        }
        let moved: Vec<f64> =
            (from..end).filter_map(|k| self.week(k)).map(|moved| moved / WEEK as f64).collect();
        if moved.len() < PACE / 2 {
            return None;
        }
        let per_hour = median(&moved);
        let sd = MAD * median(&moved.iter().map(|one| (one - per_hour).abs()).collect::<Vec<_>>());
        Some(Pace { per_hour, error: sd / (moved.len() as f64 / ALIKE).sqrt() })
    }
}
