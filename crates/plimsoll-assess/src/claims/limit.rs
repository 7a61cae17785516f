//! The limit claim: from the probes of a search to the judge's, and back to a verdict and to the next rate.

mod bound;
mod light;

use plimsoll_judge::limit::{self, LimitSettings, Probe};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::experiment::claim::limit::{
    BoundClaim, LimitClaim, LimitDetails, ProbeFinding, ProbeReport, SearchClaim, SearchDetails,
};
use plimsoll_model::observation::PhaseKind;

use crate::claims::prelude::*;

/// The metric of a limit.
const METRIC: &str = "requests_per_second";
/// Probes that must fail to reach their rate before that rate counts as beyond the generator. One may be bad luck.
const FAILURES: usize = 2;

/// A search in one cell: its phase, its bound and its range of rates.
struct Task<'e> {
    claim: &'e SearchClaim,
    settings: LimitSettings,
}

impl<'e> Task<'e> {
    /// The task of a phase; `None` if it does not search.
    fn of(experiment: &'e Experiment, phase: &str) -> Option<Self> {
        let mut claims = claims(experiment);
        let claim = claims.find(|claim| claim.phase == phase)?;
        let named = experiment.all_phases().filter(|other| other.name == phase);
        let search = named.filter_map(|other| other.kind.search()).next()?;
        let open = experiment.loads.get(&search.load)?.kind.http()?.open.as_ref()?;
        let settings =
            LimitSettings { precision: claim.precision.0, ..LimitSettings::between(open.rate, search.to) };
        Some(Self { claim, settings })
    }

    /// Result of one slice.
    fn probe(&self, trial: u32, slice: &Slice) -> Option<ProbeReport> {
        let offer = slice.result.offer.as_ref()?;
        let in_time = slice.result.share_within(self.claim.at_most.0)?;
        let took_ms = slice.result.ms_for_share(self.claim.share.0);
        let finding = if soundness::is_generators_fault(slice) {
            ProbeFinding::NotOffered
        } else if in_time >= self.claim.share.0 {
            ProbeFinding::Held
        } else {
            ProbeFinding::Broken
        };
        Some(ProbeReport { trial, offered_per_second: offer.offered()?, in_time, took_ms, finding })
    }

    /// Limits the search range to the rates that the generator could offer in these probes.
    fn within_reach(&self, probes: &[ProbeReport]) -> LimitSettings {
        let rates = |offered: bool| {
            let of = move |probe: &&ProbeReport| (probe.finding != ProbeFinding::NotOffered) == offered;
            probes.iter().filter(of).map(|probe| probe.offered_per_second)
        };
        let best = rates(true).fold(self.settings.from, f64::max);
        let beyond: Vec<f64> = rates(false).filter(|rate| *rate > best * 1.01).collect();
        let reach = beyond.iter().copied().fold(self.settings.to, f64::min);
        LimitSettings { to: if beyond.len() >= FAILURES { reach } else { self.settings.to }, ..self.settings }
    }
}

/// The rate of the next probe, in requests per second, of a phase that searches for a limit; absent when the limit is known well enough.
pub fn next_rate(experiment: &Experiment, phase: &str, slices: &[Slice]) -> Option<f64> {
    let task = Task::of(experiment, phase)?;
    let probes: Vec<ProbeReport> = slices.iter().filter_map(|slice| task.probe(0, slice)).collect();
    // The experiment was checked, so that its settings are in range.
    limit::next(&offered(&probes), &task.within_reach(&probes)).ok().flatten()
}

impl ClaimKind for LimitClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        match self {
            Self::Search(claim) => {
                plan.cells.iter().filter_map(|cell| searched(cell, &claim.phase, trials)).collect()
            }
            Self::Bound(claim) => plan.cells.iter().map(|cell| bound::finding(cell, claim, trials)).collect(),
        }
    }

    fn asks_about_failures(&self, phase: &str) -> Option<FailureQuestion> {
        let of_failures = |claim: &&BoundClaim| claim.phase == phase && claim.metric.is_of_failures();
        self.bound().filter(of_failures).map(|_| FailureQuestion::InPart)
    }
}

