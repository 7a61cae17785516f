//! A against B: is one slower, or are they the same, and by how much?
//!
//! Values are compared by ratio, `d = ln(B/A)`, shares by difference, `d = B - A`. Pairs that were measured next to
//! each other, in random order, share the weather of the machine, and their difference is free of it. The order inside
//! of pairs was random, so that under no difference every sign is a coin: a sign-flip permutation test (Fisher 1935) of
//! differences whose size is cut, with the Hodges-Lehmann estimate and the signed-rank interval (Hollander & Wolfe,
//! chapter 3). Without pairs the Mann-Whitney test and its shift are used, and the verdict says what that costs. Samples
//! whose orders are too few for the level get a t test (`compare::small`), and pairs that resemble their neighbours count as
//! fewer (`compare::serial`); the verdict states either assumption.
//!
//! `Same` is a claim of its own and needs an interval inside of the margin (two one-sided tests, Schuirmann 1987); no
//! significant difference alone is `Undecided`.

pub mod aa_test;
mod levels;
mod serial;
mod small;
mod summary;

pub use levels::nested;
pub use small::{exact_pairs, exact_values};
pub use summary::{Summary, summaries};

use crate::Scale;
use crate::input::{self, JudgeError};
use crate::stats::rank::{mann_whitney, tamed_sign_flip};
use crate::stats::shift::{Location, centre, shift};
use crate::stats::{dist, median};
use crate::wording;
use plimsoll_model::verdict::{Outcome, Verdict};
use serial::Serial;
use small::TTest;

/// Fewest pairs, or values on each side, whose scatter can be judged at all, by a t test with 2 degrees of freedom.
pub const FEWEST: usize = 3;
/// The pairs needed to show whether figures without any chance repeat.
pub const FEWEST_EXACT: usize = 2;
/// The chance to find a real difference that planned numbers of pairs aim at.
const PLANNED_POWER: f64 = 0.95;

/// More units than this are not worth waiting for.
const MANY: usize = 200;

/// Settings of a comparison.
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
    /// Whether chance chose the order in each pair. The signs of differences are then random if nothing differs, however much the machine drifts
    /// (Fisher's randomisation test), so neighbours that resemble each other take nothing from the evidence.
    pub shuffled: bool,
    /// Whether a difference also needs an estimate beyond the margin: a real one of less is then no alarm. Not so as shipped.
    pub beyond_margin: bool,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self {
            alpha: 0.01,
            confidence: 0.95,
            margin: 0.01,
            scale: Scale::Ratio,
            lower_is_better: true,
            shuffled: false,
            beyond_margin: false,
        }
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
    pub fn bound(&self) -> f64 {
        self.scale.margin(self.margin)
    }

    /// Whether an estimate in the direction of a difference is large enough to be called one.
    pub(crate) fn is_enough(&self, estimate: f64) -> bool {
        !self.beyond_margin || estimate > self.bound()
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
    let step = small::resolution(a, b);
    let rounding = rounding(a, step, settings.scale) + rounding(b, step, settings.scale);
    Ok(Evidence::of_pairs(&d, rounding, "pair", settings).judge(metric, settings))
}

/// The variance on the scale of values that were rounded to multiples of `step`.
fn rounding(values: &[f64], step: f64, scale: Scale) -> f64 {
    let on_scale = match scale {
        Scale::Ratio => step / median(values),
        Scale::Difference => step,
    };
    on_scale * on_scale / 12.0
}

