//! Which version in an ordered list brought a change, when every measurement is noisy.
//!
//! Plain bisection believes each measurement, and a single wrong belief loses the culprit for good. Here every version
//! keeps a probability of being the culprit (Burnashev & Zigangirov 1974; Ben-Or & Hassidim 2008), and the next
//! measurement goes near the posterior's median, where it halves the doubt. How high the levels before and after are, and
//! how noisy, is not known either and is integrated over a grid ([`posterior`]): plugged-in estimates are overconfident.
//!
//! The state is nothing but the settings and the measurements so far. It can be stored after each of them and taken up
//! again, and says the same.

mod posterior;

use crate::input::{self, JudgeError};
use crate::stats::rng::SmallRng;
use serde::{Deserialize, Serialize};

/// So often the ends are measured at most before the search begins.
const MOST_ENDS_FIRST: usize = 12;

/// What is asked of a bisection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectSettings {
    /// How sure the answer must be: 0.99 as shipped.
    pub confidence: f64,
    /// How often each end is measured before anything else: 3 as shipped. Ends that are not told apart by then are
    /// measured up to 12 times.
    pub ends_first: usize,
    /// The share of later measurements that go to the ends, to keep the levels known: 0.25 as shipped, because in
    /// simulations 0.1 needed a fifth more measurements in all.
    pub ends_share: f64,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for BisectSettings {
    fn default() -> Self {
        Self { confidence: 0.99, ends_first: 3, ends_share: 0.25, seed: 1 }
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
    /// The first version with the new level; the one before is the last with the old.
    pub version: usize,
    /// How probable that is.
    pub probability: f64,
    /// The ratio of the new level to the old.
    pub ratio: f64,
}

/// A noisy bisection over `versions` versions: the first is good, the last is bad, and some version in between brought
/// the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    versions: usize,
    settings: BisectSettings,
    observations: Vec<Observation>,
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
        input::between("ends_share", settings.ends_share, 0.0, 1.0, "a share between 0 and 1")?;
        if settings.ends_first < 2 {
            let value = settings.ends_first as f64;
            return Err(JudgeError::Setting { name: "ends_first", value, expected: "2 or more" });
        }
        Ok(Self { versions, settings, observations: Vec::new() })
    }

    /// The measurements so far.
    #[must_use]
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

    /// The version to measure next; `None` once the answer is sure enough.
    #[must_use]
    pub fn next_query(&self) -> Option<usize> {
        let last = self.versions - 1;
        let (good, bad) = (self.measured(0), self.measured(last));
        if good.min(bad) < self.settings.ends_first
            || good.min(bad) < MOST_ENDS_FIRST && !posterior::told_apart(&self.logs(0), &self.logs(last))
        {
            return Some(if good <= bad { 0 } else { last });
        }
        let posterior = self.posterior();
        if is_sure(&posterior, self.settings.confidence) {
            return None;
        }
        // Drawn anew from the seed and the count, so that a resumed bisection asks for the same.
        let mut rng = SmallRng::new(self.settings.seed ^ (self.observations.len() as u64) << 32);
        if rng.uniform() < self.settings.ends_share {
            return Some(if good <= bad { 0 } else { last });
        }
        Some(near_median(&posterior))
    }

    /// How probable it is that each version is the culprit; 0 for the first, which is good. Uniform while the ends are
    /// not measured.
    #[must_use]
    pub fn posterior(&self) -> Vec<f64> {
        posterior::posterior(self.versions, &self.observations).probabilities
    }

    /// The most probable culprit, as soon as it is sure enough.
    #[must_use]
    pub fn answer(&self) -> Option<Culprit> {
        self.best().filter(|best| {
            best.probability >= self.settings.confidence
                && self.measured(0).min(self.measured(self.versions - 1)) >= self.settings.ends_first
        })
    }

    /// The most probable culprit so far; `None` before both ends were measured.
    #[must_use]
    pub fn best(&self) -> Option<Culprit> {
        if self.measured(0).min(self.measured(self.versions - 1)) == 0 {
            return None;
        }
        let found = posterior::posterior(self.versions, &self.observations);
        let version =
            (1..self.versions).max_by(|a, b| found.probabilities[*a].total_cmp(&found.probabilities[*b]))?;
        Some(Culprit { version, probability: found.probabilities[version], ratio: found.ratio })
    }

    fn logs(&self, version: usize) -> Vec<f64> {
        self.observations.iter().filter(|o| o.version == version).map(|o| o.value.ln()).collect()
    }

    fn measured(&self, version: usize) -> usize {
        self.observations.iter().filter(|o| o.version == version).count()
    }
}

fn is_sure(posterior: &[f64], confidence: f64) -> bool {
    posterior.iter().any(|p| *p >= confidence)
}

/// The version whose measurement splits the posterior most evenly: one before `v` is good when the culprit comes after.
fn near_median(posterior: &[f64]) -> usize {
    let mut up_to = 0.0;
    let mut best = (f64::INFINITY, 0);
    for (version, p) in posterior.iter().enumerate() {
        up_to += p;
        let imbalance = (up_to - 0.5).abs();
        if imbalance < best.0 {
            best = (imbalance, version);
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
