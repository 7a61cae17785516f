//! The one command to run after a run.

use std::collections::BTreeMap;
use std::iter;

use plimsoll_model::experiment::Metric;
use plimsoll_model::experiment::claim::Details;
use plimsoll_model::experiment::claim::limit::{LimitDetails, ProbeFinding, SearchDetails};
use plimsoll_model::observation::Arm;
use plimsoll_model::report::{Finding, PhaseReport, RunReport, RunStatus};
use plimsoll_model::shell::shell_word;
use plimsoll_model::verdict::{Outcome, Standing, Verdict};

use crate::answer::is_ratio;
use crate::claims;
use crate::number::seconds;
use crate::wording::Cell;

/// More trials than this many times those of the run are not proposed.
const MOST_TIMES: f64 = 10.0;
/// A run of more hours is not proposed.
const MOST_SECONDS: f64 = 3600.0;
/// Trials beyond those that the interval asks for: its width is itself an estimate.
const SPARE: f64 = 1.3;
/// CPU time is proposed where it scatters this many times less: then it takes a quarter of the trials at most.
const LESS_SCATTER: f64 = 2.0;
const BY_CPU_TIME: &str = "To decide it by CPU time, which scatters less";
/// A wider margin says nothing of use.
const WIDEST_MARGIN: f64 = 0.3;

/// A command, and what it is for.
pub(crate) struct Next {
    pub(crate) purpose: String,
    pub(crate) command: String,
}

impl Next {
    /// The next command and, beside more trials, a decision by CPU time where that scatters less.
    pub(crate) fn all(report: &RunReport, store: Option<&str>) -> Vec<Self> {
        let next = Self::of(report, store);
        let is_undecided = |it: &&Finding| it.verdict.outcome != Outcome::Invalid;
        let open = open(report).filter(is_undecided).filter(|_| report.status == RunStatus::Complete);
        let setting = open.and_then(|open| by_cpu_time(report, open));
        let by_cpu = setting.map(|setting| Self {
            purpose: "Or by CPU time, which scatters less".to_owned(),
            command: again(report, &set(setting)) + &in_store(store),
        });
        let other = by_cpu.filter(|it| it.command != next.command);
        iter::once(next).chain(other).collect()
    }

    /// Purpose of the next command: the rest of the run, a decision of an open claim, the evidence for a cause, or all figures.
    fn of(report: &RunReport, store: Option<&str>) -> Self {
        let in_store = in_store(store);
        let run = |purpose: &str, command: &str| Self {
            purpose: purpose.to_owned(),
            command: format!("plimsoll {command}{in_store}"),
        };
        let id = &report.run;
        match report.status {
            RunStatus::Interrupted => {
                return run("To go on", &format!("run --resume {id}{}", on_a_queue(report)));
            }
            RunStatus::Running => return run("Later", &format!("show {id}")),
            RunStatus::Failed => {
                return Self { purpose: "Again".to_owned(), command: again(report, &[]) + &in_store };
            }
            RunStatus::Complete => {}
        }
        let next = open(report).and_then(|open| match open.verdict.outcome {
            // A machine that does not agree with itself in the figure of the claim may do so in another.
            Outcome::Invalid if report.aa_test.as_ref().is_some_and(|test| !test.fit) => {
                Some((BY_CPU_TIME.to_owned(), again(report, &set(by_cpu_time(report, open)?))))
            }
            Outcome::Invalid => None,
            _ => Some(deciding(report, open)),
        });
        if let Some((purpose, command)) = next {
            return Self { purpose, command: command + &in_store };
        }
        if !report.causes.is_empty() {
            return run("Evidence", &format!("explain {id}"));
        }
        run("All figures", &format!("show {id} --details"))
    }
}

/// The first claim that stays open.
fn open(report: &RunReport) -> Option<&Finding> {
    report.verdicts.iter().find(|it| it.verdict.standing() == Standing::Open)
}

/// The store as the end of a command, where it is not the usual one.
fn in_store(store: Option<&str>) -> String {
    store.map_or_else(String::new, |store| format!(" --store {}", shell_word(store)))
}

