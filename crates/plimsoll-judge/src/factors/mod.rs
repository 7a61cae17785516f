//! Do factors interact: is one combination of levels slower or faster than its parts explain?
//!
//! Figures are compared by ratio: on the log scale, factors that do not interact add up, so that an interaction is
//! "more than multiplicative". Shares are compared by difference: there it is "more than additive". Each complete block
//! (one round of all cells, in random order) gives its own residuals from the additive model, free of what drifts
//! between blocks; their signs are exchangeable when nothing interacts, and a permutation of them tests the largest
//! sum over all cells (`factors::permute`). In a 2 × 2 table that is a sign-flip test of the contrast y₁₁ − y₁₀ − y₀₁ + y₀₀.
//! Where the signs of so few blocks cannot reach the level, and for replicates without blocks, the F test of an analysis
//! of variance decides (`factors::variance`); it assumes normal values of equal variance, and the verdict says so.
//!
//! In a 2 × 2 table all four cells depart equally far from what the other three predict, so that none is the odd one. Where three of
//! them are alike, the sentence names the fourth.
//!
//! How much of the variation each factor and each interaction explains follows Jain, The Art of Computer Systems
//! Performance Analysis (1991), chapters 17 and 18, for any number of levels.

mod decompose;
mod design;
mod permute;
mod variance;

pub use decompose::EffectShare;
pub use design::{FactorRow, FactorTable};

use crate::Scale;
use crate::compare::exact_pairs;
use crate::input::{self, JudgeError};
use crate::stats::shift::{Location, centre};
use crate::wording;
use decompose::Additive;
use design::{Data, Design};
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use variance::Anova;

/// Settings of an analysis of factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorSettings {
    /// The chance of finding an interaction where there is none: 0.04 as shipped.
    pub alpha: f64,
    /// The confidence of the size's interval: 0.95 as shipped.
    pub confidence: f64,
    /// An interaction whose whole interval is smaller than this share counts as none: 0.05 as shipped.
    pub margin: f64,
    /// Whether figures are compared by ratio, as shipped, or by difference.
    pub scale: Scale,
}

impl Default for FactorSettings {
    fn default() -> Self {
        Self { alpha: 0.04, confidence: 0.95, margin: 0.05, scale: Scale::Ratio }
    }
}

/// How far a cell departs from what the other cells predict for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The level of each factor there.
    pub cell: BTreeMap<String, String>,
    /// Its figure over what it would be if factors only multiplied: 0.25 is a quarter of it. Of shares, its figure less what it would be
    /// if factors only added.
    pub size: f64,
}

/// A verdict on factors with its decomposition.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorsVerdict {
    /// `interaction`, `additive` or `undecided`; estimate and interval are those of the largest deviation, in a 2 × 2 table
    /// of the contrast. `n` counts complete blocks, or rows where there are none.
    pub verdict: Verdict,
    /// All cells with their deviations, the last factor running fastest.
    pub deviations: Vec<Deviation>,
    /// Index in `deviations` of the cell that departs most; absent where several depart equally far.
    pub odd: Option<usize>,
    /// The share of variation of each factor, each interaction, the blocks and the noise.
    pub shares: Vec<EffectShare>,
    /// The p-value of no interaction; absent without two complete blocks or replicates.
    pub p: Option<f64>,
}

/// Judges a table of figures by factors.
///
/// With two or more complete blocks, or with replicates, the interaction is tested. Without, the decomposition is all that a table of means can
/// give, and the verdict is `undecided` because no probability can be.
///
/// # Errors
/// Fewer than two factors, a factor with one level, a cell without any row, values that are not finite or not above 0,
/// or settings out of range.
pub fn judge(
    metric: &str,
    table: &FactorTable,
    settings: &FactorSettings,
) -> Result<FactorsVerdict, JudgeError> {
    input::between("alpha", settings.alpha, 0.0, 0.5, "a chance between 0 and 0.5")?;
    input::between("confidence", settings.confidence, 0.5, 1.0, "a share between 0.5 and 1")?;
    input::between("margin", settings.margin, 0.0, 10.0, "a share between 0 and 10")?;
    let design = Design::new(table, settings.scale)?;
    let additive = Additive::new(&design.levels);
    let evidence = evidence(&design, &additive, settings);
    let finding = Finding { design: &design, evidence, metric, settings };
    Ok(finding.report(additive.shares(&table.factors, &design.data)))
}

