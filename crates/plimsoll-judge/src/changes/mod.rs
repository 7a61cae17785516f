//! Where did the history change? The change points of a series: a nightly benchmark, a rate over a run.
//!
//! 1. The noise is estimated from differences, which a jump hardly touches, and outliers are pulled in (`noise`).
//! 2. The series is divided into too many levels, as a whole and, where it is long, by sliding windows (`partition`).
//! 3. The weakest boundary is deleted until all pass a test of the step and a rank test, with standard errors inflated by
//!    √((1+ρ)/(1-ρ)) where neighbours are correlated; an excursion that went away again is dropped (`prune`).
//! 4. Each boundary is put where a robust loss is least (`locate`).
//! 5. Cycles and a trend are taken out, each where the values agree on it and where it explains them better than levels do, and the rest is
//!    divided again (`season`, `explain`). A smooth curve takes the place of all levels where it explains the values better
//!    (`smooth`), and noise with a long memory takes the place of some or all (`lasting`).
//! 6. A change stays only where the order of the values around it is no random one, whatever their distribution (`exchange`): two modes in
//!    random order are no change.
//!
//! Merging backwards is what Fleming et al. 2023 (*Hunter: Using Change Point Detection to Hunt for Performance Regressions*) do
//! with t-tests; ranks, the allowance for correlation and the robust loss are what keeps outliers and slow drifts of the machine from
//! being taken for changes. A series of n values takes O(n log n) time and O(n) memory.

mod exchange;
mod explain;
mod lasting;
mod locate;
pub(crate) mod noise;
mod partition;
mod prune;
mod season;
mod smooth;

use crate::input::{JudgeError, finite};
use crate::stats::{dist::t_quantile, median, variance};
use crate::wording::{count, figure};
use explain::Explained;
use noise::Noise;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::Serialize;

/// The shortest level that can be distinguished from outliers: a change is seen from its fourth value on.
pub const MIN_LEVEL: usize = 4;
/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// The price of a level when the series is divided, in squared standard deviations per ln n; low, to divide too finely.
const PENALTY: f64 = 1.2;
/// The least noise believed when the series is divided, as a share of the largest value
/// (counted from the median, without outliers) and per √n: the running sums carry no more digits.
const LEAST_NOISE: f64 = 1e-7;
/// How many values' weight the common spread has beside the spread of one level.
const SHARED: f64 = 10.0;

/// A place at which the level of a series changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The first value of the new level, counted from 0.
    pub index: usize,
    /// The level before, a mean without outliers, in the unit of the series.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The interval of the size, after - before, in the unit of the series.
    pub interval: Interval,
    /// The first and the last index that may be the true one.
    pub index_interval: (usize, usize),
}

impl Change {
    /// The size of the change, in the unit of the series.
    pub fn size(&self) -> f64 {
        self.after - self.before
    }

    /// The size as a share of the level before; absent where that is 0.
    pub fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.size() / self.before.abs())
    }
}

/// The changes of a series, and the noise that they stand out of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// The changes, by rising index.
    pub changes: Vec<Change>,
    /// The standard deviation of the values around their levels, outliers pulled in, in the unit of the series.
    pub noise: f64,
    /// The correlation of neighbouring values around their levels, 0 or more.
    pub correlation: f64,
    /// How many values the series has.
    pub n: usize,
    /// By how much the series rises with each value, beside its changes; absent where it has no trend.
    pub trend: Option<f64>,
    /// The degree of the smooth curve that describes the series better than levels do; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<usize>,
    /// The order of integration of noise with a long memory (0.5 for 1/f, 1 for a random walk) that describes the series better than more levels
    /// do; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// The cycles that were taken out, each as its number of values.
    pub cycles: Vec<usize>,
    /// How many places have no value.
    pub missing: usize,
    /// The values as they would be had the last level held all the time; `None` if nothing was found to take out.
    #[serde(skip)]
    flat: Option<Vec<f64>>,
}

/// Finds the changes of the level of a series.
///
/// The series is in order of time and evenly spaced. Fewer than 2·[`MIN_LEVEL`] values never show a change.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`].
pub fn find_changes(series: &[f64]) -> Result<Changes, JudgeError> {
    finite("series", series)?;
    let at: Vec<usize> = (0..series.len()).collect();
    Ok(found(series, &at, true))
}