/// The next command for an open claim: a wider search, more trials, or, where too many of them were needed, CPU time or a wider margin.
fn deciding(report: &RunReport, open: &Finding) -> (String, String) {
    if let Some(Details::Limit(LimitDetails::Search(search))) = &open.details
        && let Some(setting) = wider(search)
    {
        return ("To decide it".to_owned(), again(report, &set(setting)));
    }
    let reps = trials_of_a_cell(report);
    let affordable = |wanted: &u32| {
        let times = f64::from(*wanted) / f64::from(reps);
        times <= MOST_TIMES && report.elapsed_s * times <= MOST_SECONDS
    };
    let wanted = match excess(open) {
        Some(excess) => trials_needed(reps, excess).filter(affordable),
        None => Some((2 * reps).max(reps + 2)),
    };
    let cheaper = || {
        let by_cpu = by_cpu_time(report, open).map(|setting| (BY_CPU_TIME, setting));
        by_cpu.or_else(|| Some(("To decide it with a wider margin", wider_margin(open)?)))
    };
    match (wanted, wanted.map_or_else(cheaper, |_| None)) {
        (None, Some((purpose, setting))) => (purpose.to_owned(), again(report, &set(setting))),
        (wanted, _) => {
            // As many as are proposed at most may decide nothing.
            let purpose = if wanted.is_some() { "To decide it" } else { "To come nearer to a decision" };
            let wanted = wanted.unwrap_or_else(|| (f64::from(reps) * MOST_TIMES) as u32);
            let takes = seconds(report.elapsed_s * f64::from(wanted) / f64::from(reps));
            (format!("{purpose} (about {takes})"), again(report, &["--reps".to_owned(), wanted.to_string()]))
        }
    }
}

/// The words of the command line that change a setting.
fn set(setting: String) -> [String; 2] {
    ["--set".to_owned(), setting]
}

/// The command of the run with other words in the place of its seed and of how many trials it has.
fn again(report: &RunReport, more: &[String]) -> String {
    let mut words: Vec<&String> = Vec::new();
    let mut rest = report.rerun_command.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--seed" => {
                rest.next();
            }
            "--set" => {
                let limits = ["run.min_trials=", "run.max_trials=", "run.budget="];
                let of_trials = |setting: &&String| limits.iter().any(|limit| setting.starts_with(limit));
                words.extend(
                    rest.next().filter(|setting| !of_trials(setting)).into_iter().flat_map(|it| [word, it]),
                );
            }
            _ => words.push(word),
        }
    }
    words.into_iter().chain(more).map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Where a queue carries the trials out, as the command line has it.
fn on_a_queue(report: &RunReport) -> String {
    let mut words = report.rerun_command.iter().skip_while(|word| *word != "--on").skip(1);
    words.next().map_or_else(String::new, |on| format!(" --on {}", shell_word(on)))
}

/// How many trials each cell has; at least one.
fn trials_of_a_cell(report: &RunReport) -> u32 {
    let of = |cell: &Cell| report.trials.iter().filter(|trial| trial.cell == *cell).count();
    let most = report.trials.iter().map(|trial| of(&trial.cell)).max();
    u32::try_from(most.unwrap_or(0)).unwrap_or(u32::MAX).max(1)
}

/// A range for the search beyond the one that was too narrow.
fn wider(search: &SearchDetails) -> Option<String> {
    let rates = || search.probes.iter().map(|probe| probe.offered_per_second);
    let found = |wanted: ProbeFinding| search.probes.iter().any(|probe| probe.finding == wanted);
    let setting = |end: &str, rate: f64| format!("phases.{}.search.{end}={rate:.0}", search.phase);
    match (found(ProbeFinding::Held), found(ProbeFinding::Broken)) {
        (true, false) => Some(setting("to", 4.0 * rates().fold(0.0, f64::max))),
        (false, true) => Some(setting("from", (rates().fold(f64::INFINITY, f64::min) / 10.0).max(1.0))),
        _ => None,
    }
}