fn searched(cell: &Cell, phase: &str, trials: &[TrialRecord]) -> Option<Finding> {
    let task = Task::of(&cell.experiment, phase)?;
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let probes: Vec<Vec<ProbeReport>> = of_cell.iter().map(|trial| of_trial(&task, phase, trial)).collect();
    let all: Vec<ProbeReport> = probes.iter().flatten().copied().collect();
    let settings = task.within_reach(&all);
    let each: Vec<Vec<Probe>> = probes.iter().map(|probes| offered(probes)).collect();
    let bare = |outcome, reason: String| Verdict::bare("limit", METRIC, outcome, each.len(), reason);
    let mut verdict = match soundness::objection_to_search(&of_cell) {
        Some(reason) => bare(Outcome::Invalid, reason),
        None if all.len() >= FAILURES && each.iter().all(Vec::is_empty) => {
            bare(Outcome::Invalid, "the generator was the bottleneck: it reached none of the rates".into())
        }
        None => match limit::judge(METRIC, &each, &settings, task.claim.at_least) {
            Ok(verdict) => beyond_reach(verdict, &settings, &task.settings),
            Err(error) => bare(Outcome::Undecided, in_words(&error)),
        },
    };
    let bound = format!("{} within {}", task.claim.share, task.claim.at_most);
    verdict.reason = format!("{}{} (the bound: {bound})", prefix(&cell.levels), verdict.reason);
    let details = SearchDetails {
        phase: phase.to_owned(),
        cell: cell.levels.clone(),
        at_most_ms: task.claim.at_most.0.as_secs_f64() * 1e3,
        share: task.claim.share.0,
        probes: all,
        predicted: light::predicted(&cell.experiment, task.claim, of_cell.into_iter()),
    };
    Some(Finding::new(verdict, LimitDetails::Search(details)))
}

/// A limit that lies beyond what the generator could offer is none of the system's.
fn beyond_reach(verdict: Verdict, reached: &LimitSettings, wanted: &LimitSettings) -> Verdict {
    let open = verdict.outcome == Outcome::Undecided;
    let above = verdict.interval.is_some_and(|interval| interval.hi() > reached.to);
    if !(open && above && reached.to < wanted.to) {
        return verdict;
    }
    let reason = format!(
        "the generator was the bottleneck: it could not offer {:.0} requests/s, and the bound held below that",
        reached.to
    );
    Verdict { outcome: Outcome::Invalid, estimate: None, reason, ..verdict }
}

/// The claims about searches.
fn claims(experiment: &Experiment) -> impl Iterator<Item = &SearchClaim> {
    let limits = experiment.claims.iter().filter_map(|claim| claim.limit());
    limits.filter_map(LimitClaim::search)
}

/// The probes of one trial; empty if it has a fault.
fn of_trial(task: &Task<'_>, phase: &str, trial: &TrialRecord) -> Vec<ProbeReport> {
    if !trial.faults.is_empty() {
        return Vec::new();
    }
    let phases = trial.phases.iter().filter(|p| p.name == phase && p.kind == PhaseKind::Search);
    phases.flat_map(|phase| &phase.slices).filter_map(|slice| task.probe(trial.number, slice)).collect()
}

