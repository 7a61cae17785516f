//! The limit: how much of something (requests per second, users, jobs) a system takes and still holds a bound.
//!
//! Probes search the limit: the system gets a certain amount for a while, and holds the bound or does not. Near the
//! limit the same amount is held at one time and not at another, so that plain bisection ends anywhere. The search is
//! the one by which psychophysics finds thresholds (Watson & Pelli, "QUEST: a Bayesian adaptive psychometric method",
//! 1983): a posterior over the limit, with the steepness of the edge integrated out (Kontsevich & Tyler, 1999), and the
//! next probe near its median. **The limit is the amount at which a probe holds the bound half of the time.**
//!
//! Trials differ in their limits, on the same machine too. Their scatter is integrated out as well, so that the interval of one
//! trial is wider than what its probes alone would give, and narrows as trials agree.

mod posterior;

use crate::input::JudgeError;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use posterior::{Belief, Grid};
use serde::{Deserialize, Serialize};

/// How much of the precision a trial alone has to reach: a few that do reach it together, with their scatter.
const OWN_SHARE: f64 = 0.7;

/// Result of one probe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// How much was given.
    pub at: f64,
    /// Whether the bound was held.
    pub held: bool,
}

/// Where to search, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitSettings {
    /// The least that is tried; more than 0.
    pub from: f64,
    /// The most that is tried; more than `from`.
    pub to: f64,
    /// How far the interval may reach from the estimate, as a share of it: 0.1 as shipped.
    pub precision: f64,
    /// The confidence of the interval: 0.95 as shipped.
    pub confidence: f64,
    /// No trial ends after fewer probes than this: 6 as shipped.
    pub fewest: usize,
}

impl LimitSettings {
    /// The shipped settings over a range.
    #[must_use]
    pub fn between(from: f64, to: f64) -> Self {
        Self { from, to, precision: 0.1, confidence: 0.95, fewest: 6 }
    }

    fn check(&self) -> Result<(), JudgeError> {
        let settings = [
            ("from", self.from, self.from > 0.0 && self.from.is_finite(), "a number above 0"),
            ("to", self.to, self.to > self.from && self.to.is_finite(), "a number above `from`"),
            (
                "precision",
                self.precision,
                self.precision > 0.0 && self.precision < 1.0,
                "a share above 0 and below 1",
            ),
            (
                "confidence",
                self.confidence,
                self.confidence > 0.0 && self.confidence < 1.0,
                "a share above 0 and below 1",
            ),
        ];
        match settings.into_iter().find(|(.., fits, _)| !fits) {
            Some((name, value, _, expected)) => Err(JudgeError::Setting { name, value, expected }),
            None => Ok(()),
        }
    }
}

/// An estimated limit. Ends beyond the searched range are open: 0 or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The limit; absent where it surely lies outside of the range that was searched.
    pub estimate: Option<f64>,
    /// The interval, with equal tails.
    pub interval: Interval,
}

impl Limit {
    /// Whether the interval lies within this share of the estimate.
    pub fn is_within(&self, precision: f64) -> bool {
        self.estimate.is_some_and(|estimate| {
            self.interval.lo() >= estimate * (1.0 - precision)
                && self.interval.hi() <= estimate * (1.0 + precision)
        })
    }
}

/// How much to give next in a trial that found this so far; `None` if another probe of it would add little: the interval of
/// the trial alone is within 70 % of the precision, so that a few together are surer than that, or the limit surely lies outside of the range.
///
/// # Errors
/// Settings out of range, or a probe at an amount that is not above 0.
pub fn next(probes: &[Probe], settings: &LimitSettings) -> Result<Option<f64>, JudgeError> {
    settings.check()?;
    check(probes)?;
    let grid = Grid::new(settings.from, settings.to, settings.precision / 10.0);
    let belief = grid.of_trial(probes);
    let found = limit_of(&belief, settings);
    let outside = found.estimate.is_none();
    if probes.len() >= settings.fewest && (outside || found.is_within(OWN_SHARE * settings.precision)) {
        return Ok(None);
    }
    // Off the middle now and then, by turns on either side: probes at the middle alone do not show the steepness.
    let quantile = match probes.len() % 4 {
        1 => 0.25,
        3 => 0.75,
        _ => 0.5,
    };
    Ok(Some(belief.quantile(quantile).clamp(settings.from, settings.to)))
}