/// The changes of a series with its cycles left in: what comes and goes again is a level, however regularly.
///
/// # Errors
/// Those of [`find_changes`].
pub(crate) fn find_levels(series: &[f64]) -> Result<Changes, JudgeError> {
    finite("series", series)?;
    let at: Vec<usize> = (0..series.len()).collect();
    Ok(found(series, &at, false))
}

/// Finds the changes of the level of a series in which values are missing. Indices count all places, also those without a value.
///
/// # Errors
/// [`JudgeError::Empty`] where there is no value, or [`JudgeError::NotFinite`].
pub fn find_changes_with_gaps(series: &[Option<f64>]) -> Result<Changes, JudgeError> {
    with_gaps(series, true)
}

/// Finds levels without removing cycles.
///
/// # Errors
/// Those of [`find_changes_with_gaps`].
pub(crate) fn find_levels_with_gaps(series: &[Option<f64>]) -> Result<Changes, JudgeError> {
    with_gaps(series, false)
}

fn with_gaps(series: &[Option<f64>], cycles: bool) -> Result<Changes, JudgeError> {
    let (at, values): (Vec<usize>, Vec<f64>) =
        series.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))).unzip();
    finite("series", &values).map_err(|error| match error {
        JudgeError::NotFinite { what, index, value } => {
            JudgeError::NotFinite { what, index: at[index], value }
        }
        other => other,
    })?;
    Ok(Changes { missing: series.len() - values.len(), ..found(&values, &at, cycles) })
}

/// The changes of finite values that stand at the rising indices `at`; cycles are taken out where that is asked for.
fn found(series: &[f64], at: &[usize], cycles: bool) -> Changes {
    let n = series.len();
    let unit = Unit::of(series);
    if n < 2 * MIN_LEVEL || unit.half_range == 0.0 {
        return Changes::none(n);
    }
    let explained = explain::explain(&unit.apply(series), at, cycles);
    let Explained { values, clean, boundaries, levels, noise, slope, seasons, curve, .. } = &explained;
    let places = locate::places(values, boundaries, levels, *noise, CONFIDENCE);
    let errors = standard_errors(clean, boundaries, *noise);
    let freedom = SHARED + (n - boundaries.len() - 1) as f64 / (boundaries.len() + 1) as f64;
    let deviate = t_quantile(0.5 + CONFIDENCE / 2.0, freedom);
    let changes = places.iter().enumerate().map(|(k, place)| {
        let margin = deviate * errors[k].hypot(errors[k + 1]);
        let risen = slope * at[place.index] as f64;
        let step = levels[k + 1] - levels[k];
        Change {
            index: at[place.index],
            before: unit.value(levels[k] + risen),
            after: unit.value(levels[k + 1] + risen),
            interval: Interval(step - margin, step + margin).map(|s| unit.size(s)),
            // It may have changed where a value is missing.
            index_interval: (at[place.between.0 - 1] + 1, at[place.between.1]),
        }
    });
    let moved =
        (!seasons.is_empty() || *slope != 0.0 || curve.is_some() || !boundaries.is_empty()).then(|| {
            let risen = curve.as_ref().map_or(slope * at[n - 1] as f64, |curve| curve.values[n - 1]);
            let last = unit.value(levels[levels.len() - 1] + risen);
            let level = |i: usize| levels[boundaries.partition_point(|b| *b <= i)];
            (0..n).map(|i| last + unit.size(values[i] - level(i))).collect()
        });
    Changes {
        changes: changes.collect(),
        noise: unit.size(noise.sd),
        correlation: noise.rho,
        n,
        trend: (*slope != 0.0).then(|| unit.size(*slope)),
        curve: curve.as_ref().map(|curve| curve.degree),
        memory: explained.memory,
        cycles: seasons.iter().map(season::Season::period).collect(),
        missing: 0,
        flat: moved,
    }
}

/// The standard error of each level. Noise often grows with the level, so each has its own spread, drawn towards the common one as
/// by [`SHARED`] more values.
fn standard_errors(clean: &[f64], boundaries: &[usize], noise: Noise) -> Vec<f64> {
    let ends = boundaries.iter().copied().chain([clean.len()]);
    let starts = [0].into_iter().chain(boundaries.iter().copied());
    starts
        .zip(ends)
        .map(|(start, end)| {
            let len = (end - start) as f64;
            let own = variance(&clean[start..end]) * (len - 1.0);
            let spread = (own + SHARED * noise.sd.powi(2)) / (len - 1.0 + SHARED);
            noise.inflation() * (spread / len).sqrt()
        })
        .collect()
}