/// Judges pairs of figures into which no chance comes, such as numbers of instructions, once each side has been seen to repeat to the last bit: there is
/// nothing to test then, and the ratio is what it is. `None` if they do not repeat.
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
    let evidence = Evidence { location, p, n: d.len(), fewest: FEWEST_EXACT, unit: "pair", sample };
    Ok(Some(evidence.report(outcome, metric, settings)))
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
    let n = a.len().min(b.len());
    let sizes = format!("{} and {} values", a.len(), b.len());
    let floor = small::rank_sum_floor(a.len(), b.len());
    let (found, test) = if floor <= settings.alpha {
        let location = shift(&on_a, &on_b, settings.confidence);
        (TTest { location, p: mann_whitney(&on_b, &on_a).p }, "Mann-Whitney")
    } else {
        let step = small::resolution(a, b);
        let rounding = [a, b].map(|side| rounding(side, step, settings.scale));
        (small::welch(&on_a, &on_b, rounding, settings.confidence), "Welch's t test")
    };
    let mut sample = format!("{sizes}, {test} p = {}", wording::p_value(found.p));
    if floor > settings.alpha && n >= FEWEST {
        let enough = exact_values(settings.alpha);
        sample += &format!(
            ", which assumes normal {}: ranks can reach {} only from {enough} against {enough} values on",
            settings.scale.values_in_words(),
            settings.alpha
        );
    }
    sample += "; not paired, so the difference includes drift between the two";
    let TTest { location, p } = found;
    let evidence = Evidence { location, p, n, fewest: FEWEST, unit: "value", sample };
    Ok(evidence.judge(metric, settings))
}

/// Basis of a comparison, before it is put into words.
pub(crate) struct Evidence {
    /// The centre of the distances on the scale, with its interval.
    pub(crate) location: Location,
    /// The p-value of no difference.
    pub(crate) p: f64,
    /// The number of independent units.
    pub(crate) n: usize,
    /// With fewer of them nothing is decided; 0 where that was seen to elsewhere.
    pub(crate) fewest: usize,
    /// Noun of the independent units: `pair`, `group`, or `value` for values on each side.
    pub(crate) unit: &'static str,
    /// The sample and the test, in words.
    pub(crate) sample: String,
}

impl Evidence {
    /// Evidence of differences in the order of their measurement: by their signs, or by a t test where the signs of so few cannot reach the level, or
    /// where neighbours resemble each other. `rounding` is the variance that the resolution of the figures gives a difference.
    pub(crate) fn of_pairs(d: &[f64], rounding: f64, unit: &'static str, settings: &CompareSettings) -> Self {
        let n = d.len();
        let enough = exact_pairs(settings.alpha);
        let counted = wording::count(n, unit);
        let (location, p, sample) = if n < enough {
            let TTest { location, p } = small::student(d, rounding, settings.confidence);
            let sample = format!(
                "{counted}, t test p = {}, which assumes normal {} and no effect of the order within a {unit}: the signs of {n} cannot reach {}, \
                 those of {enough} can",
                wording::p_value(p),
                settings.scale.values_in_words(),
                settings.alpha
            );
            (location, p, sample)
        } else if let Some(serial) = Serial::of(d).filter(|_| !settings.shuffled) {
            let plain = centre(d, settings.confidence);
            let error = plain.standard_error(settings.confidence);
            let TTest { location, p } = serial.test(plain.estimate, error, n, settings.confidence);
            // Never surer than the signs, which need no assumption but a random order.
            let p = p.max(tamed_sign_flip(d));
            let sample = format!(
                "{counted} that resemble their neighbours count as {:.1} (first-order autoregression, coefficient {:.2} at most), t test p = {}",
                serial.effective,
                serial.rho,
                wording::p_value(p)
            );
            (location, p, sample)
        } else {
            let p = tamed_sign_flip(d);
            (centre(d, settings.confidence), p, format!("{counted}, sign-flip p = {}", wording::p_value(p)))
        };
        Self { location, p, n, fewest: FEWEST, unit, sample }
    }

    pub(crate) fn judge(&self, metric: &str, settings: &CompareSettings) -> Comparison {
        self.report(self.outcome(settings), metric, settings)
    }

