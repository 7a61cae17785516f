//! The claim about the growth of time with the number of workers: from rounds to the judge's points, and back to a verdict.

use plimsoll_judge::input::JudgeError;
use plimsoll_judge::models::growth::{Growth, GrowthPoint, fit_growth};
use plimsoll_judge::stats;
use plimsoll_model::experiment::claim::growth::{GrowthClaim, GrowthDetails, GrowthPointReport};
use plimsoll_model::experiment::load::messaging::MessagingFacts;

use crate::claims::prelude::*;
use crate::curve;

/// The claim, as the judge names it.
const CLAIM: &str = "growth";
/// The metric of the claim: the time of a round.
const METRIC: &str = "round_ms";

impl ClaimKind for GrowthClaim {
    /// One finding for each curve.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        let groups = curve::groups(plan, &self.over).into_iter();
        groups.map(|cell| finding(self, cell, trials)).collect()
    }
}

fn finding(claim: &GrowthClaim, cell: BTreeMap<String, String>, trials: &[TrialRecord]) -> Finding {
    let trials = curve::of_group(&cell, trials);
    let rounds = rounds(claim, &trials);
    let fitted = fitted(&rounds);
    let mut verdict = match (soundness::objection_to_load(&trials), &fitted) {
        (Some(reason), _) => Verdict::bare(CLAIM, METRIC, Outcome::Invalid, trials.len(), reason),
        (None, Ok(growth)) => growth.verdict(METRIC),
        (None, Err(error)) => Verdict::bare(CLAIM, METRIC, Outcome::Undecided, 0, in_words(error)),
    };
    verdict.reason = prefix(&cell) + &verdict.reason;
    if rounds.is_empty() {
        return Finding::bare(verdict);
    }
    let growth = fitted.ok().filter(|growth| growth.is_described);
    let growth = growth.as_ref();
    let details = GrowthDetails {
        cell,
        phase: claim.phase.clone(),
        kind: growth.map(|growth| growth.kind.name().to_owned()),
        knee: growth.and_then(|growth| growth.knee),
        knee_interval: growth.and_then(|growth| growth.knee_interval),
        bytes_per_worker: stats::median_slope(&memories(&rounds)),
        points: points(&rounds),
        curve: growth.map_or_else(Vec::new, Growth::drawn),
    };
    Finding::new(verdict, details)
}

/// Times of a trial's rounds.
struct Rounds {
    workers: u64,
    /// The time of one, the median over slices.
    ms: f64,
    memory: Option<f64>,
}

fn rounds(claim: &GrowthClaim, trials: &[&TrialRecord]) -> Vec<Rounds> {
    let sound = trials.iter().filter(|trial| trial.faults.is_empty());
    sound.filter_map(|trial| of_trial(claim, trial)).collect()
}

fn of_trial(claim: &GrowthClaim, trial: &TrialRecord) -> Option<Rounds> {
    let seen: Vec<(f64, MessagingFacts)> = slices::measured(trial, &claim.phase)
        .filter_map(|slice| {
            let facts = *slice.result.found::<MessagingFacts>()?;
            Some((facts.ms_per_round(slice.result.elapsed_ns)?, facts))
        })
        .collect();
    let memory = seen.iter().filter_map(|(_, facts)| facts.memory);
    let memory: Vec<f64> = memory.map(|memory| (memory.own_bytes + memory.kernel_bytes) as f64).collect();
    Some(Rounds {
        workers: seen.first()?.1.workers,
        ms: stats::median(&seen.iter().map(|(ms, _)| *ms).collect::<Vec<f64>>()),
        memory: (!memory.is_empty()).then(|| stats::median(&memory)),
    })
}

fn fitted(rounds: &[Rounds]) -> Result<Growth, JudgeError> {
    let points: Vec<GrowthPoint> =
        rounds.iter().map(|rounds| GrowthPoint { n: rounds.workers as f64, time: rounds.ms }).collect();
    fit_growth(&points)
}

fn memories(rounds: &[Rounds]) -> Vec<(f64, f64)> {
    rounds.iter().filter_map(|rounds| Some((rounds.workers as f64, rounds.memory?))).collect()
}