/// The probes whose rate was offered, as the judge takes them.
fn offered(probes: &[ProbeReport]) -> Vec<Probe> {
    let offered = probes.iter().filter(|probe| probe.finding != ProbeFinding::NotOffered);
    offered
        .map(|probe| Probe { at: probe.offered_per_second, held: probe.finding == ProbeFinding::Held })
        .collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::observation::{ErrorKind, Histogram, Latencies, LoadResult, Offer, PhaseRecord};
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "how many?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.clients]
from = "a"
to = "web"
http = { duration = "1s", concurrency = 100, open = { rate = 100 } }
[[phases]]
name = "search"
search = { load = "clients", to = 10000 }
[[claims]]
limit = { phase = "search", at_most = "10ms" }
"#;

    fn plan(more: &str) -> Plan {
        Plan::read(
            "test",
            &TEXT.replace("at_most = \"10ms\"", &format!("at_most = \"10ms\"{more}")),
            &Settings::default(),
        )
        .unwrap()
    }

    /// A slice in which the share `in_time` of the requests took 1 ms, and the others 50 ms.
    fn slice(rate: f64, in_time: f64, errors: &[(ErrorKind, u64)]) -> Slice {
        let due = rate as u64;
        let quick = (rate * in_time) as u64;
        let slow = due - quick - errors.iter().map(|(_, n)| n).sum::<u64>();
        let total = Histogram::of([(1_000, quick), (50_000, slow)]);
        let latency = Latencies { total, ..Latencies::default() };
        let offer = Offer { due, begun: due, length_ns: 1_000_000_000, ..Offer::default() };
        let result = LoadResult {
            elapsed_ns: 1_000_000_000,
            threads: 1,
            requests: due,
            latency,
            offer: Some(offer),
            errors: errors.iter().copied().collect(),
            ..LoadResult::default()
        };
        fixture::slice(result)
    }

    /// A search of a system that answers in time up to `limit`, by a generator that can send up to `reach`.
    fn trial(plan: &Plan, number: u32, limit: f64, reach: f64) -> TrialRecord {
        let mut slices = Vec::new();
        while let Some(rate) = next_rate(&plan.experiment, "search", &slices).filter(|_| slices.len() < 60) {
            let late =
                if rate > reach { vec![(ErrorKind::GeneratorLate, rate as u64 / 2)] } else { Vec::new() };
            slices.push(slice(
                rate.round(),
                if rate > reach {
                    0.2
                } else if rate <= limit {
                    1.0
                } else {
                    0.5
                },
                &late,
            ));
        }
        let phase = PhaseRecord {
            kind: PhaseKind::Search,
            slices,
            ..fixture::phase("search", LoadResult::default())
        };
        TrialRecord { number, block: number, phases: vec![phase], ..TrialRecord::default() }
    }

    fn found(plan: &Plan, limit: f64, reach: f64) -> Verdict {
        let trials: Vec<TrialRecord> = (1..=3).map(|n| trial(plan, n, limit, reach)).collect();
        crate::findings(plan, &trials).remove(0).verdict
    }

    #[test]
    fn the_limit_is_found_where_it_is() {
        let plan = plan("");
        let verdict = found(&plan, 870.0, 1e6);
        assert_eq!(verdict.outcome, Outcome::Estimated, "{verdict:?}");
        assert!((verdict.estimate.unwrap() / 870.0 - 1.0).abs() < 0.05, "{verdict:?}");
        assert_eq!((verdict.n, verdict.metric.as_str()), (3, METRIC));
        let found = crate::findings(&plan, &[trial(&plan, 1, 870.0, 1e6)]).remove(0);
        let Some(Details::Limit(LimitDetails::Search(report))) = found.details else { panic!("{found:?}") };
        assert!(
            report
                .probes
                .iter()
                .all(|p| (p.finding == ProbeFinding::Held) == (p.offered_per_second <= 870.0))
        );
    }

    #[test]
    fn a_rate_that_is_wanted_is_reached_or_not() {
        assert_eq!(found(&plan(", at_least = 500"), 870.0, 1e6).outcome, Outcome::Reached);
        assert_eq!(found(&plan(", at_least = 2000"), 870.0, 1e6).outcome, Outcome::NotReached);
    }

    #[test]
    fn a_generator_that_gives_way_before_the_system_is_the_bottleneck() {
        let verdict = found(&plan(""), 5_000.0, 800.0);
        assert_eq!(verdict.outcome, Outcome::Invalid, "{verdict:?}");
        assert!(verdict.reason.contains("the generator was the bottleneck"), "{}", verdict.reason);
        // It may be good enough for the wanted limit all the same, and for a limit below its own.
        assert_eq!(found(&plan(", at_least = 300"), 5_000.0, 800.0).outcome, Outcome::Reached);
        assert_eq!(found(&plan(""), 300.0, 2_000.0).outcome, Outcome::Estimated);
    }

    #[test]
    fn requests_that_fail_are_not_in_time() {
        let task = plan("");
        let task = Task::of(&task.experiment, "search").unwrap();
        let probe = task.probe(1, &slice(1000.0, 0.9, &[(ErrorKind::Timeout, 100)])).unwrap();
        assert_eq!((probe.finding, probe.in_time, probe.took_ms), (ProbeFinding::Broken, 0.9, None));
        let slow = task.probe(1, &slice(1000.0, 0.9, &[])).unwrap();
        assert!(slow.took_ms.is_some_and(|ms| (ms - 50.0).abs() < 0.1), "{slow:?}");
    }
}
