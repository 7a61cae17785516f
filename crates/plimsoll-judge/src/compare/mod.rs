//! A against B: is one slower, or are they the same, and by how much?
//!
//! Values are compared by ratio, `d = ln(B/A)`, shares by difference, `d = B - A`. Pairs that were measured next to
//! each other, in random order, share the weather of the machine, and their difference is free of it. The order inside
//! of pairs was random, so that under no difference every sign is a coin: a sign-flip permutation test (Fisher 1935) of
//! differences whose size is cut, with the Hodges-Lehmann estimate and the signed-rank interval (Hollander & Wolfe,
//! chapter 3). Without pairs the Mann-Whitney test and its shift are used, and the verdict says what that costs.
//!
//! `Same` is a claim of its own and needs an interval inside of the margin (two one-sided tests, Schuirmann 1987); no
//! significant difference alone is `Undecided`.

pub mod aa_test;
mod levels;

pub use levels::nested;

use crate::Scale;
use crate::input::{self, JudgeError};
use crate::stats::rank::{mann_whitney, sign_flip, tamed_sign_flip};
use crate::stats::shift::{Location, centre, shift};
use crate::stats::{dist, mean, sd};
use crate::wording;
use plimsoll_model::verdict::{Outcome, Verdict};

/// Fewer pairs decide nothing: that all of their signs agree is no rarer by chance than 5 % (2/2⁵ = 6 %), and what makes it
/// rarer would be an assumption about their distribution.
pub const FEWEST_PAIRS: usize = 6;
/// So many pairs show whether figures into which no chance comes repeat.
pub const FEWEST_EXACT: usize = 2;
/// Without pairs, so many values on each side: only 2 of the 70 orders of 4 and 4 set all of A apart from all of B.
const FEWEST_UNPAIRED: usize = 4;
/// From this many pairs on their signs carry 1 % (2/2⁸ = 0.8 %).
const FLIP_PAIRS: usize = 8;
/// The chance to find a real difference that planned numbers of pairs aim at.
const PLANNED_POWER: f64 = 0.95;

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareSettings {
    /// The chance of calling two equal things different: 0.01 as shipped.
    pub alpha: f64,
    /// The confidence of the reported interval: 0.95 as shipped.
    pub confidence: f64,
    /// Ratios from 1/(1 + margin) to 1 + margin count as the same, differences from -margin to margin: 0.01 as shipped.
    pub margin: f64,
    /// Whether figures are compared by ratio, as shipped, or by difference.
    pub scale: Scale,
    /// True for times and costs, false for rates.
    pub lower_is_better: bool,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self { alpha: 0.01, confidence: 0.95, margin: 0.01, scale: Scale::Ratio, lower_is_better: true }
    }
}

impl CompareSettings {
    /// Checks the ranges of all settings.
    ///
    /// # Errors
    /// [`JudgeError::Setting`] names the one that is out of range.
    pub fn check(&self) -> Result<(), JudgeError> {
        input::between("alpha", self.alpha, 0.0, 0.5, "a chance between 0 and 0.5")?;
        input::between("confidence", self.confidence, 0.5, 1.0, "a share between 0.5 and 1")?;
        input::between("margin", self.margin, 0.0, 10.0, "a share between 0 and 10")
    }

    /// The margin on the scale of `ln(B/A)`, or of `B - A`.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.scale.margin(self.margin)
    }

    /// Which outcome a shift off zero is.
    pub(crate) fn direction(&self, shift: f64) -> Outcome {
        if (shift > 0.0) == self.lower_is_better { Outcome::Slower } else { Outcome::Faster }
    }
}

/// A verdict on A against B with the figures behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// `slower`, `faster`, `same` or `undecided`; estimate and interval are ratios B/A, or differences B - A.
    pub verdict: Verdict,
    /// The two-sided p-value of "A and B do not differ".
    pub p: f64,
    /// How many pairs (values on each side, without pairs) would probably decide it; only when undecided.
    pub needed: Option<usize>,
}

/// How far B lies above A on the scale, in each pair: `ln(B/A)`, or `B - A`.
///
/// # Errors
/// Empty or non-finite values, different lengths, or values that are not above 0 where ratios are asked for.
pub fn distances(a: &[f64], b: &[f64], scale: Scale) -> Result<Vec<f64>, JudgeError> {
    let (on_a, on_b) = (scale.place("a", a)?, scale.place("b", b)?);
    input::same_length(("a", a), ("b", b))?;
    Ok(on_a.iter().zip(&on_b).map(|(a, b)| b - a).collect())
}