/// The trials of each number of workers together.
fn points(rounds: &[Rounds]) -> Vec<GrowthPointReport> {
    let mut numbers: BTreeMap<u64, Vec<&Rounds>> = BTreeMap::new();
    for rounds in rounds {
        numbers.entry(rounds.workers).or_default().push(rounds);
    }
    let point = |(workers, same): (u64, Vec<&Rounds>)| {
        let times = stats::sorted(&same.iter().map(|rounds| rounds.ms).collect::<Vec<f64>>());
        let memories: Vec<f64> = same.iter().filter_map(|rounds| rounds.memory).collect();
        GrowthPointReport {
            workers,
            trials: same.len(),
            ms: stats::median(&times),
            least_ms: times[0],
            most_ms: times[times.len() - 1],
            memory_bytes: (!memories.is_empty()).then(|| stats::median(&memories)),
        }
    };
    numbers.into_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::experiment::load::messaging::WorkersMemory;
    use plimsoll_model::observation::LoadResult;
    use plimsoll_model::plan::{Cell, Settings};

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "how does it grow?"
[hosts.here]
[loads.crowd]
from = "here"
messaging = { rounds = 1 }
[factors.groups]
set = "loads.crowd.messaging.groups"
levels = [1, 2, 5, 10, 20, 50]
[factors.over]
set = "loads.crowd.messaging.over"
levels = ["sockets", "pipes"]
[[phases]]
name = "talk"
measure = "crowd"
[[claims]]
growth = { phase = "talk", over = ["groups"] }
"#;

    /// Sockets take 0.1 ms for each worker, and pipes the same time however many there are; every worker needs 50,000 bytes.
    fn trial(cell: &Cell) -> TrialRecord {
        let workers = 40 * cell.levels["groups"].parse::<u64>().unwrap();
        let elapsed_ns = if cell.levels["over"] == "sockets" { 100_000 * workers } else { 9_000_000 };
        let memory = WorkersMemory { own_bytes: 20_000 * workers, kernel_bytes: 30_000 * workers + 4096 };
        let facts = MessagingFacts { workers, rounds: 2, memory: Some(memory) };
        let result = LoadResult {
            elapsed_ns: 2 * elapsed_ns,
            requests: 1,
            threads: workers as u32,
            system_us: 2 * elapsed_ns / 1000 * workers,
            facts: Some(facts.into()),
            ..LoadResult::default()
        };
        TrialRecord {
            block: 1,
            cell: cell.levels.clone(),
            phases: vec![fixture::phase("talk", result)],
            ..TrialRecord::default()
        }
    }

    fn details(finding: &Finding) -> Option<&GrowthDetails> {
        match &finding.details {
            Some(Details::Growth(details)) => Some(details),
            _ => None,
        }
    }

    #[test]
    fn every_combination_of_the_other_factors_is_a_curve_with_its_kind_and_its_memory() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let trials: Vec<TrialRecord> = plan.cells.iter().chain(&plan.cells).map(trial).collect();
        let findings = crate::findings(&plan, &trials);
        let verdicts: Vec<&Verdict> = findings.iter().map(|finding| &finding.verdict).collect();
        assert_eq!(verdicts.len(), 2);
        for (over, kind, doubling) in [("sockets", "linear", 2.0), ("pipes", "constant", 1.0)] {
            let start = format!("over = {over}: {kind} from 40");
            let verdict = verdicts.iter().find(|verdict| verdict.reason.starts_with(&start));
            let verdict = verdict.unwrap_or_else(|| panic!("{start} in {verdicts:?}"));
            assert_eq!((verdict.outcome, verdict.n), (Outcome::Estimated, 12));
            assert!((verdict.estimate.unwrap() - doubling).abs() < 1e-6, "{verdict:?}");
        }
        let reports: Vec<&GrowthDetails> = findings.iter().filter_map(details).collect();
        assert_eq!(reports.len(), 2);
        assert_eq!(
            reports[0].points.iter().map(|p| p.workers).collect::<Vec<_>>(),
            [40, 80, 200, 400, 800, 2000]
        );
        assert!((reports[0].bytes_per_worker.unwrap() - 50_000.0).abs() < 1.0, "{reports:?}");
        assert_eq!((reports[0].points[0].trials, reports[0].curve.len()), (2, 61));
    }

    #[test]
    fn too_few_points_are_undecided() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let first = [trial(&plan.cells[0])];
        let findings = crate::findings(&plan, &first);
        assert!(findings.iter().all(|it| it.verdict.outcome == Outcome::Undecided), "{findings:?}");
    }
}