/// How many times too wide the interval is: half of it over the distance from the estimate to the nearest bound that it must leave behind.
fn excess(open: &Finding) -> Option<f64> {
    let Verdict { estimate, interval, .. } = &open.verdict;
    // The size of an interaction is a ratio of ratios.
    let is_of_ratios = is_ratio(&open.verdict)
        || matches!(open.details, Some(Details::Interaction(_)))
            && Metric::named(&open.verdict.metric).is_some_and(|metric| !metric.is_share());
    let scale = |value: f64| if is_of_ratios { value.ln() } else { value };
    let (at, lo, hi) = (scale((*estimate)?), scale(interval.as_ref()?.lo()), scale(interval.as_ref()?.hi()));
    let limits: Vec<f64> =
        claims::limits(&open.verdict, open.details.as_ref()?).into_iter().map(scale).collect();
    let distance = match limits.as_slice() {
        [] => return None,
        [limit] => (at - limit).abs(),
        // A difference is shown where the interval leaves "no change", or stays within the margin.
        both => {
            let within = both.iter().map(|limit| (at - limit).abs()).fold(f64::INFINITY, f64::min);
            let inside = both.iter().any(|limit| *limit < at) && both.iter().any(|limit| *limit > at);
            if inside { at.abs().max(within) } else { at.abs() }
        }
    };
    let excess = (hi - lo) / 2.0 / distance;
    excess.is_finite().then_some(excess)
}

/// How many trials make the interval narrow enough.
fn trials_needed(reps: u32, excess: f64) -> Option<u32> {
    let wanted = (f64::from(reps) * excess * excess * SPARE).ceil();
    (wanted < f64::from(u32::MAX)).then(|| (wanted as u32).max(reps + 2))
}

/// The setting that judges a claim by the CPU time of an operation, where that scatters much less than the figure of the claim: that of the load where
/// the load is the work that is compared, and else that of the services.
fn by_cpu_time(report: &RunReport, open: &Finding) -> Option<String> {
    let phase = match open.details.as_ref()? {
        Details::Difference(details) => &details.phase,
        Details::Interaction(details) => &details.phase,
        _ => return None,
    };
    let (number, claim) = (open.claim_number?, &open.verdict.claim);
    let facts = measured(report, phase).find_map(|(_, it)| it.facts.as_ref());
    let cpu = match facts.is_some_and(|facts| facts.measures_its_own_work()) {
        true => Metric::CpuUsPerRequest,
        false => Metric::ServiceCpuUsPerRequest,
    };
    let judged = scatter(report, phase, Metric::named(&open.verdict.metric)?)?;
    let scatters_less = scatter(report, phase, cpu)? * LESS_SCATTER <= judged;
    scatters_less.then(|| format!("claims.{}.{claim}.metric={}", number - 1, cpu.name()))
}

/// A phase as it was measured in each trial, with the cell of the trial.
fn measured<'r>(report: &'r RunReport, phase: &'r str) -> impl Iterator<Item = (&'r Cell, &'r PhaseReport)> {
    report.trials.iter().flat_map(move |trial| {
        let own = trial.phases.iter().filter(move |it| it.name == phase && it.arm == Arm::Treatment);
        own.map(move |it| (&trial.cell, it))
    })
}

/// The relative standard deviation of a figure among trials of one cell, over all cells.
fn scatter(report: &RunReport, phase: &str, metric: Metric) -> Option<f64> {
    let mut cells: BTreeMap<&Cell, Vec<f64>> = BTreeMap::new();
    for (cell, it) in measured(report, phase) {
        let value = it.figure(metric).filter(|value| *value > 0.0).map(f64::ln);
        cells.entry(cell).or_default().extend(value);
    }
    let freedom: usize = cells.values().map(|logs| logs.len().saturating_sub(1)).sum();
    let squares: f64 = cells.values().map(|logs| squares(logs)).sum();
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The margin within which the whole interval lies.
fn wider_margin(open: &Finding) -> Option<String> {
    let is_of = matches!(open.details, Some(Details::Recovery(_) | Details::Difference(_)));
    let (number, interval) =
        (open.claim_number?, open.verdict.interval.filter(|_| is_of && is_ratio(&open.verdict))?);
    let limits = claims::limits(&open.verdict, open.details.as_ref()?);
    let below = limits.iter().any(|limit| *limit < 1.0).then(|| 1.0 - interval.lo());
    let above = limits.iter().any(|limit| *limit > 1.0).then(|| interval.hi() - 1.0);
    let margin = below.into_iter().chain(above).fold(0.0, f64::max);
    (margin > 0.0 && margin <= WIDEST_MARGIN).then(|| {
        format!("claims.{}.{}.margin={:.0}%", number - 1, open.verdict.claim, (margin * 100.0).ceil())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_interval_that_decides_takes_four_times_the_trials_and_a_reserve() {
        assert_eq!(trials_needed(10, 2.0), Some(52));
        assert_eq!(trials_needed(10, 0.5), Some(12), "always more than there are");
        assert_eq!(trials_needed(1, f64::INFINITY), None);
    }
}