/// Basis of the deviations of cells.
struct Evidence {
    /// The deviation of each cell on the scale, with its interval.
    deviations: Vec<Location>,
    /// The p-value of no interaction; absent where nothing is repeated.
    p: Option<f64>,
    /// Words for the test and its p-value.
    sample: String,
    /// Why the test cannot be trusted; absent where its assumption holds.
    doubt: Option<String>,
}

fn evidence(design: &Design, additive: &Additive, settings: &FactorSettings) -> Evidence {
    let alone = |size: f64| Location { estimate: size, lo: size, hi: size };
    let (alpha, confidence) = (settings.alpha, settings.confidence);
    if let Data::Blocks(blocks) = &design.data
        && blocks.len() >= exact_pairs(alpha)
    {
        let residuals: Vec<Vec<f64>> = blocks.iter().map(|block| additive.residuals(block)).collect();
        let of_cell = |cell: usize| {
            let column: Vec<f64> = residuals.iter().map(|r| r[cell] / additive.freedom()).collect();
            centre(&column, confidence)
        };
        let p = permute::p_value(&residuals);
        let sample = format!("sign-flip p = {}", wording::p_value(p));
        let deviations = (0..residuals[0].len()).map(of_cell).collect();
        return Evidence { deviations, p: Some(p), sample, doubt: None };
    }
    let anova = Anova::new(&design.data, additive);
    let sizes = anova.residuals.iter().map(|residual| residual / additive.freedom());
    let Some(test) = anova.test(additive) else {
        let sample = "without repeats there is no p-value".into();
        return Evidence { deviations: sizes.map(alone).collect(), p: None, sample, doubt: None };
    };
    let half = test.half_width(additive, confidence);
    let mut sample = format!(
        "F test p = {}, which assumes normal {} of equal variance",
        wording::p_value(test.p),
        settings.scale.values_in_words()
    );
    if matches!(design.data, Data::Blocks(_)) {
        sample += &format!(": signs can reach {alpha} only from {} blocks on", exact_pairs(alpha));
    }
    let deviations =
        sizes.map(|size| Location { estimate: size, lo: size - half, hi: size + half }).collect();
    Evidence { deviations, p: Some(test.p), sample, doubt: anova.outlier() }
}

/// The cell whose deviation is largest; absent where another has the same, as all four have in a 2 × 2 table.
fn odd_cell(deviations: &[Location]) -> Option<usize> {
    let size = |cell: usize| deviations[cell].estimate.abs();
    let largest = (0..deviations.len()).max_by(|a, b| size(*a).total_cmp(&size(*b)))?;
    let alike = |cell: usize| size(cell) >= size(largest) * (1.0 - 1e-6);
    ((0..deviations.len()).filter(|cell| alike(*cell)).count() == 1).then_some(largest)
}

/// The cell that is farther than a margin from the mean of the other three of a 2 × 2 table, while those lie within it.
fn three_alike(means: &[f64], margin: f64) -> Option<usize> {
    (0..means.len()).find(|odd| {
        let others: Vec<f64> = (0..means.len()).filter(|cell| cell != odd).map(|cell| means[cell]).collect();
        let (least, most) = (
            others.iter().copied().fold(f64::MAX, f64::min),
            others.iter().copied().fold(f64::MIN, f64::max),
        );
        most - least <= margin && (means[*odd] > most + margin || means[*odd] < least - margin)
    })
}

/// A finding with its context, from which its words are made.
struct Finding<'a> {
    design: &'a Design,
    evidence: Evidence,
    metric: &'a str,
    settings: &'a FactorSettings,
}

