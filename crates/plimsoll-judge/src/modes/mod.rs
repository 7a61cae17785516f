//! One mode or more? Whether values fall into groups, as they do when every third request takes the slow path.
//!
//! A mixture of normal distributions is fitted; a second component counts as a mode when it pays (ΔBIC above 10), when it is apart (Ashman's
//! D above 2.6; Ashman, Bird & Zepf 1994, *Detecting bimodality in astronomical datasets*) and when it is no mere tail (more than 8 % of
//! the values, and a valley before it). A flat top counts as one mode, by a uniform distribution that competes with the mixture. Hartigan's dip
//! test is reported beside it, as support: alone, it misses most second modes at such sizes; where it is very sure, the second component need
//! not pay as much. A level that shifted in time is taken out first, for a step is no second mode.

mod dip;
mod mixture;
pub mod order;

pub use dip::{Dip, dip_test};

use crate::changes::{Change, find_changes};
use crate::input::{JudgeError, finite};
use crate::stats::rng::SmallRng;
use crate::stats::sorted;
use crate::wording::{count, figure, percent};
use mixture::{Component, Mixture, Sample, tick};
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::Serialize;

/// Fewer values than this cannot tell one mode from two.
pub const LEAST_VALUES: usize = 31;
/// What a further component must gain in Schwarz's criterion (Kass & Raftery 1995: above 10 is very strong evidence).
const BIC_GAIN: f64 = 10.0;
/// What a second one must gain where the dip test, which knows nothing of normal distributions, is surer than [`DIP_SURE`]: values that scatter
/// widely about each of two places are nearly as well described by a flat top over both.
const BIC_GAIN_WITH_DIP: f64 = 6.0;
/// The dip test's probability below which there is more than one mode.
const DIP_SURE: f64 = 0.001;
/// How far apart two modes must be, in their pooled standard deviations.
const SEPARATION: f64 = 2.6;
/// The smallest share of the values that is a mode.
const LEAST_WEIGHT: f64 = 0.08;
/// How far the density must fall between two modes, as a share of the lower one: a shoulder or a long tail is no mode.
const LEAST_VALLEY: f64 = 0.1;
/// No more modes are looked for.
const MOST_MODES: usize = 6;

/// A place where values gather.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// The mean of its values, in their unit.
    pub center: f64,
    /// Its share of all values, 0 to 1.
    pub weight: f64,
}

/// What [`find_modes`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// The modes by rising centre; empty where there were too few values.
    pub modes: Vec<Mode>,
    /// The shifts in time that were taken out before; the centres are those of the last level.
    pub shifts: Vec<Change>,
    /// What a second component gains in Schwarz's criterion; absent where none was fitted.
    pub bic_gain: Option<f64>,
    /// Ashman's D of the nearest two modes, or of the two components that were not taken for modes; absent where none were fitted.
    pub separation: Option<f64>,
    /// Hartigan's dip; absent where there were too few values.
    pub dip: Option<Dip>,
    /// How many values there are.
    pub n: usize,
}

/// Looks for modes in values as if they had no order in time: what comes and goes counts as much as what alternates.
///
/// # Errors
/// Those of [`find_modes`].
pub fn find_modes_in_any_order(values: &[f64]) -> Result<Modes, JudgeError> {
    let mut mixed = values.to_vec();
    // Any order without a trend will do, but the same values are to give the same answer.
    SmallRng::new(values.len() as u64).shuffle(&mut mixed);
    find_modes(&mixed)
}

/// Looks for modes in values that stand in order of time.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`].
pub fn find_modes(values: &[f64]) -> Result<Modes, JudgeError> {
    finite("values", values)?;
    let n = values.len();
    let none =
        Modes { modes: Vec::new(), shifts: Vec::new(), bic_gain: None, separation: None, dip: None, n };
    if n < LEAST_VALUES {
        return Ok(none);
    }
    let shifts = find_changes(values)?.changes;
    let ordered = sorted(&levelled(values, &shifts));
    let dip = dip_test(&ordered);
    let half_range = ordered[n - 1] / 2.0 - ordered[0] / 2.0;
    if half_range == 0.0 {
        return Ok(Modes {
            modes: vec![Mode { center: ordered[0], weight: 1.0 }],
            shifts,
            dip: Some(dip),
            ..none
        });
    }
    let middle = ordered[n / 2];
    let scaled = ordered.iter().map(|x| (x / 2.0 - middle / 2.0) / half_range).collect();
    let least_gain = if dip.p <= DIP_SURE { BIC_GAIN_WITH_DIP } else { BIC_GAIN };
    let grown = Grown::from(&Sample::new(scaled, tick(&ordered) / 2.0 / half_range), n, least_gain);
    let mode =
        |c: &Component| Mode { center: middle + c.mean * half_range + c.mean * half_range, weight: c.weight };
    Ok(Modes {
        modes: grown.mixture.components.iter().map(mode).collect(),
        shifts,
        bic_gain: Some(grown.bic_gain),
        separation: Some(grown.separation),
        dip: Some(dip),
        n,
    })
}

