//! The hours of a machine without what the hours of a week differ by, divided into levels.

use super::{ALIKE, MAD, SURE, WEEK};
use crate::changes::{self, Changes};
use crate::input::JudgeError;
use crate::stats::{mean, median};

/// With more weeks than this, an hour is compared with those of the other weeks alone.
const OTHERS: usize = 3;

/// Hours divided into levels.
pub(super) struct Divided {
    /// The hours without the cycles of days and weeks, and without the trend.
    pub(super) flat: Vec<Option<f64>>,
    pub(super) found: Changes,
    /// By how much they rise with each hour, all the time.
    pub(super) slope: f64,
    pub(super) cycle: Cycle,
}

/// Differences between the hours of a week.
pub(super) struct Cycle {
    /// Of each hour of the week, in the hours since 1970.
    of_week: Vec<f64>,
    /// A load that grows has larger cycles, so that they are factors where all is above nothing; elsewhere they add up.
    factors: bool,
}

impl Cycle {
    /// The level in an hour.
    pub(super) fn at(&self, level: f64, hour: u64) -> f64 {
        let of_hour = self.of_week[(hour % WEEK as u64) as usize];
        if self.factors { level * of_hour } else { level + of_hour }
    }
}

/// Takes the cycles of days and weeks out, and finds the changes between the levels that are left. Cycles are what an hour of the week differs by
/// from the level around it, in the median over the weeks: a machine has them whatever a criterion of few parameters says.
pub(super) fn divided(hours: &[Option<f64>], first_hour: u64) -> Result<Divided, JudgeError> {
    let slope = trend_of(hours);
    let n = hours.len();
    let still: Vec<Option<f64>> =
        hours.iter().enumerate().map(|(i, value)| value.map(|value| value - trend(slope, i, n))).collect();
    let all: Vec<f64> = still.iter().flatten().copied().collect();
    let level = if all.is_empty() { 0.0 } else { median(&all) };
    let (first, _) = without_cycles(&still, &vec![level; n], first_hour);
    // Levels that are known spoil the cycles no more.
    let found = changes::find_levels_with_gaps(&first)?;
    let mut levels = vec![found.changes.first().map_or(level, |change| change.before); n];
    for change in &found.changes {
        levels[change.index..].fill(change.after);
    }
    let (flat, cycle) = without_cycles(&still, &levels, first_hour);
    let found = changes::find_levels_with_gaps(&flat)?;
    Ok(Divided { flat, found, slope, cycle })
}

/// The offset of a trend in hour `hour` of `count`; zero in the last.
pub(super) fn trend(slope: f64, hour: usize, count: usize) -> f64 {
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
    // Neighbours carry nearly the same information.
    let error = scatter / (slopes.len() as f64 / ALIKE).sqrt();
    if slope.abs() > SURE * error { slope } else { 0.0 }
}

/// The hours without their cycle, and the cycle.
fn without_cycles(hours: &[Option<f64>], levels: &[f64], first_hour: u64) -> (Vec<Option<f64>>, Cycle) {
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
    let middles: Vec<f64> = around.iter().map(|these| middle(these, None)).collect();
    let level = mean(&middles);
    let flat = |n: usize, value: f64| {
        let these = &around[of_week(n)];
        // An hour that is itself in the middle of its weeks would seem to follow them exactly.
        let hour = middle(these, (these.len() > OTHERS).then_some(n));
        if factors { value / (hour / level) } else { value - (hour - level) }
    };
    let flat = hours.iter().enumerate().map(|(n, value)| value.map(|value| flat(n, value))).collect();
    let of_week = middles.iter().map(|hour| if factors { hour / level } else { hour - level }).collect();
    (flat, Cycle { of_week, factors })
}
