//! The report of a bisection: a verdict and its evidence.

use std::io::{self, Write};

use plimsoll_judge::bisect::{Bisection, Culprit};
use plimsoll_judge::compare::Comparison;
use plimsoll_judge::stats::median;
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_report::escape::terminal;
use serde_json::{Value, json};

use super::Version;
use super::histogram;
use super::search::{Limits, SearchOutcome};
use super::state::State;
use crate::amount;
use crate::failure::Failure;
use crate::measure::Gauge;

/// The name and version of the JSON form. The number rises when a field changes its meaning or goes away.
const BISECT_SCHEMA: &str = "plimsoll.bisect/1";

/// A verdict, and what it rests on.
pub(super) struct Report<'a> {
    verdict: Verdict,
    found: &'a SearchOutcome,
    /// The culprit, or the most probable one so far.
    best: Option<Culprit>,
    bisection: Bisection,
    state: &'a State,
    versions: &'a [Version],
    gauge: &'a Gauge,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        found: &'a SearchOutcome,
        state: &'a State,
        versions: &'a [Version],
        gauge: &'a Gauge,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let bisection = state.bisection(limits.confidence)?;
        let best = match found {
            SearchOutcome::Sure(culprit, _) => Some(culprit.confirmed_by(&distances(state))),
            SearchOutcome::Unsure => bisection.best(),
            SearchOutcome::NoDifference(_) => None,
        };
        let verdict = match found {
            SearchOutcome::Sure(culprit, neighbours) => sure(*culprit, neighbours, state, versions, gauge),
            SearchOutcome::Unsure => unsure(best, state, versions, gauge),
            SearchOutcome::NoDifference(ends) => Verdict::bare(
                "change",
                gauge.metric(),
                Outcome::Unchanged,
                state.measurements.len(),
                format!("the ends do not differ, so there is nothing to find: {}", ends.verdict.reason),
            ),
        };
        Ok(Self { verdict, found, best, bisection, state, versions, gauge })
    }

    pub(super) fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The answer for people.
    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", terminal(&self.sentence()))?;
        let Some(best) = self.best else { return Ok(()) };
        writeln!(out)?;
        for (word, version) in [("before", best.before), ("after", best.version)] {
            let version = &self.versions[version];
            let about = version.about.as_ref().map_or_else(String::new, |about| format!("  {about}"));
            let name = if version.name.starts_with(&format!("{}: ", version.label)) {
                &version.label
            } else {
                &version.name
            };
            writeln!(out, "  {word:6}  {}", terminal(&format!("{name}{about}")))?;
        }
        let posterior = self.posterior(best);
        let (from, to) = histogram::middle(&posterior);
        writeln!(out, "\n  posterior  [{}]", histogram::bars(&posterior))?;
        writeln!(
            out,
            "  90 % in    {} to {}",
            terminal(&self.versions[from].label),
            terminal(&self.versions[to].label)
        )?;
        writeln!(out, "\nWhy: {}.", terminal(&self.verdict.reason))?;
        writeln!(out, "Repeat the search: --seed {}", self.state.seed)
    }

    /// The posterior of the search, with the confirmation's probability for the culprit.
    fn posterior(&self, best: Culprit) -> Vec<f64> {
        let mut posterior = self.bisection.posterior();
        if let SearchOutcome::Sure(searched, _) = self.found {
            let rest = (1.0 - best.probability) / (1.0 - searched.probability).max(f64::EPSILON);
            let span = best.before + 1..=best.version;
            let own = best.probability / searched.probability.max(f64::EPSILON);
            for (version, share) in posterior.iter_mut().enumerate() {
                *share *= if span.contains(&version) { own } else { rest };
            }
        }
        posterior
    }

    fn sentence(&self) -> String {
        let label = |version: usize| &self.versions[version].label;
        match (self.found, self.best) {
            (SearchOutcome::Sure(culprit, neighbours), _) if self.verdict.outcome == Outcome::Changed => {
                let ratio = neighbours.verdict.estimate.unwrap_or(culprit.ratio);
                let sure = neighbours.verdict.interval.map_or_else(String::new, |interval| {
                    format!(" ({})", amount::interval(interval, neighbours.verdict.confidence))
                });
                let skipped = match culprit.version - culprit.before - 1 {
                    0 => String::new(),
                    1 => " or the version before it, which could not be measured,".into(),
                    n => format!(" or one of the {n} versions before it, which could not be measured,"),
                };
                format!(
                    "{}{skipped} brought it: it {} than {}{sure}, {} measurements and {} pairs.",
                    label(culprit.version),
                    amount::comparative(self.gauge.metric(), ratio),
                    label(culprit.before),
                    self.state.measurements.len(),
                    neighbours.verdict.n,
                )
            }
            (SearchOutcome::NoDifference(_), _) => {
                format!("Nothing to find: {}.", self.verdict.reason)
            }
            (SearchOutcome::Sure(searched, _), Some(best)) => format!(
                "Undecided: the search pointed to {} ({:.0} %), but pairs with the version before it do not (now {:.0} %).",
                label(best.version),
                100.0 * searched.probability,
                100.0 * best.probability
            ),
            (_, Some(best)) => format!(
                "Undecided: {} is the most probable so far ({:.0} %).",
                label(best.version),
                100.0 * best.probability
            ),
            (_, None) => "Undecided: the ends were not both measured.".into(),
        }
    }

    /// The answer for programs.
    pub(super) fn json(&self) -> Value {
        let name = |version: usize| &self.versions[version].name;
        let mut document = json!({
            "schema": BISECT_SCHEMA,
            "culprit": self.best.map(|best| json!({
                "version": name(best.version),
                "index": best.version,
                "before": name(best.before),
                "not_measured": (best.before + 1..best.version).map(name).collect::<Vec<_>>(),
                "about": self.versions[best.version].about,
                "probability": best.probability,
                "ratio": best.ratio,
            })),
            "confirmation": match self.found {
                SearchOutcome::Sure(_, neighbours) => json!(neighbours.verdict),
                _ => Value::Null,
            },
            "unit": self.gauge.unit(),
            "seed": self.state.seed,
            "versions": self.state.question.versions,
            "posterior": self.best.map_or_else(|| self.bisection.posterior(), |best| self.posterior(best)),
            "skipped": self.state.skipped.iter().map(|version| name(*version)).collect::<Vec<_>>(),
            "measurements": self.state.measurements.iter().map(|m| {
                json!({"version": name(m.version), "index": m.version, "value": m.value})
            }).collect::<Vec<_>>(),
            "pairs": self.state.confirmation.as_ref().map(|confirmation| &confirmation.pairs),
        });
        if let (Value::Object(fields), Ok(Value::Object(verdict))) =
            (&mut document, serde_json::to_value(&self.verdict))
        {
            fields.extend(verdict);
        }
        document
    }
}

