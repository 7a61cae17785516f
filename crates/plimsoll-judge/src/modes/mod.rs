//! One mode or more? Whether values fall into groups, as they do when every third request takes the slow path.
//!
//! A mixture of two normal distributions competes with the likeliest distribution that has a single mode, leaning or not and with tails as
//! heavy as need be (`single`): a skewed series is no reason for a second mode. What the mixture gains in log-likelihood is the evidence,
//! more of which is asked for where the two are near (Ashman's D; Ashman, Bird & Zepf 1994, *Detecting bimodality in astronomical datasets*) or
//! where one is light. Further modes must pay by Schwarz's criterion, with a valley between them. The report adds Hartigan's dip test as
//! support: alone, it misses most second modes at such sizes.
//!
//! A level that shifted in time is no second mode. Shifts and a trend are taken out first, but only where the order of the values is no random
//! one: two modes in random order are no shift. Levels that come and go are modes.

mod clumps;
mod dip;
mod minimise;
mod mixture;
pub mod order;
mod single;

pub use dip::{Dip, dip_test};

use crate::changes::{Change, find_levels, in_order};
use crate::input::{JudgeError, finite};
use crate::stats::{median_in_place, quantile_sorted, sorted};
use crate::wording::{count, figure, percent};
use mixture::{Component, Mixture, Sample, tick};
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::Serialize;

/// Fewer values than this cannot separate one mode from two.
pub const LEAST_VALUES: usize = 31;
/// Least gain of a second component in log-likelihood over the likeliest single mode, at a separation of [`USUAL_SEPARATION`]; chosen by
/// simulation so that 2 of 100 samples with one mode are taken for two at most.
const LEAST_EVIDENCE: f64 = 4.0;
/// The least evidence if the values are copies of a few: [`Sample::independent`] of them count.
const LEAST_EVIDENCE_OF_FEW: f64 = 7.5;
/// Ashman's D of two modes about whose being apart nothing is said beforehand.
const USUAL_SEPARATION: f64 = 3.0;
/// Prior of each standard deviation of separation more or less, in log-likelihood; up to [`WIDE_SEPARATION`].
const PER_SEPARATION: f64 = 2.0;
/// Farther apart is no surer.
const WIDE_SEPARATION: f64 = 6.0;
/// A mode that holds a smaller share of the values may be a tail.
const USUAL_WEIGHT: f64 = 0.15;
/// Penalty of each per cent below [`USUAL_WEIGHT`], in log-likelihood.
const PER_PERCENT: f64 = 0.75;
/// The chance of reporting an order in random data.
const ORDER_ALPHA: f64 = 0.001;
/// Least gain of a third or further component in Schwarz's criterion (Kass & Raftery 1995: above 10 is very strong evidence).
const BIC_GAIN: f64 = 10.0;
/// How far apart two modes must be, in their pooled standard deviations: nearer than that, two normal distributions of one width have one mode
/// together (Ashman, Bird & Zepf 1994), and of two widths they are one peak with a broad foot.
const LEAST_SEPARATION: f64 = 2.0;
/// How far apart three and more modes must be, in their pooled standard deviations.
const SEPARATION: f64 = 2.6;
/// The smallest share of the values that is a mode.
const LEAST_WEIGHT: f64 = 0.08;
/// How far the density must fall between two modes of many, as a share of the lower one: a shoulder or a long tail is no mode.
const LEAST_VALLEY: f64 = 0.1;
/// Up to this number of values a valley is too noisy to be required between two modes.
const FEW: f64 = 100.0;
/// A level that returns this many times has come and gone, and is a mode. Once may be a fault that was mended.
const ENOUGH_RETURNS: usize = 2;
/// The largest number of modes.
const MOST_MODES: usize = 6;
/// Values this many interquartile ranges outside the quartiles are far off.
const FENCE: f64 = 3.0;
/// So large a share of the values may be far off, and is then left out of the search.
const MOST_FAR: f64 = 0.05;

/// A place where values gather.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// The median of its values, in their unit.
    pub center: f64,
    /// Its share of all values, 0 to 1.
    pub weight: f64,
    /// Half the distance between the 16th and the 84th of a hundred of its values, in their unit: the standard deviation, where they are normal.
    pub width: f64,
}

/// What [`find_modes`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// The modes by rising centre; empty where there were too few values.
    pub modes: Vec<Mode>,
    /// The mode of each value, as a place in `modes`.
    pub belongs_to: Vec<usize>,
    /// The shifts in time that were taken out before; the centres are those of the last level.
    pub shifts: Vec<Change>,
    /// The trend that was taken out, in the unit of the values for each value; absent where there was none.
    pub trend: Option<f64>,
    /// Gain of two components in log-likelihood over the likeliest distribution with a single mode; absent where none were fitted.
    pub evidence: Option<f64>,
    /// Ashman's D of the nearest two modes, or of the two components that were not taken for modes; absent where none were fitted.
    pub separation: Option<f64>,
    /// Hartigan's dip; absent where there were too few values.
    pub dip: Option<Dip>,
    /// How many values there are.
    pub n: usize,
}