impl Finding<'_> {
    fn report(&self, shares: Vec<EffectShare>) -> FactorsVerdict {
        let scale = self.settings.scale;
        let deviations = &self.evidence.deviations;
        let odd = odd_cell(deviations);
        // In a 2 x 2 table, the last cell's deviation is the contrast.
        let found = self.largest(odd);
        let outcome = self.outcome(found);
        let n = match &self.design.data {
            Data::Blocks(blocks) => blocks.len(),
            Data::Replicates(_) => self.design.rows,
        };
        let reason = self.reason(outcome, found, odd);
        let verdict = Verdict {
            estimate: Some(scale.estimate(found)),
            interval: self.evidence.p.and_then(|_| scale.interval(found)),
            confidence: self.settings.confidence,
            ..Verdict::bare("interaction", self.metric, outcome, n, reason)
        };
        let deviation = |(cell, at): (usize, &Location)| Deviation {
            cell: self.design.cell(cell),
            size: scale.estimate(*at),
        };
        let deviations = deviations.iter().enumerate().map(deviation).collect();
        FactorsVerdict { verdict, deviations, odd, shares, p: self.evidence.p }
    }

    /// The deviation that is judged: of the odd cell, or else of the last among those that depart farthest.
    fn largest(&self, odd: Option<usize>) -> Location {
        let all = &self.evidence.deviations;
        let most = all.iter().fold(0.0_f64, |most, at| most.max(at.estimate.abs()));
        let last = || all.iter().rposition(|at| at.estimate.abs() >= most * (1.0 - 1e-6));
        all[odd.or_else(last).unwrap_or(0)]
    }

    fn outcome(&self, found: Location) -> Outcome {
        let margin = self.settings.scale.margin(self.settings.margin);
        let Some(p) = self.evidence.p.filter(|_| self.evidence.doubt.is_none()) else {
            return Outcome::Undecided;
        };
        // An interaction that is surely there, and as surely too small to matter, counts as none.
        if found.lo >= -margin && found.hi <= margin {
            Outcome::Additive
        } else if p <= self.settings.alpha {
            Outcome::Interaction
        } else {
            Outcome::Undecided
        }
    }

    fn reason(&self, outcome: Outcome, found: Location, odd: Option<usize>) -> String {
        let counted = match &self.design.data {
            Data::Blocks(blocks) => wording::count(blocks.len(), "complete block"),
            Data::Replicates(_) => format!("{} without blocks", wording::count(self.design.rows, "row")),
        };
        let left_out = match self.design.incomplete {
            0 => String::new(),
            n => format!(", {n} incomplete and left out"),
        };
        let interval = match self.evidence.p {
            Some(_) => self.settings.scale.interval_in_words(found, self.settings.confidence) + "; ",
            None => String::new(),
        };
        let end = match (outcome, &self.evidence.doubt) {
            (_, Some(doubt)) => format!("; {doubt}"),
            (Outcome::Undecided, None) if self.evidence.p.is_some() => "; the data do not decide it".into(),
            (Outcome::Additive, None) => {
                format!(
                    "; all of the interval is smaller than {}",
                    self.settings.scale.margin_in_words(self.settings.margin)
                )
            }
            _ => String::new(),
        };
        format!(
            "{} ({interval}{counted}{left_out}; {}){end}",
            self.sentence(found, odd),
            self.evidence.sample
        )
    }

    fn sentence(&self, found: Location, odd: Option<usize>) -> String {
        let scale = self.settings.scale;
        let (do_what, name) = match scale {
            Scale::Ratio => ("multiply", "multiplicative"),
            Scale::Difference => ("add up", "additive"),
        };
        let named = |cell: usize| {
            let levels = self.design.cell(cell).into_iter().map(|(f, l)| format!("{f} = {l}"));
            levels.collect::<Vec<_>>().join(", ")
        };
        match odd {
            Some(cell) => format!(
                "the cell {} is {} off what its factors {do_what} to (scale: more than {name})",
                named(cell),
                scale.change(found)
            ),
            None if self.evidence.deviations.len() == 4 => {
                let last = named(3);
                let which =
                    match three_alike(&self.design.data.cell_means(), scale.margin(self.settings.margin)) {
                        Some(cell) => format!(
                            "The other three than {} are alike, which makes it the odd one",
                            named(cell)
                        ),
                        None => "Figures alone do not show which one is odd".to_owned(),
                    };
                format!(
                    "the contrast is {}: the cell {last} is that far off what the other three {do_what} to (scale: more than {name}), and each of \
                     them is as far off the rest. {which}",
                    scale.change(found)
                )
            }
            None => format!(
                "several cells are {} off what their factors {do_what} to, or as far in the other direction (scale: more than {name}); no single cell is odd",
                scale.change(found)
            ),
        }
    }
}

#[cfg(test)]
mod tests;