/// ln(culprit/before) of each pair of the confirmation.
fn distances(state: &State) -> Vec<f64> {
    let pairs = state.confirmation.iter().flat_map(|confirmation| &confirmation.pairs);
    pairs.map(|pair| (pair.bad / pair.good).ln()).collect()
}

/// The posterior is sure; whether the neighbours agree decides.
fn sure(
    culprit: Culprit,
    neighbours: &Comparison,
    state: &State,
    versions: &[Version],
    gauge: &Gauge,
) -> Verdict {
    let [before, after] = [culprit.before, culprit.version].map(|version| &versions[version].label);
    let found = &neighbours.verdict;
    let differ = matches!(found.outcome, Outcome::Slower | Outcome::Faster);
    let agree = differ && found.estimate.is_some_and(|ratio| (ratio > 1.0) == (culprit.ratio > 1.0));
    let believed = format!(
        "after {} measurements the probability that {after} brought the change is {:.1} %",
        state.measurements.len(),
        100.0 * culprit.probability
    );
    let n = state.measurements.len();
    if !agree {
        let now = 100.0 * culprit.confirmed_by(&distances(state)).probability;
        let reason = format!(
            "{believed}, but it could not be confirmed, and is {now:.1} % now. Compared in turns, with A for {before} and B for {after}, {}. A machine that \
             drifts makes such a change: search again with a steadier metric, such as instructions, or on a quieter machine",
            found.reason
        );
        return Verdict::bare("change", gauge.metric(), Outcome::Undecided, n, reason);
    }
    let pairs = state.confirmation.iter().flat_map(|confirmation| &confirmation.pairs);
    let level = median(&pairs.map(|pair| pair.good).collect::<Vec<_>>());
    let step = |ratio: f64| level * (ratio - 1.0);
    Verdict {
        estimate: found.estimate.map(step),
        interval: found.interval.map(|interval| interval.map(step)),
        confidence: found.confidence,
        ..Verdict::bare(
            "change",
            gauge.metric(),
            Outcome::Changed,
            n,
            format!("{believed}; compared in turns, with A for {before} and B for {after}, {}", found.reason),
        )
    }
}

fn unsure(best: Option<Culprit>, state: &State, versions: &[Version], gauge: &Gauge) -> Verdict {
    let n = state.measurements.len();
    let reason = match best {
        Some(best) => format!(
            "after {n} measurements the most probable version is {}, with {:.1} %: too little to be sure",
            versions[best.version].label,
            100.0 * best.probability
        ),
        None => format!("{n} measurements are too few: the ends were not both measured"),
    };
    Verdict::bare("change", gauge.metric(), Outcome::Undecided, n, reason)
}