/// The middle and half the range of a series: what it is measured in inside, so that no unit overflows or vanishes.
struct Unit {
    middle: f64,
    half_range: f64,
}

impl Unit {
    fn of(series: &[f64]) -> Self {
        let least = series.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = series.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { middle: median(series), half_range: largest / 2.0 - least / 2.0 }
    }

    fn apply(&self, series: &[f64]) -> Vec<f64> {
        series.iter().map(|x| (x / 2.0 - self.middle / 2.0) / self.half_range * 2.0).collect()
    }

    fn size(&self, inner: f64) -> f64 {
        inner * self.half_range
    }

    fn value(&self, inner: f64) -> f64 {
        self.middle + self.size(inner)
    }
}

/// Whether the order of the values is another than a random one; `alpha` is the chance of saying so of a random order.
pub(crate) fn in_order(values: &[f64], alpha: f64) -> bool {
    exchange::in_order(values, alpha)
}

impl Changes {
    /// The result for `n` values without a change.
    fn none(n: usize) -> Self {
        Self {
            changes: Vec::new(),
            noise: 0.0,
            correlation: 0.0,
            n,
            trend: None,
            curve: None,
            memory: None,
            cycles: Vec::new(),
            missing: 0,
            flat: None,
        }
    }

    /// The values as they would be had the last level held all the time, without trend and cycles; `None` if nothing was found to take
    /// out, or where one would be too large a number.
    pub(crate) fn flat(&self) -> Option<&[f64]> {
        self.flat.as_deref().filter(|flat| flat.iter().all(|v| v.is_finite()))
    }

    /// The verdict: `changed`, `unchanged`, or `undecided` for a series that is too short. The estimate is the size of the largest change.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let bare = |outcome, reason: String| Verdict::bare("change", metric, outcome, self.n, reason);
        let Some(largest) = self.changes.iter().max_by(|a, b| a.size().abs().total_cmp(&b.size().abs()))
        else {
            if self.n < 2 * MIN_LEVEL {
                let reason =
                    format!("{} values are too few: a change needs at least {}", self.n, 2 * MIN_LEVEL);
                return bare(Outcome::Undecided, reason);
            }
            let reason = format!("no change of level in {} values{}", self.n, self.beside());
            return bare(Outcome::Unchanged, reason);
        };
        Verdict {
            estimate: Some(largest.size()),
            interval: Some(largest.interval),
            confidence: CONFIDENCE,
            ..bare(Outcome::Changed, self.in_words())
        }
    }

    /// The changes in words, the first few of them.
    fn in_words(&self) -> String {
        const NAMED: usize = 5;
        let mut parts: Vec<String> = self.changes.iter().take(NAMED).map(describe).collect();
        if self.changes.len() > NAMED {
            parts.push(format!("and {} more", self.changes.len() - NAMED));
        }
        let changes = count(self.changes.len(), "change");
        format!("{changes} in {}: {}{}", count(self.n, "value"), parts.join("; "), self.beside())
    }

    /// The components removed beforehand, and the missing values, in words.
    fn beside(&self) -> String {
        let mut words = String::new();
        if !self.cycles.is_empty() {
            let cycles: Vec<String> = self.cycles.iter().map(usize::to_string).collect();
            words += &format!("; cycles of {} values removed first", cycles.join(" and of "));
        }
        if let Some(slope) = self.trend {
            words += &format!("; a trend of {} per value removed first", figure(slope));
        }
        if let Some(degree) = self.curve {
            words += &format!("; a smooth curve of degree {degree} describes them better than steps");
        }
        if let Some(order) = self.memory {
            words += &format!(
                "; noise with a long memory (d = {order:.2}, as 1/f noise has) describes them better than more steps"
            );
        }
        if self.missing > 0 {
            words += &format!("; {} missing, their positions counted", count(self.missing, "value"));
        }
        words
    }
}

fn describe(change: &Change) -> String {
    let size = change.relative().map_or_else(String::new, |r| format!(" ({:+.1} %)", 100.0 * r));
    let (lo, hi) = change.index_interval;
    let place = if lo == hi { String::new() } else { format!(" (between {lo} and {hi})") };
    format!("at {}{place} from {} to {}{size}", change.index, figure(change.before), figure(change.after))
}

#[cfg(test)]
mod tests;
