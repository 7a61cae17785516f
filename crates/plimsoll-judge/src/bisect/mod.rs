//! Which version in an ordered list brought a change, when every measurement is noisy.
//!
//! Plain bisection believes each measurement, and a single wrong belief loses the culprit for good. Here every version
//! keeps a probability of being the culprit (Burnashev & Zigangirov 1974; Ben-Or & Hassidim 2008), and the next
//! measurement goes near the posterior's median, where it halves the doubt. How high the levels before and after are, and
//! how noisy, is not known either and is integrated over a grid (`posterior`): plugged-in estimates are overconfident.
//!
//! The state is nothing but the settings and the measurements so far. It can be stored after each of them and taken up
//! again, and says the same.

mod posterior;

use crate::input::{self, JudgeError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Number of measurements of each end, at most, before the search begins.
const MOST_ENDS_FIRST: usize = 12;

/// Settings of a bisection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectSettings {
    /// How sure the answer must be: 0.99 as shipped.
    pub confidence: f64,
    /// How often each end is measured before anything else: 3 as shipped. Ends that do not differ clearly by then are
    /// measured up to 12 times.
    pub ends_first: usize,
    /// When to measure an end again: when the levels rest on fewer measurements than this many times those whose side
    /// of the change is not clear yet. 2 as shipped. In simulations 0.4 needed half as many measurements again, and 4
    /// no fewer.
    pub ends_weight: f64,
}

impl Default for BisectSettings {
    fn default() -> Self {
        Self { confidence: 0.99, ends_first: 3, ends_weight: 2.0 }
    }
}

/// One measurement of one version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The version's place in the list, from 0, the good end, on.
    pub version: usize,
    /// The figure, in the metric's unit, above 0.
    pub value: f64,
}

/// The answer of a bisection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The first version that was found with the new level.
    pub version: usize,
    /// The last version with the old level: the one just before, except that versions in between may not be measurable.
    /// Any of those may have brought the change as well.
    pub before: usize,
    /// How probable that is.
    pub probability: f64,
    /// The ratio of the new level to the old.
    pub ratio: f64,
}

impl Culprit {
    /// The culprit after it was compared with the version before it, pair by pair: `distances` are ln(culprit/before).
    ///
    /// Its probability is updated by the likelihood of the pairs with the step that the search found against that with none, the scatter of either
    /// integrated out (Student's t, as in Jeffreys 1961, chapter 5). The search believes in levels that stay; pairs need not.
    #[must_use]
    pub fn confirmed_by(self, distances: &[f64]) -> Self {
        let squares = |step: f64| distances.iter().map(|d| (d - step).powi(2)).sum::<f64>();
        let (with, without) = (squares(self.ratio.ln()), squares(0.0));
        let sum = with + without;
        if sum <= 0.0 {
            return self;
        }
        // Not below what rounding leaves, so that pairs without scatter do not divide by 0.
        let least = 1e-12 * sum;
        let factor = distances.len() as f64 / 2.0 * (without.max(least) / with.max(least)).ln();
        let odds = (self.probability / (1.0 - self.probability).max(f64::EPSILON)).ln() + factor;
        Self { probability: 1.0 / (1.0 + (-odds).exp()), ..self }
    }
}

/// A noisy bisection over `versions` versions: the first is good, the last is bad, and some version in between brought
/// the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    versions: usize,
    settings: BisectSettings,
    observations: Vec<Observation>,
    /// Versions that cannot be measured.
    #[serde(default)]
    skipped: BTreeSet<usize>,
}

impl Bisection {
    /// A bisection without measurements.
    ///
    /// # Errors
    /// Fewer than two versions, or settings out of range.
    pub fn new(versions: usize, settings: BisectSettings) -> Result<Self, JudgeError> {
        if versions < 2 {
            return Err(JudgeError::TooFew { what: "versions".into(), got: versions, needed: 2 });
        }
        input::between("confidence", settings.confidence, 0.5, 1.0, "a share between 0.5 and 1")?;
        input::between("ends_weight", settings.ends_weight, 0.0, 100.0, "a weight between 0 and 100")?;
        if settings.ends_first < 2 {
            let value = settings.ends_first as f64;
            return Err(JudgeError::Setting { name: "ends_first", value, expected: "2 or more" });
        }
        Ok(Self { versions, settings, observations: Vec::new(), skipped: BTreeSet::new() })
    }

    /// The measurements so far.
    pub fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// Takes one measurement, asked for or not.
    ///
    /// # Errors
    /// A version outside of the list, or a value that is not finite or not above 0; it is then not counted.
    pub fn record(&mut self, version: usize, value: f64) -> Result<(), JudgeError> {
        if version >= self.versions {
            let expected = "the place of a version in the list";
            return Err(JudgeError::Setting { name: "version", value: version as f64, expected });
        }
        input::positive("value", &[value])?;
        self.observations.push(Observation { version, value });
        Ok(())
    }

