//! Do factors interact: is one combination of levels slower or faster than its parts explain?
//!
//! Figures are compared by ratio: on the log scale, factors that do not interact add up, so that an interaction is
//! "more than multiplicative". Shares are compared by difference: there it is "more than additive". Each complete block
//! (one round of all cells, in random order) gives its own residuals from the additive model, free of what drifts
//! between blocks; their signs are exchangeable when nothing interacts, and a permutation of them tests the largest
//! signed-rank sum over all cells. In a 2 × 2 table that is the signed-rank test of the contrast y₁₁ − y₁₀ − y₀₁ + y₀₀.
//!
//! How much of the variation each factor and each interaction explains follows Jain, The Art of Computer Systems
//! Performance Analysis (1991), chapters 17 and 18, for any number of levels.

mod decompose;
mod design;
mod permute;

pub use decompose::EffectShare;
pub use design::{FactorRow, FactorTable};

use crate::Scale;
use crate::input::{self, JudgeError};
use crate::stats::shift::{Location, centre, hodges_lehmann};
use crate::wording;
use decompose::Additive;
use design::Design;
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is asked of factors.
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

/// The cell that departs most from what the others predict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// The level of each factor there.
    pub cell: BTreeMap<String, String>,
    /// Its figure over what it would be if factors only multiplied: 0.25 is a quarter of it. Of shares, its figure less what it would be
    /// if factors only added.
    pub size: f64,
}

/// A verdict on factors with its decomposition.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorsVerdict {
    /// `interaction`, `additive` or `undecided`; estimate and interval are the size's. `n` counts complete blocks, or
    /// rows where there are none.
    pub verdict: Verdict,
    /// The odd cell and its size, however sure it is.
    pub interaction: Interaction,
    /// The share of variation of each factor, each interaction, the blocks and the noise.
    pub shares: Vec<EffectShare>,
    /// The p-value of no interaction; absent without two complete blocks.
    pub p: Option<f64>,
}

/// Judges a table of figures by factors.
///
/// With two or more complete blocks the interaction is tested. Without, the decomposition is all that a table of means
/// can give: the odd cell is named with its size, and the verdict is `undecided` because no probability can be.
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
    let residuals: Vec<Vec<f64>> = design.blocks.iter().map(|block| additive.residuals(block)).collect();
    let cell = odd_cell(&additive, &design.blocks, &residuals);
    let of_cell: Vec<f64> = residuals.iter().map(|r| r[cell] / additive.freedom()).collect();
    let shares = additive.shares(&table.factors, &design.blocks);
    let finding = Finding { design: &design, cell, metric, settings };
    if design.blocks.len() < 2 {
        return Ok(finding.bare(of_cell[0], shares));
    }
    let p = permute::p_value(&residuals);
    Ok(finding.tested(centre(&of_cell, settings.confidence), p, shares))
}

/// The cell whose residual is largest; where several share it, as all four do in a 2 × 2 table, the one without which
/// the factors explain least: three cells alike and one apart means that the one is odd.
fn odd_cell(additive: &Additive, blocks: &[Vec<f64>], residuals: &[Vec<f64>]) -> usize {
    let over_blocks = |rows: &[Vec<f64>]| -> Vec<f64> {
        let column = |c: usize| rows.iter().map(|r| r[c]).collect::<Vec<_>>();
        (0..rows[0].len()).map(|c| hodges_lehmann(&column(c))).collect()
    };
    let (sizes, figures) = (over_blocks(residuals), over_blocks(blocks));
    let largest = sizes.iter().fold(0.0_f64, |a, s| a.max(s.abs()));
    let rest = |c: usize| {
        let mut without = figures.clone();
        without[c] -= sizes[c] / additive.freedom();
        additive.main_effects(&without)
    };
    (0..sizes.len())
        .filter(|&c| sizes[c].abs() >= largest * (1.0 - 1e-6))
        .map(|c| (c, rest(c)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(0, |(c, _)| c)
}

/// What was found, on its way into words.
struct Finding<'a> {
    design: &'a Design,
    cell: usize,
    metric: &'a str,
    settings: &'a FactorSettings,
}

impl Finding<'_> {
    fn bare(&self, size: f64, shares: Vec<EffectShare>) -> FactorsVerdict {
        let at = Location { estimate: size, lo: size, hi: size };
        let size = self.settings.scale.estimate(at);
        let reason = format!(
            "{}; without two complete blocks there is no noise to hold this against, so no probability can be given",
            self.sentence(at)
        );
        let mut verdict =
            Verdict::bare("interaction", self.metric, Outcome::Undecided, self.design.rows, reason);
        verdict.estimate = Some(size);
        FactorsVerdict { verdict, interaction: self.interaction(size), shares, p: None }
    }

    fn tested(&self, found: Location, p: f64, shares: Vec<EffectShare>) -> FactorsVerdict {
        let scale = self.settings.scale;
        let size = scale.estimate(found);
        let margin = scale.margin(self.settings.margin);
        // One that is surely there, and as surely too small to matter, counts as none.
        let outcome = if found.lo >= -margin && found.hi <= margin {
            Outcome::Additive
        } else if p <= self.settings.alpha {
            Outcome::Interaction
        } else {
            Outcome::Undecided
        };
        let verdict = Verdict {
            claim: "interaction".into(),
            metric: self.metric.into(),
            outcome,
            estimate: Some(size),
            interval: scale.interval(found),
            confidence: self.settings.confidence,
            n: self.design.blocks.len(),
            reason: self.reason(outcome, found, p),
            expected: None,
            holds: None,
        };
        FactorsVerdict { verdict, interaction: self.interaction(size), shares, p: Some(p) }
    }

    fn reason(&self, outcome: Outcome, found: Location, p: f64) -> String {
        let blocks = self.design.blocks.len();
        let left_out = match self.design.incomplete {
            0 => String::new(),
            n => format!(", {n} incomplete and left out"),
        };
        let least = 2.0 * 0.5_f64.powi(blocks.min(1000) as i32);
        let end = match outcome {
            Outcome::Undecided if least > self.settings.alpha => {
                "; so few blocks cannot prove an interaction of any size, six can".into()
            }
            Outcome::Undecided => "; the data do not decide it".into(),
            Outcome::Additive => {
                format!(
                    "; all of the interval is smaller than {}",
                    self.settings.scale.margin_in_words(self.settings.margin)
                )
            }
            _ => String::new(),
        };
        format!(
            "{} ({}; {}{left_out}; p = {}){end}",
            self.sentence(found),
            self.settings.scale.interval_in_words(found, self.settings.confidence),
            wording::count(blocks, "complete block"),
            wording::p_value(p),
        )
    }

    fn interaction(&self, size: f64) -> Interaction {
        Interaction { cell: self.design.cell(self.cell), size }
    }

    fn sentence(&self, found: Location) -> String {
        let cell = self.design.cell(self.cell);
        let cell: Vec<String> = cell.into_iter().map(|(f, l)| format!("{f} = {l}")).collect();
        let (do_what, scale) = match self.settings.scale {
            Scale::Ratio => ("multiply", "multiplicative"),
            Scale::Difference => ("add up", "additive"),
        };
        format!(
            "the cell {} is {} off what its factors {do_what} to (scale: more than {scale})",
            cell.join(", "),
            self.settings.scale.change(found)
        )
    }
}

#[cfg(test)]
mod tests;