    /// The comparison for an outcome that was decided elsewhere, such as by a sequential test.
    pub(crate) fn report(&self, outcome: Outcome, metric: &str, settings: &CompareSettings) -> Comparison {
        let needed = (outcome == Outcome::Undecided).then(|| self.needed(settings)).flatten();
        let verdict = Verdict {
            estimate: Some(settings.scale.estimate(self.location)),
            interval: settings.scale.interval(self.location),
            confidence: settings.confidence,
            ..Verdict::bare("difference", metric, outcome, self.n, self.reason(outcome, needed, settings))
        };
        Comparison { verdict, p: self.p, needed }
    }

    fn outcome(&self, settings: &CompareSettings) -> Outcome {
        if self.n < self.fewest {
            Outcome::Undecided
        } else if self.is_within(settings) {
            Outcome::Same
        } else if self.p <= settings.alpha
            && self.location.estimate != 0.0
            && settings.is_enough(self.location.estimate.abs())
        {
            settings.direction(self.location.estimate)
        } else {
            Outcome::Undecided
        }
    }

    fn is_within(&self, settings: &CompareSettings) -> bool {
        let margin = settings.bound();
        self.location.lo >= -margin && self.location.hi <= margin
    }

    /// Whether a difference is shown that is too small to be called one.
    fn is_below_margin(&self, settings: &CompareSettings) -> bool {
        self.p <= settings.alpha && !settings.is_enough(self.location.estimate.abs())
    }

    /// How many units would decide it: enough to show the estimate as a difference, or as lying inside of the margin; always more than there are.
    fn needed(&self, settings: &CompareSettings) -> Option<usize> {
        let spread = self.location.standard_error(settings.confidence) * (self.n as f64).sqrt();
        let effect = effect_to_resolve(self.location.estimate, settings.bound());
        let needed = pairs_needed(spread, effect, settings.alpha, PLANNED_POWER)
            .or_else(|| (self.n < self.exact(settings)).then(|| self.exact(settings)))?;
        Some(needed.max(self.n + 1).max(self.fewest))
    }

    /// Smallest number of units whose order alone can decide.
    fn exact(&self, settings: &CompareSettings) -> usize {
        if self.unit == "value" { exact_values(settings.alpha) } else { exact_pairs(settings.alpha) }
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
        let below = self.is_below_margin(settings);
        match outcome {
            Outcome::Same => {
                let size = if below { "a difference below the margin: " } else { "" };
                let shown = if self.is_within(settings) {
                    "all of the interval lies"
                } else {
                    "two one-sided tests show that it lies"
                };
                format!("{found}: {size}{shown} within the margin of {margin}")
            }
            Outcome::Undecided => {
                let each = if self.unit == "value" { " on each side" } else { "" };
                let more = match needed {
                    Some(n) if n > MANY => format!(
                        "it needs more than {}{each}, so another metric or a quieter machine decides it sooner",
                        wording::count(MANY, self.unit)
                    ),
                    Some(n) => format!("about {}{each} would decide it", wording::count(n, self.unit)),
                    None => "without spread, the number of further measurements is unknown".into(),
                };
                let exact = self.exact(settings);
                if self.n < self.fewest {
                    format!(
                        "{found}: fewer than {}{each} show no scatter; {more}, and {exact} without an assumption about scatter",
                        wording::count(self.fewest, self.unit),
                    )
                } else if below {
                    format!(
                        "{found}: a difference at the level {}, but the estimate lies within the margin of {margin}; {more}",
                        settings.alpha
                    )
                } else {
                    format!(
                        "{found}: neither a difference at the level {} nor inside the margin of {margin}; {more}",
                        settings.alpha
                    )
                }
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
pub fn pairs_needed(spread: f64, effect: f64, alpha: f64, power: f64) -> Option<usize> {
    let z = dist::normal_quantile(1.0 - alpha / 2.0) + dist::normal_quantile(power);
    let n = 1.05 * (z * spread / effect).powi(2);
    (n.is_finite() && n > 0.0).then(|| n.ceil().min(1e12) as usize)
}

#[cfg(test)]
mod tests;