    /// Leaves a version out, because it cannot be measured. The answer then may span it.
    ///
    /// # Errors
    /// An end, or a version outside of the list.
    pub fn skip(&mut self, version: usize) -> Result<(), JudgeError> {
        if version == 0 || version + 1 >= self.versions {
            let expected = "the place of a version between the ends";
            return Err(JudgeError::Setting { name: "version", value: version as f64, expected });
        }
        self.skipped.insert(version);
        Ok(())
    }

    /// The version to measure next; `None` once the answer is sure enough.
    pub fn next_query(&self) -> Option<usize> {
        let last = self.versions - 1;
        let (good, bad) = (self.measured(0), self.measured(last));
        if good.min(bad) < self.settings.ends_first
            || good.min(bad) < MOST_ENDS_FIRST && !posterior::are_distinct(&self.logs(0), &self.logs(last))
        {
            return Some(if good <= bad { 0 } else { last });
        }
        let posterior = self.posterior();
        if self.spans(&posterior).iter().any(|span| span.probability >= self.settings.confidence) {
            return None;
        }
        let known = LevelWeights::of(&posterior, &self.observations);
        Some(if known.levels() < self.settings.ends_weight * known.unclear {
            if known.old <= known.new { 0 } else { last }
        } else {
            self.near_median(&posterior)
        })
    }

    /// How probable it is that each version is the culprit; 0 for the first, which is good. Uniform while the ends are
    /// not measured.
    pub fn posterior(&self) -> Vec<f64> {
        posterior::posterior(self.versions, &self.observations).probabilities
    }

    /// The most probable culprit, as soon as it is sure enough.
    pub fn answer(&self) -> Option<Culprit> {
        self.best().filter(|best| {
            best.probability >= self.settings.confidence
                && self.measured(0).min(self.measured(self.versions - 1)) >= self.settings.ends_first
        })
    }

    /// The most probable culprit so far; `None` before both ends were measured.
    pub fn best(&self) -> Option<Culprit> {
        if self.measured(0).min(self.measured(self.versions - 1)) == 0 {
            return None;
        }
        let found = posterior::posterior(self.versions, &self.observations);
        let spans = self.spans(&found.probabilities);
        let best = spans.into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability))?;
        Some(Culprit { ratio: found.ratio, ..best })
    }

    /// The spans that measurements can distinguish: every measurable version, together with the unmeasurable ones just
    /// before it.
    fn spans(&self, posterior: &[f64]) -> Vec<Culprit> {
        let mut spans = Vec::new();
        let mut before = 0;
        for version in (1..self.versions).filter(|version| !self.skipped.contains(version)) {
            let probability = posterior[before + 1..=version].iter().sum();
            spans.push(Culprit { version, before, probability, ratio: 1.0 });
            before = version;
        }
        spans
    }

    /// The version whose measurement splits the posterior most evenly: one before `v` is good when the culprit comes after.
    fn near_median(&self, posterior: &[f64]) -> usize {
        let mut up_to = 0.0;
        let mut best = (f64::INFINITY, 0);
        for (version, p) in posterior.iter().enumerate() {
            up_to += p;
            let imbalance = (up_to - 0.5).abs();
            if imbalance < best.0 && !self.skipped.contains(&version) {
                best = (imbalance, version);
            }
        }
        best.1
    }

    fn logs(&self, version: usize) -> Vec<f64> {
        self.observations.iter().filter(|o| o.version == version).map(|o| o.value.ln()).collect()
    }

    fn measured(&self, version: usize) -> usize {
        self.observations.iter().filter(|o| o.version == version).count()
    }
}

/// Effective numbers of measurements of the levels, each weighed by how sure its side of the change is.
struct LevelWeights {
    /// The old level.
    old: f64,
    /// The new level.
    new: f64,
    /// Neither yet, because the search still looks for their side.
    unclear: f64,
}

impl LevelWeights {
    fn of(posterior: &[f64], observations: &[Observation]) -> Self {
        let is_new: Vec<f64> = posterior
            .iter()
            .scan(0.0, |up_to, p| {
                *up_to += p;
                Some(*up_to)
            })
            .collect();
        let mut known = Self { old: 0.0, new: 0.0, unclear: 0.0 };
        for observation in observations {
            let lean = 2.0 * is_new[observation.version] - 1.0;
            let sure = lean * lean;
            known.unclear += 1.0 - sure;
            *(if lean < 0.0 { &mut known.old } else { &mut known.new }) += sure;
        }
        known
    }

    /// The number of measurements, half of them on each side, that would locate the middle between the levels as well:
    /// its variance is a quarter of the sum of both levels'.
    fn levels(&self) -> f64 {
        4.0 / (1.0 / self.old + 1.0 / self.new)
    }
}

#[cfg(test)]
mod tests;