/// Looks for modes in values as if they had no order in time: a mode that comes and goes counts as much as one that alternates.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`].
pub fn find_modes_in_any_order(values: &[f64]) -> Result<Modes, JudgeError> {
    finite("values", values)?;
    Ok(if values.len() < LEAST_VALUES { Modes::none(values.len()) } else { gathered(values) })
}

/// Looks for modes in values that stand in order of time.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`].
pub fn find_modes(values: &[f64]) -> Result<Modes, JudgeError> {
    let mixed = find_modes_in_any_order(values)?;
    if mixed.modes.is_empty() || !in_order(values, ORDER_ALPHA) {
        return Ok(mixed);
    }
    let found = find_levels(values)?;
    let Some(flat) = found.flat() else { return Ok(mixed) };
    if mixed.returns_between(values, &found.changes) >= ENOUGH_RETURNS {
        return Ok(mixed);
    }
    let modes = gathered(flat);
    Ok(Modes { shifts: found.changes, trend: found.trend, ..modes })
}

/// The modes of at least [`LEAST_VALUES`] values in any order.
fn gathered(values: &[f64]) -> Modes {
    let n = values.len();
    let ordered = sorted(values);
    let dip = Some(dip_test(&ordered));
    let none = Modes { dip, ..Modes::none(n) };
    let near = without_far(&ordered);
    let half_range = near[near.len() - 1] / 2.0 - near[0] / 2.0;
    if half_range == 0.0 {
        return none.with(values, &[]);
    }
    let middle = near[near.len() / 2];
    let scaled = near.iter().map(|x| (x / 2.0 - middle / 2.0) / half_range).collect();
    let sample = Sample::new(scaled, tick(near) / 2.0 / half_range);
    let grown = GrownMixture::from(&sample);
    let between: Vec<f64> =
        grown.mixture.valleys().into_iter().map(|x| middle + x * half_range + x * half_range).collect();
    let judged = Modes { evidence: Some(grown.evidence), separation: Some(grown.separation), ..none };
    judged.with(values, &between)
}

/// The values that are not far off, where those that are are few. Rising order in and out.
fn without_far(ordered: &[f64]) -> &[f64] {
    let (low, high) = (quantile_sorted(ordered, 0.25), quantile_sorted(ordered, 0.75));
    let reach = FENCE * (high - low);
    let from = ordered.partition_point(|x| *x < low - reach);
    let to = ordered.partition_point(|x| *x <= high + reach);
    let far = ordered.len() - (to - from);
    if far as f64 <= MOST_FAR * ordered.len() as f64 { &ordered[from..to] } else { ordered }
}

/// The mixture that is left when no further component is worth having.
struct GrownMixture {
    mixture: Mixture,
    evidence: f64,
    separation: f64,
}

impl GrownMixture {
    fn from(sample: &Sample) -> Self {
        let n = sample.len();
        let single = sample.fit_one();
        let pair = sample.fit_two();
        let one_mode = single::log_likelihood(sample.points()).max(single.log_likelihood);
        let evidence = pair.log_likelihood - one_mode;
        let separation = nearest(&pair);
        let grown = |mixture| Self { separation, mixture, evidence };
        let share = sample.independent();
        if share * evidence + beforehand(&pair) > least_evidence(share)
            && separation > LEAST_SEPARATION
            && pair.shallowest_valley() > LEAST_VALLEY * (1.0 - FEW / n as f64)
        {
            return grown(pair).with_more(sample);
        }
        // Three modes at equal distances are nearly as well described by a flat top as by two components.
        let three = sample.fit_one_more(&pair);
        let gain = share * (three.log_likelihood - one_mode);
        if gain > least_evidence(share) + BIC_GAIN / 2.0 && distinct(&three) {
            return Self { separation: nearest(&three), ..grown(three) }.with_more(sample);
        }
        grown(single)
    }

    fn with_more(mut self, sample: &Sample) -> Self {
        while self.mixture.components.len() < MOST_MODES {
            let candidate = sample.fit_one_more(&self.mixture);
            let n = sample.len();
            let gain = sample.independent() * (self.mixture.bic(n) - candidate.bic(n));
            if gain <= BIC_GAIN || !distinct(&candidate) {
                break;
            }
            self.separation = nearest(&candidate);
            self.mixture = candidate;
        }
        self
    }
}

/// Least gain where this share of the values is evidence of its own.
fn least_evidence(share: f64) -> f64 {
    if share < 1.0 { LEAST_EVIDENCE_OF_FEW } else { LEAST_EVIDENCE }
}