/// The limit that the probes of one or more trials show.
///
/// # Errors
/// Settings out of range, no probe at all, or a probe at an amount that is not above 0.
pub fn limit(trials: &[Vec<Probe>], settings: &LimitSettings) -> Result<Limit, JudgeError> {
    settings.check()?;
    trials.iter().try_for_each(|probes| check(probes))?;
    if trials.iter().all(Vec::is_empty) {
        return Err(JudgeError::Empty {
            what: "probes".into(),
            expected: "at least one probe that held or did not",
        });
    }
    let grid = Grid::new(settings.from, settings.to, settings.precision / 25.0);
    Ok(limit_of(&grid.of_trials(trials), settings))
}

fn limit_of(belief: &Belief<'_>, settings: &LimitSettings) -> Limit {
    let tail = (1.0 - settings.confidence) / 2.0;
    let (lo, hi) = (belief.quantile(tail), belief.quantile(1.0 - tail));
    let inside = lo <= settings.to && hi >= settings.from;
    let interval = Interval(
        if lo < settings.from { 0.0 } else { lo.min(settings.to) },
        if hi > settings.to { f64::INFINITY } else { hi.max(settings.from) },
    );
    let estimate = belief.quantile(0.5).clamp(settings.from, settings.to);
    Limit { estimate: inside.then_some(estimate), interval }
}

/// Judges the limit of several trials. Where a least limit is wanted: `reached` when the limit is surely as high, `not_reached` when it
/// is surely lower. Else `estimated` when the interval is as narrow as the precision asks. Otherwise `undecided`; the
/// reason names the case.
///
/// # Errors
/// As [`limit`].
pub fn judge(
    metric: &str,
    trials: &[Vec<Probe>],
    settings: &LimitSettings,
    at_least: Option<f64>,
) -> Result<Verdict, JudgeError> {
    let found = limit(trials, settings)?;
    let Interval(lo, hi) = found.interval;
    let probes: usize = trials.iter().map(Vec::len).sum();
    let (outcome, says) = match at_least {
        Some(least) if lo >= least => {
            (Outcome::Reached, format!("the bound is held up to {least} and beyond"))
        }
        Some(least) if hi < least => (Outcome::NotReached, format!("the bound is not held up to {least}")),
        _ if found.estimate.is_none() && lo >= settings.to => (
            Outcome::Undecided,
            format!("the bound is held even at {}, the most that was tried", number(settings.to)),
        ),
        _ if found.estimate.is_none() => (
            Outcome::Undecided,
            format!("the bound is not held even at {}, the least that was tried", number(settings.from)),
        ),
        Some(least) => (Outcome::Undecided, format!("whether the limit is {least} or more is open")),
        None if found.is_within(settings.precision) => {
            (Outcome::Estimated, "a probe at the limit holds the bound half of the time".to_owned())
        }
        None if lo < settings.from => (
            Outcome::Undecided,
            format!("the limit may lie below {}, the least that was tried", number(settings.from)),
        ),
        None if hi > settings.to => (
            Outcome::Undecided,
            format!("the limit may lie above {}, the most that was tried", number(settings.to)),
        ),
        None => (
            Outcome::Undecided,
            format!(
                "the interval reaches further than {} % from the estimate",
                number(100.0 * settings.precision)
            ),
        ),
    };
    let held = trials.iter().flatten().filter(|probe| probe.held).count();
    let n = trials.iter().filter(|probes| !probes.is_empty()).count();
    Ok(Verdict {
        estimate: found.estimate,
        interval: Some(found.interval),
        confidence: settings.confidence,
        ..Verdict::bare("limit", metric, outcome, n, format!("{says}; {held} of {probes} probes held it"))
    })
}

/// Three significant digits, and all before the point.
fn number(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn check(probes: &[Probe]) -> Result<(), JudgeError> {
    match probes.iter().position(|probe| !(probe.at > 0.0 && probe.at.is_finite())) {
        Some(index) => Err(JudgeError::NotPositive { what: "probes".into(), index, value: probes[index].at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