/// The values as they would be had the last level held all the time; as they are, where that is too large a number.
fn levelled(values: &[f64], shifts: &[Change]) -> Vec<f64> {
    let (Some(first), Some(last)) = (shifts.first(), shifts.last()) else { return values.to_vec() };
    let level_at = |i: usize| match shifts.partition_point(|s| s.index <= i) {
        0 => first.before,
        k => shifts[k - 1].after,
    };
    let flat: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - level_at(i) + last.after).collect();
    if flat.iter().all(|v| v.is_finite()) { flat } else { values.to_vec() }
}

/// The mixture that is left when no further component is worth having.
struct Grown {
    mixture: Mixture,
    bic_gain: f64,
    separation: f64,
}

impl Grown {
    /// A second component must gain `least_gain`, further ones [`BIC_GAIN`].
    fn from(sample: &Sample, n: usize, least_gain: f64) -> Self {
        let single = sample.fit_one();
        let pair = sample.fit_two();
        // Two normal components describe a flat top better than one does, yet it is one mode.
        let single_bic = single.bic(n).min(sample.uniform_bic());
        let bic_gain = single_bic - pair.bic(n);
        let mut separation = nearest(&pair);
        let mut mixture = single;
        let mut candidate = pair;
        let (mut bic, mut least_gain) = (single_bic, least_gain);
        while bic - candidate.bic(n) > least_gain && distinct(&candidate) {
            least_gain = BIC_GAIN;
            bic = candidate.bic(n);
            mixture = candidate;
            separation = nearest(&mixture);
            if mixture.components.len() == MOST_MODES {
                break;
            }
            candidate = sample.fit_one_more(&mixture);
        }
        Self { mixture, bic_gain, separation }
    }
}

/// Ashman's D of the two neighbours that are least apart.
fn nearest(mixture: &Mixture) -> f64 {
    let apart = |pair: &[Component]| {
        let pooled = ((pair[0].sd.powi(2) + pair[1].sd.powi(2)) / 2.0).sqrt();
        (pair[1].mean - pair[0].mean) / pooled
    };
    mixture.components.windows(2).map(apart).fold(f64::INFINITY, f64::min)
}

fn distinct(mixture: &Mixture) -> bool {
    mixture.shallowest_valley() > LEAST_VALLEY
        && nearest(mixture) > SEPARATION
        && mixture.components.iter().all(|c| c.weight > LEAST_WEIGHT)
}

impl Modes {
    /// The verdict: `one_mode`, `several_modes` or `too_few`. The estimate is the centre of the heaviest mode.
    #[must_use]
    pub fn verdict(&self, metric: &str) -> Verdict {
        let bare = |outcome, reason: String| Verdict::bare("modes", metric, outcome, self.n, reason);
        let Some(heaviest) = self.modes.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)) else {
            let missing = LEAST_VALUES.saturating_sub(self.n);
            let reason =
                format!("{} cannot tell one mode from two: {missing} more needed", count(self.n, "value"));
            return bare(Outcome::TooFew, reason);
        };
        let outcome = if self.modes.len() > 1 { Outcome::SeveralModes } else { Outcome::OneMode };
        Verdict { estimate: Some(heaviest.center), ..bare(outcome, self.told()) }
    }

    fn told(&self) -> String {
        let values = count(self.n, "value");
        let mut told = if let [only] = &self.modes[..] {
            format!("one mode at {} describes {values}", figure(only.center))
        } else {
            let place = |m: &Mode| format!("{} ({})", figure(m.center), percent(m.weight));
            let places: Vec<String> = self.modes.iter().map(place).collect();
            format!("{} modes in {values}: {}", self.modes.len(), places.join(", "))
        };
        if let Some(dip) = self.dip {
            told += match (self.modes.len() > 1, dip.p < 0.05) {
                (true, true) => "; the dip test agrees",
                (true, false) => "; the dip test alone would not show it",
                (false, true) => {
                    "; the dip test doubts it, yet no second mode is both apart and heavy enough"
                }
                (false, false) => "",
            };
        }
        if !self.shifts.is_empty() {
            let shifts = count(self.shifts.len(), "shift");
            told += &format!("; {shifts} of level in time taken out first, for a step is no second mode");
        }
        told
    }
}

#[cfg(test)]
mod tests;