/// The prior log-odds of two components as modes.
fn beforehand(pair: &Mixture) -> f64 {
    let lighter = pair.components.iter().map(|c| c.weight).fold(1.0, f64::min);
    let apart = nearest(pair).min(WIDE_SEPARATION) - USUAL_SEPARATION;
    PER_SEPARATION * apart - PER_PERCENT * 100.0 * (USUAL_WEIGHT - lighter).max(0.0)
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

impl Mode {
    /// The mode of these of `n` values.
    fn of(values: &mut [f64], n: usize) -> Self {
        // Halves, between which no difference is too large a number.
        values.iter_mut().for_each(|v| *v /= 2.0);
        values.sort_unstable_by(f64::total_cmp);
        Self {
            center: 2.0 * quantile_sorted(values, 0.5),
            weight: values.len() as f64 / n as f64,
            width: quantile_sorted(values, 0.84) - quantile_sorted(values, 0.16),
        }
    }
}

impl Modes {
    /// Nothing of `n` values.
    fn none(n: usize) -> Self {
        Self {
            modes: Vec::new(),
            belongs_to: Vec::new(),
            shifts: Vec::new(),
            trend: None,
            evidence: None,
            separation: None,
            dip: None,
            n,
        }
    }

    /// Assigns every value to the mode between whose valleys it lies.
    fn with(mut self, values: &[f64], between: &[f64]) -> Self {
        let belongs: Vec<usize> = values.iter().map(|v| between.partition_point(|b| b < v)).collect();
        let mut groups = vec![Vec::new(); between.len() + 1];
        for (value, group) in values.iter().zip(&belongs) {
            groups[*group].push(*value);
        }
        // A valley beside which no value lies parts nothing.
        let place: Vec<usize> = groups
            .iter()
            .scan(0, |seen, group| {
                let at = *seen;
                *seen += usize::from(!group.is_empty());
                Some(at)
            })
            .collect();
        self.belongs_to = belongs.into_iter().map(|group| place[group]).collect();
        self.modes = groups.iter_mut().filter(|g| !g.is_empty()).map(|g| Mode::of(g, values.len())).collect();
        self
    }

    /// How often a mode that was left is seen again, by the levels that the values keep for a while: 0 for levels that only ever shift.
    ///
    /// # Errors
    /// Those of [`find_modes`].
    pub fn returns(&self, values: &[f64]) -> Result<usize, JudgeError> {
        Ok(self.returns_between(values, &find_levels(values)?.changes))
    }

    fn returns_between(&self, values: &[f64], shifts: &[Change]) -> usize {
        let starts = std::iter::once(0).chain(shifts.iter().map(|shift| shift.index));
        let ends = shifts.iter().map(|shift| shift.index).chain([values.len()]);
        let mode = |(from, to): (usize, usize)| {
            let middle = median_in_place(&mut values[from..to].to_vec());
            let distance = |k: &usize| (self.modes[*k].center - middle).abs();
            (0..self.modes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let mut way: Vec<Option<usize>> = starts.zip(ends).map(mode).collect();
        way.dedup();
        let stretches = way.len();
        way.sort_unstable();
        way.dedup();
        stretches - way.len()
    }

    /// The verdict: `one_mode`, `several_modes` or `too_few`. The estimate is the centre of the heaviest mode.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let bare = |outcome, reason: String| Verdict::bare("modes", metric, outcome, self.n, reason);
        let Some(heaviest) = self.modes.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)) else {
            let missing = LEAST_VALUES.saturating_sub(self.n);
            let reason = format!(
                "{} cannot separate one mode from two: {missing} more needed",
                count(self.n, "value")
            );
            return bare(Outcome::TooFew, reason);
        };
        let outcome = if self.modes.len() > 1 { Outcome::SeveralModes } else { Outcome::OneMode };
        Verdict { estimate: Some(heaviest.center), ..bare(outcome, self.in_words()) }
    }

    fn in_words(&self) -> String {
        let values = count(self.n, "value");
        let mut words = if let [only] = &self.modes[..] {
            format!("one mode at {} ± {} describes {values}", figure(only.center), figure(only.width))
        } else {
            let place =
                |m: &Mode| format!("{} ± {} ({})", figure(m.center), figure(m.width), percent(m.weight));
            let places: Vec<String> = self.modes.iter().map(place).collect();
            format!("{} modes in {values}: {}", self.modes.len(), places.join(", "))
        };
        if let Some(dip) = self.dip {
            words += match (self.modes.len() > 1, dip.p < 0.05) {
                (true, true) => "; the dip test agrees",
                (true, false) => "; the dip test alone would not show it",
                (false, true) => {
                    "; the dip test objects, but no second mode is both distant and heavy enough"
                }
                (false, false) => "",
            };
        }
        if !self.shifts.is_empty() {
            let shifts = count(self.shifts.len(), "shift");
            words += &format!("; {shifts} of level in time removed first, since a step is no second mode");
        }
        if self.trend.is_some() {
            words += "; a trend removed first";
        }
        words
    }
}

#[cfg(test)]
mod tests;