/// Judges pairs: `a[i]` and `b[i]` were measured next to each other.
///
/// # Errors
/// Empty, non-finite or non-positive values, different lengths, or settings out of range.
pub fn paired(
    metric: &str,
    a: &[f64],
    b: &[f64],
    settings: &CompareSettings,
) -> Result<Comparison, JudgeError> {
    settings.check()?;
    let d = distances(a, b, settings.scale)?;
    let (p, test) = paired_p(&d);
    let evidence = Evidence {
        location: centre(&d, settings.confidence),
        p,
        n: d.len(),
        fewest: FEWEST_PAIRS,
        sample: format!("{}, {test} p = {}", wording::count(d.len(), "pair"), wording::p_value(p)),
    };
    Ok(evidence.judge(metric, settings))
}

/// Judges pairs of figures into which no chance comes, such as numbers of instructions, once each side has been seen to repeat to the last bit: there is
/// nothing to test then, and the ratio is what it is. Nothing where they do not repeat.
///
/// # Errors
/// As [`paired`].
pub fn exact(
    metric: &str,
    a: &[f64],
    b: &[f64],
    settings: &CompareSettings,
) -> Result<Option<Comparison>, JudgeError> {
    settings.check()?;
    let d = distances(a, b, settings.scale)?;
    let repeats = |of: &[f64]| of.iter().all(|value| value.to_bits() == of[0].to_bits());
    if d.len() < FEWEST_EXACT || !repeats(a) || !repeats(b) {
        return Ok(None);
    }
    let location = Location { estimate: d[0], lo: d[0], hi: d[0] };
    let inside = d[0].abs() <= settings.bound();
    let outcome = if inside { Outcome::Same } else { settings.direction(d[0]) };
    let p = if d[0] == 0.0 { 1.0 } else { 0.0 };
    let sample = format!("{}, alike to the last bit on each side", wording::count(d.len(), "pair"));
    let evidence = Evidence { location, p, n: d.len(), fewest: FEWEST_EXACT, sample };
    Ok(Some(evidence.report(outcome, metric, settings)))
}

/// The p-value of no difference, and the test's name. The fewest pairs get Student's t, because their signs cannot
/// reach 1 %; equal differences, which have no spread to judge by, are flipped all the same.
pub(crate) fn paired_p(d: &[f64]) -> (f64, &'static str) {
    let n = d.len();
    if n >= FLIP_PAIRS {
        return (tamed_sign_flip(d), "sign-flip");
    }
    let spread = sd(d);
    if spread <= 1e-9 * mean(d).abs() {
        return (sign_flip(d, 0), "sign-flip");
    }
    let t = mean(d) / (spread / (n as f64).sqrt());
    (dist::t_two_sided(t, n as f64 - 1.0), "Student's t")
}

/// Judges two independent samples, of any lengths.
///
/// # Errors
/// Empty, non-finite or non-positive values, or settings out of range.
pub fn unpaired(
    metric: &str,
    a: &[f64],
    b: &[f64],
    settings: &CompareSettings,
) -> Result<Comparison, JudgeError> {
    settings.check()?;
    let (on_a, on_b) = (settings.scale.place("a", a)?, settings.scale.place("b", b)?);
    let p = mann_whitney(&on_b, &on_a).p;
    let n = a.len().min(b.len());
    let mut location = shift(&on_a, &on_b, settings.confidence);
    if n < FEWEST_UNPAIRED {
        // Even all differences together span less than the confidence asks for.
        (location.lo, location.hi) = (f64::NEG_INFINITY, f64::INFINITY);
    }
    let evidence = Evidence {
        location,
        p,
        n,
        fewest: FEWEST_UNPAIRED,
        sample: format!(
            "{} and {} values, Mann-Whitney p = {}; not paired, so whatever drifted between the two is part of the \
             difference",
            a.len(),
            b.len(),
            wording::p_value(p)
        ),
    };
    Ok(evidence.judge(metric, settings))
}

