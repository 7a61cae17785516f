//! Progress lines on stderr, rarer with more measurements: the measurement and the current probabilities.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plimsoll_judge::bisect::{Bisection, Culprit};
use plimsoll_report::escape::terminal;

use super::Version;
use super::histogram;
use super::search::Observer;
use super::state::State;
use crate::amount;
use crate::contest::Contest;
use crate::measure::{Gauge, MeasureError};
use crate::messages;

/// Longest silence.
const SILENCE: Duration = Duration::from_secs(60);
/// Labels longer than this push the rest of the line away, and are cut.
const LABEL: usize = 20;

/// The lines.
pub(super) struct Lines<'a> {
    versions: &'a [Version],
    gauge: &'a Gauge,
    width: usize,
    last: Instant,
}

/// Whether a count is one of 1, 2, 3, 4, 6, 8, 12, 16, 24 ...: two for each doubling, so that 250 measurements make 15 lines.
fn is_milestone(count: usize) -> bool {
    count.checked_ilog2().is_some_and(|power| count.is_multiple_of(1 << power.saturating_sub(1)))
}

impl<'a> Lines<'a> {
    pub(super) fn new(versions: &'a [Version], gauge: &'a Gauge, state: &State) -> Self {
        messages::say(format_args!(
            "{} versions, from {} to {}",
            versions.len(),
            label(&versions[0]),
            label(&versions[versions.len() - 1])
        ));
        if !state.measurements.is_empty() {
            messages::say(format_args!("continuing after {} measurements", state.measurements.len()));
        }
        let width = versions.iter().map(|version| label(version).chars().count()).max().unwrap_or(0);
        Self { versions, gauge, width, last: Instant::now() }
    }

    /// Whether a line is due at this count.
    fn is_due(&mut self, count: usize) -> bool {
        let due = is_milestone(count) || self.last.elapsed() >= SILENCE;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

/// Stores the output of a version that could not be measured.
fn keep(wrote: &str) -> io::Result<PathBuf> {
    let named = tempfile::Builder::new().prefix("plimsoll-bisect-").suffix(".txt").tempfile()?;
    std::fs::write(named.path(), wrote)?;
    Ok(named.keep().map_err(|error| error.error)?.1)
}

fn label(version: &Version) -> String {
    terminal(&version.label).chars().take(LABEL).collect()
}

impl Observer for Lines<'_> {
    fn measured(&mut self, bisection: &Bisection, version: usize, value: f64) {
        if !self.is_due(bisection.observations().len()) {
            return;
        }
        let posterior = bisection.posterior();
        let (from, to) = histogram::middle(&posterior);
        let place = if from == to {
            label(&self.versions[from])
        } else {
            format!("{} to {}", label(&self.versions[from]), label(&self.versions[to]))
        };
        let best = bisection.best().map_or_else(String::new, |best| {
            format!("  {} {:.1} %", label(&self.versions[best.version]), 100.0 * best.probability)
        });
        messages::say(format_args!(
            "{:4}  {:width$}  {:>9}  [{}]  90 % in {place}{best}",
            bisection.observations().len(),
            label(&self.versions[version]),
            amount::amount(value, self.gauge.unit()),
            histogram::bars(&posterior),
            width = self.width,
        ));
    }

    fn skipped(&mut self, version: usize, why: &MeasureError) {
        let label = label(&self.versions[version]);
        let MeasureError::NotCarriedOut { wrote, .. } = why else {
            messages::say(format_args!("{label} cannot be measured (exit status 125) and is skipped"));
            return;
        };
        match keep(wrote) {
            Ok(path) => messages::say(format_args!(
                "{label} cannot be measured and is skipped; reason and last console output: {}",
                path.display()
            )),
            Err(error) => messages::say(format_args!(
                "{label} cannot be measured and is skipped; the reason could not be stored ({error}):\n{}",
                terminal(wrote)
            )),
        }
    }

    fn compared(&mut self, culprit: &Culprit, contest: &Contest) {
        if !self.is_due(contest.blocks().len()) {
            return;
        }
        let [good, bad] = [culprit.before, culprit.version].map(|version| label(&self.versions[version]));
        let Some(block) = contest.blocks().last() else { return };
        let so_far = contest.comparisons(self.gauge.metric()).ok().and_then(|found| {
            let verdict = &found.first()?.verdict;
            Some(format!(
                "{} ({})",
                amount::change(verdict.estimate?),
                amount::interval(verdict.interval?, verdict.confidence)
            ))
        });
        messages::say(format_args!(
            "pair {:3}  {good} {}  {bad} {}  {}",
            contest.blocks().len(),
            amount::amount(block.values[0], self.gauge.unit()),
            amount::amount(block.values[1], self.gauge.unit()),
            so_far.unwrap_or_default(),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_counts_of_each_doubling_are_milestones() {
        let found: Vec<usize> = (0..=100).filter(|count| is_milestone(*count)).collect();
        assert_eq!(found, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]);
    }
}