/// What a comparison rests on, before it is turned into words.
pub(crate) struct Evidence {
    /// The centre of the distances on the scale, with its interval.
    pub(crate) location: Location,
    /// The p-value of no difference.
    pub(crate) p: f64,
    /// The number of independent units.
    pub(crate) n: usize,
    /// With fewer of them nothing is decided; 0 where that was seen to elsewhere.
    pub(crate) fewest: usize,
    /// What was looked at, and with which test, in words.
    pub(crate) sample: String,
}

impl Evidence {
    pub(crate) fn judge(&self, metric: &str, settings: &CompareSettings) -> Comparison {
        self.report(self.outcome(settings), metric, settings)
    }

    /// The comparison for an outcome that was decided elsewhere, such as by a sequential test.
    pub(crate) fn report(&self, outcome: Outcome, metric: &str, settings: &CompareSettings) -> Comparison {
        let needed = (outcome == Outcome::Undecided).then(|| self.needed(settings)).flatten();
        let verdict = Verdict {
            claim: "difference".into(),
            metric: metric.into(),
            outcome,
            estimate: Some(settings.scale.estimate(self.location)),
            interval: settings.scale.interval(self.location),
            confidence: settings.confidence,
            n: self.n,
            reason: self.reason(outcome, needed, settings),
            expected: None,
            holds: None,
        };
        Comparison { verdict, p: self.p, needed }
    }

    fn outcome(&self, settings: &CompareSettings) -> Outcome {
        let margin = settings.bound();
        if self.n < self.fewest {
            Outcome::Undecided
        } else if self.location.lo >= -margin && self.location.hi <= margin {
            Outcome::Same
        } else if self.p <= settings.alpha && self.location.estimate != 0.0 {
            settings.direction(self.location.estimate)
        } else {
            Outcome::Undecided
        }
    }

    /// How many units would decide it: enough to show the estimate as a difference, or as lying inside of the margin.
    fn needed(&self, settings: &CompareSettings) -> Option<usize> {
        let spread = self.location.standard_error(settings.confidence) * (self.n as f64).sqrt();
        let effect = effect_to_resolve(self.location.estimate, settings.bound());
        match pairs_needed(spread, effect, settings.alpha, PLANNED_POWER) {
            Some(n) => Some(n.max(self.n + 1).max(self.fewest)),
            None => (self.n < self.fewest).then_some(self.fewest),
        }
    }

    fn reason(&self, outcome: Outcome, needed: Option<usize>, settings: &CompareSettings) -> String {
        let margin = settings.scale.margin_in_words(settings.margin);
        let found = format!(
            "{} is {} ({}; {})",
            settings.scale.comparison(),
            settings.scale.change(self.location),
            settings.scale.interval_in_words(self.location, settings.confidence),
            self.sample,
        );
        match outcome {
            Outcome::Same => format!("{found}: all of the interval lies within the margin of {margin}"),
            Outcome::Undecided if self.n < self.fewest => {
                let more = needed.map_or(self.fewest, |n| n.max(self.fewest));
                format!(
                    "{found}: fewer than {} on each side decide nothing, whatever they show; about {more} would",
                    self.fewest
                )
            }
            Outcome::Undecided => {
                let more = match needed {
                    Some(n) => format!("about {n} on each side would decide it"),
                    None => "there is no spread yet to tell how many more would decide it".into(),
                };
                format!(
                    "{found}: neither a difference at the level {} nor inside the margin of {margin}; {more}",
                    settings.alpha
                )
            }
            _ => {
                let better = if settings.lower_is_better { "lower" } else { "higher" };
                format!("{found}; {better} is better")
            }
        }
    }
}

/// The size of effect that an undecided comparison has to resolve, on the log scale: the estimate itself when it lies
/// outside of the margin, else its distance to the margin's edge (a quarter of the margin at least).
pub(crate) fn effect_to_resolve(estimate: f64, log_margin: f64) -> f64 {
    let size = estimate.abs();
    if size > log_margin { size } else { (log_margin - size).max(log_margin / 4.0) }
}

/// How many pairs find an effect of `effect` with probability `power` at level `alpha`, for pairs whose differences
/// have the standard deviation `spread`: `1.05·((z₁₋α/₂ + z_power)·spread/effect)²`, where 1.05 pays for ranks instead
/// of means (the signed-rank test's efficiency is 3/π). `None` unless spread and effect are finite and above 0.
#[must_use]
pub fn pairs_needed(spread: f64, effect: f64, alpha: f64, power: f64) -> Option<usize> {
    let z = dist::normal_quantile(1.0 - alpha / 2.0) + dist::normal_quantile(power);
    let n = 1.05 * (z * spread / effect).powi(2);
    (n.is_finite() && n > 0.0).then(|| n.ceil().min(1e12) as usize)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::verdict::Interval;

    use super::*;
    use crate::stats::rng::SmallRng;

    fn noisy_pairs(n: usize, ratio: f64, spread: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut rng = SmallRng::new(seed);
        let a: Vec<f64> = (0..n).map(|i| 100.0 * (1.0 + 0.3 * (i as f64 / 7.0).sin())).collect();
        let b = a.iter().map(|a| a * ratio * (spread * rng.normal()).exp()).collect();
        (a, b)
    }

    #[test]
    fn a_difference_of_five_percent_is_found_under_a_drift_of_thirty() {
        let (a, b) = noisy_pairs(20, 1.05, 0.011, 1);
        let result = paired("wall", &a, &b, &CompareSettings::default()).unwrap();
        assert_eq!(result.verdict.outcome, Outcome::Slower);
        assert!((result.verdict.estimate.unwrap() - 1.05).abs() < 0.01, "{:?}", result.verdict);
        assert!(result.verdict.interval.unwrap().lo() > 1.03);
    }

    #[test]
    fn more_is_faster_where_higher_is_better() {
        let (a, b) = noisy_pairs(20, 1.05, 0.011, 1);
        let settings = CompareSettings { lower_is_better: false, ..CompareSettings::default() };
        assert_eq!(paired("rate", &a, &b, &settings).unwrap().verdict.outcome, Outcome::Faster);
    }

    #[test]
    fn equal_programs_are_the_same_only_once_the_interval_fits_the_margin() {
        let (a, b) = noisy_pairs(40, 1.0, 0.011, 4);
        let judge = |n: usize| paired("wall", &a[..n], &b[..n], &CompareSettings::default()).unwrap();
        assert_eq!(judge(40).verdict.outcome, Outcome::Same);
        let early = judge(5);
        assert_eq!(early.verdict.outcome, Outcome::Undecided);
        assert!(early.needed.unwrap() > 5);
    }

    #[test]
    fn figures_without_chance_are_judged_by_two_pairs_that_repeat_and_by_no_others() {
        let settings = CompareSettings { lower_is_better: false, ..CompareSettings::default() };
        let judge = |a: &[f64], b: &[f64]| {
            let found = exact("rate", a, b, &settings).unwrap();
            found.map(|found| (found.verdict.outcome, found.verdict.interval.map(Interval::lo)))
        };
        let (outcome, lo) = judge(&[100.0; 2], &[97.0; 2]).unwrap();
        assert_eq!(outcome, Outcome::Slower);
        assert!((lo.unwrap() - 0.97).abs() < 1e-12);
        assert_eq!(judge(&[100.0; 2], &[102.0; 2]).unwrap().0, Outcome::Faster);
        assert_eq!(judge(&[100.0; 2], &[100.5; 2]).unwrap().0, Outcome::Same);
        assert_eq!(judge(&[100.0], &[97.0]), None, "one pair shows no repetition");
        assert_eq!(judge(&[100.0, 100.000_000_1], &[97.0; 2]), None);
    }

    #[test]
    fn a_significant_but_irrelevant_difference_is_the_same() {
        let (a, b) = noisy_pairs(2000, 1.003, 0.011, 5);
        let result = paired("wall", &a, &b, &CompareSettings::default()).unwrap();
        assert!(result.p < 0.01);
        assert_eq!(result.verdict.outcome, Outcome::Same);
    }

    #[test]
    fn the_plan_reproduces_the_textbook_number() {
        // (2.5758 + 1.6449)² · 1.05 · (1.1/2)² = 5.66
        assert_eq!(pairs_needed(0.011, 0.02, 0.01, 0.95), Some(6));
        assert_eq!(pairs_needed(0.0, 0.02, 0.01, 0.95), None);
        assert_eq!(pairs_needed(0.011, 0.0, 0.01, 0.95), None);
    }

    #[test]
    fn two_pairs_decide_nothing_and_tell_how_many_would() {
        let judge = |n: usize| {
            let (a, b) =
                ([100.0, 100.1, 99.9, 100.2, 99.8, 100.0], [150.0, 150.1, 149.9, 150.2, 149.8, 150.3]);
            paired("wall", &a[..n], &b[..n], &CompareSettings::default()).unwrap()
        };
        for n in 1..6 {
            let found = judge(n);
            assert_eq!(found.verdict.outcome, Outcome::Undecided, "{n}");
            assert!(found.needed.unwrap() >= 6, "{n}: {:?}", found.needed);
            assert!(found.verdict.reason.contains("fewer than 6"), "{}", found.verdict.reason);
        }
        assert_eq!(judge(6).verdict.outcome, Outcome::Slower);
        let one = judge(1);
        assert_eq!(one.verdict.interval, None);
        assert!(one.verdict.reason.contains("no interval"), "{}", one.verdict.reason);
    }

    #[test]
    fn one_value_on_each_side_has_no_interval_and_tells_how_many_it_takes() {
        let found = unpaired("wall", &[100.0], &[121.0], &CompareSettings::default()).unwrap();
        assert_eq!((found.verdict.outcome, found.verdict.interval), (Outcome::Undecided, None));
        assert_eq!(found.needed, Some(4));
        assert!((found.verdict.estimate.unwrap() - 1.21).abs() < 1e-9);
    }

    #[test]
    fn five_equal_steps_of_a_coarse_clock_are_no_proof() {
        let result = paired("wall", &[100.0; 5], &[101.5; 5], &CompareSettings::default()).unwrap();
        assert_eq!(result.verdict.outcome, Outcome::Undecided);
    }

    #[test]
    fn shares_near_nothing_are_the_same_however_large_their_ratio() {
        let a = [1e-6, 0.0, 3e-5, 1e-5, 2e-4, 0.0, 1e-4, 1e-5];
        let b = [4e-4, 1e-3, 0.0, 8e-4, 1e-6, 2e-4, 5e-4, 0.0];
        let settings =
            CompareSettings { margin: 0.02, scale: Scale::Difference, ..CompareSettings::default() };
        let found = paired("stall_share", &a, &b, &settings).unwrap();
        assert_eq!(found.verdict.outcome, Outcome::Same, "{}", found.verdict.reason);
        let nothing = paired("stall_share", &[0.0; 8], &[0.0; 8], &settings).unwrap();
        assert_eq!((nothing.verdict.outcome, nothing.verdict.estimate), (Outcome::Same, Some(0.0)));
    }

    #[test]
    fn a_share_that_grew_is_told_in_percentage_points() {
        let a = [0.001, 0.0, 0.002, 0.0, 0.001, 0.003, 0.0, 0.001];
        let b = a.map(|a| 0.15 + 2.0 * a);
        let settings =
            CompareSettings { margin: 0.02, scale: Scale::Difference, ..CompareSettings::default() };
        let found = paired("stall_share", &a, &b, &settings).unwrap();
        assert_eq!(found.verdict.outcome, Outcome::Slower);
        assert!((found.verdict.estimate.unwrap() - 0.151).abs() < 0.001, "{:?}", found.verdict);
        assert!(
            found.verdict.reason.starts_with("B - A is +15 percentage points"),
            "{}",
            found.verdict.reason
        );
    }

    #[test]
    fn a_zero_is_refused_with_its_place() {
        let error = paired("wall", &[1.0, 2.0], &[1.0, 0.0], &CompareSettings::default()).unwrap_err();
        assert_eq!(error, JudgeError::NotPositive { what: "b".into(), index: 1, value: 0.0 });
    }

    #[test]
    fn unpaired_samples_of_different_lengths_are_judged_and_the_cost_is_told() {
        let (a, _) = noisy_pairs(30, 1.0, 0.011, 6);
        let b: Vec<f64> = a.iter().take(25).map(|a| a * 3.0).collect();
        let result = unpaired("wall", &a, &b, &CompareSettings::default()).unwrap();
        assert_eq!(result.verdict.outcome, Outcome::Slower);
        assert!(result.verdict.reason.contains("not paired"), "{}", result.verdict.reason);
    }
}
