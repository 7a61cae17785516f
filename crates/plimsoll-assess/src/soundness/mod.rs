//! Whether a measurement can carry an answer: objections to the evidence of a claim, and troubles of the whole run, also of one that claims
//! nothing.

mod objection;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::experiment::{Experiment, Metric, Phase};
use plimsoll_model::observation::{
    Arm, ErrorKind, FaultKind, LoadResult, PhaseKind, PhaseRecord, Slice, TrialRecord,
};
use plimsoll_model::plan::{Plan, cell_text};
use plimsoll_model::report::{Finding, MeasurementFailure, RunStatus};
use plimsoll_model::verdict::{Outcome, Verdict};

pub(crate) use objection::{
    is_generators_fault, objection, objection_to_comparison, objection_to_load, objection_to_queue,
    objection_to_search,
};

/// Beyond this share of failures among a load's attempts in a phase, errors dominate the measurement.
const MOST_FAIL: f64 = 0.5;
/// The claim, as verdicts name it: every run makes it.
const CLAIM: &str = "measurement";

/// Why failures in a phase may be what a claim asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureQuestion {
    /// A claim compares it with what was before: total failure answers it.
    AfterAll,
    /// A claim is about its share of failures, or about the effect of a change on it: total failure answers nothing.
    InPart,
}

/// The question that the claims of a plan ask about failures in a phase.
pub(crate) type FailureQuestionOf = fn(&Plan, &str) -> Option<FailureQuestion>;

/// A trouble, and whether no claim at all can be answered with it.
pub(super) struct Defect {
    pub(super) trouble: MeasurementFailure,
    spoils_claims: bool,
}

/// The trials of one cell.
type CellTrials<'t> = (&'t BTreeMap<String, String>, Vec<&'t TrialRecord>);

/// All failures in these trials: those of loads, phase by phase and rig by rig, then those that cut trials short.
pub(crate) fn of(plan: &Plan, trials: &[TrialRecord], asked: FailureQuestionOf) -> Vec<Defect> {
    let mut found = of_loads(plan, trials, asked);
    for (cell, trials) in by_cell(trials) {
        found.extend(of_faults(cell, &trials));
        found.extend(of_generators(cell, &trials));
    }
    found
}

/// Whether a load came to nothing, so that further trials would fail as well. A trial that was cut short may be bad luck.
pub(crate) fn is_hopeless(plan: &Plan, trials: &[TrialRecord], asked: FailureQuestionOf) -> bool {
    of_loads(plan, trials, asked).into_iter().any(|found| found.spoils_claims)
}

fn by_cell<'t>(trials: impl IntoIterator<Item = &'t TrialRecord>) -> Vec<CellTrials<'t>> {
    let mut cells: BTreeMap<_, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in trials {
        cells.entry(&trial.cell).or_default().push(trial);
    }
    cells.into_iter().collect()
}

/// Failures of each phase and rig. Cells with the same failure are one trouble.
fn of_loads(plan: &Plan, trials: &[TrialRecord], asked: FailureQuestionOf) -> Vec<Defect> {
    let sound = by_cell(trials.iter().filter(|trial| trial.faults.is_empty()));
    let mut seen = BTreeSet::new();
    let phases = sound.iter().flat_map(|(_, trials)| trials).flat_map(|trial| &trial.phases);
    let each = phases.flat_map(|phase| [Arm::Treatment, Arm::Control].map(|arm| (phase.name.as_str(), arm)));
    let each: Vec<(&str, Arm)> = each.filter(|place| seen.insert(*place)).collect();
    let mut found = Vec::new();
    for (phase, arm) in each {
        let mut failed: BTreeMap<_, Vec<&CellTrials<'_>>> = BTreeMap::new();
        for cell in &sound {
            if let Some(failure) = Failure::of(&cell.1, phase, arm) {
                failed.entry((failure.came_to_nothing(), failure.most())).or_default().push(cell);
            }
        }
        for cells in failed.into_values() {
            let trials: Vec<&TrialRecord> = cells.iter().flat_map(|(_, trials)| trials).copied().collect();
            let names: Vec<_> = cells.iter().map(|(cell, _)| *cell).collect();
            let place = place(phase, &cells_in_words(&names, sound.len()), arm);
            found.extend(
                Failure::of(&trials, phase, arm)
                    .map(|failure| failure.in_words(plan, place, asked(plan, phase))),
            );
        }
    }
    found
}

/// Invalidates the verdicts that rest on a failed measurement, and adds one on the measurement itself if none reports it.
pub(super) fn object(found: &[Defect], status: RunStatus, trials: usize, findings: &mut Vec<Finding>) {
    let spoiling = || found.iter().filter(|found| found.trouble.spoils);
    let given_up = status == RunStatus::Failed;
    let stands = |finding: &Finding| finding.verdict.outcome != Outcome::Invalid;
    if let Some(first) = spoiling().find(|found| found.spoils_claims || given_up) {
        let reason = reason(&first.trouble);
        // An objection of the claim's own that names the same error would state the problem a second time.
        let error = first.trouble.first_error.as_deref();
        let is_same = |finding: &Finding| error.is_some_and(|error| finding.verdict.reason.contains(error));
        for finding in findings.iter_mut().filter(|finding| stands(finding) || is_same(finding)) {
            finding.verdict.invalidate(reason.as_str());
        }
    }
    if let Some(first) = spoiling().next()
        && (findings.is_empty() || findings.iter().any(stands))
    {
        let (metric, reason) = (Metric::ErrorShare.name(), reason(&first.trouble));
        findings.push(Finding::bare(Verdict::bare(CLAIM, metric, Outcome::Invalid, trials, reason)));
    }
}

/// Sentence of the failure, with the first error.
fn reason(trouble: &MeasurementFailure) -> String {
    let first = trouble.first_error.as_ref();
    let first = first.map_or_else(String::new, |error| format!("; the first error: {error}"));
    format!("{}{first}", trouble.what)
}

/// Work and failures of a load.
#[derive(Clone, Copy, Default)]
struct Work {
    done: u64,
    failed: u64,
    due: bool,
}

impl Work {
    fn of(result: &LoadResult) -> Self {
        let done = result.yielded();
        let due = result.offer.as_ref().is_none_or(|offer| offer.due > 0);
        Self { done, failed: result.failed(), due }
    }

    fn all(self) -> u64 {
        self.done + self.failed
    }

    fn plus(self, other: Self) -> Self {
        Self { done: self.done + other.done, failed: self.failed + other.failed, due: self.due || other.due }
    }
}

/// Failures of a load in a phase on a rig, where they are too many.
struct Failure<'t> {
    phase: &'t str,
    kind: PhaseKind,
    work: Work,
    errors: BTreeMap<ErrorKind, u64>,
    dominated: bool,
    first_error: Option<String>,
    last_words: BTreeMap<String, String>,
}

impl<'t> Failure<'t> {
    fn of(trials: &[&TrialRecord], phase: &'t str, arm: Arm) -> Option<Self> {
        let counted = [PhaseKind::Measure, PhaseKind::Search, PhaseKind::Drive];
        let of_name = |other: &&PhaseRecord| other.name == phase && counted.contains(&other.kind);
        let phases: Vec<&PhaseRecord> =
            trials.iter().flat_map(|trial| &trial.phases).filter(of_name).collect();
        let slices: Vec<&Slice> =
            phases.iter().flat_map(|phase| &phase.slices).filter(|slice| slice.arm == arm).collect();
        let kind = phases.first()?.kind;
        let work =
            slices.iter().map(|slice| Work::of(&slice.result)).reduce(Work::plus).filter(|work| work.due)?;
        // Failures are the subject of a phase that disturbs the system during its load.
        let undisturbed = phases.iter().all(|phase| phase.events.is_empty());
        let dominated =
            kind == PhaseKind::Measure && undisturbed && work.failed as f64 > MOST_FAIL * work.all() as f64;
        let mut errors = BTreeMap::new();
        for (kind, count) in slices.iter().flat_map(|slice| &slice.result.errors) {
            *errors.entry(*kind).or_default() += count;
        }
        let last_words = trials.iter().rev().map(|trial| &trial.last_words).find(|words| !words.is_empty());
        (work.done == 0 || dominated).then(|| Self {
            phase,
            kind,
            work,
            errors,
            dominated,
            first_error: slices.iter().find_map(|slice| slice.result.first_error.clone()),
            last_words: last_words.cloned().unwrap_or_default(),
        })
    }

    fn came_to_nothing(&self) -> bool {
        self.work.done == 0
    }

    /// The most frequent error.
    fn most(&self) -> Option<ErrorKind> {
        self.errors.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| *kind)
    }

    fn in_words(self, plan: &Plan, place: String, asked: Option<FailureQuestion>) -> Defect {
        let nothing = self.came_to_nothing();
        // A driven load is not measured, and total failure after a flood answers its claim.
        let spoils_claims =
            self.kind != PhaseKind::Drive && nothing && asked != Some(FailureQuestion::AfterAll);
        let (load, service) = names(&plan.experiment, self.phase);
        let what = noun(&plan.experiment, &load);
        let kinds: Vec<String> =
            self.errors.iter().map(|(kind, count)| format!("{count} {}", kind.title())).collect();
        let kinds = kinds.join(", ");
        let failure = match (nothing, self.work.failed) {
            (true, 0) => {
                format!(
                    "in {place} none of the {what} of `{load}` succeeded, and none was reported as failed"
                )
            }
            (true, failed) => format!("in {place} all {failed} {what} of `{load}` failed ({kinds})"),
            (false, failed) => format!(
                "in {place} {failed} of {} {what} of `{load}` failed ({kinds}), more than {:.0} %",
                self.work.all(),
                100.0 * MOST_FAIL
            ),
        };
        let trouble = MeasurementFailure {
            place,
            what: failure,
            spoils: spoils_claims || self.dominated && asked.is_none(),
            next: next(self.most(), &load, &service),
            first_error: self.first_error,
            last_words: self.last_words,
        };
        Defect { trouble, spoils_claims }
    }
}

/// The load of a phase, and what it aims at.
fn names(experiment: &Experiment, phase: &str) -> (String, String) {
    let named = experiment.all_phases().filter(|it| it.name == phase);
    let load = experiment.measured_load(phase).or_else(|| named.flat_map(Phase::loads).next());
    let load = load.cloned().unwrap_or_default();
    let to = experiment.loads.get(&load).map(|load| load.to.clone()).unwrap_or_default();
    (load, to)
}

/// The next step, by the most frequent failure.
fn next(kind: Option<ErrorKind>, load: &str, service: &str) -> String {
    match kind {
        None => format!(
            "a longer `duration` of `{load}`; `[capture]` shows whether anything arrives at `{service}`"
        ),
        Some(ErrorKind::Refused) => {
            format!("check that `{service}` still listens on an address that `{load}` can reach")
        }
        Some(ErrorKind::Status) => format!(
            "request the same path from `{service}` by hand; with `ready = {{ http = \"PATH\" }}` the run waits for status 200"
        ),
        Some(ErrorKind::Deferred | ErrorKind::Rejected) => format!(
            "read the reply: `{service}` must accept mail for the `senders` and `recipients` of `{load}`"
        ),
        Some(ErrorKind::Timeout | ErrorKind::ConnectTimeout | ErrorKind::NoConnection) => format!(
            "use a smaller load or a longer `timeout` of `{load}`; if no reply arrives at all, look for rules that drop packets"
        ),
        Some(ErrorKind::Handshake) => format!(
            "read the first failure, and check that `{service}` uses its certificate (`{{{{tls.certificate}}}}`) and TLS 1.3"
        ),
        Some(ErrorKind::NoPort) => {
            format!("a wider `net.ipv4.ip_local_port_range`, or more `addresses`, on the host of `{load}`")
        }
        Some(ErrorKind::NoDescriptor) => {
            "a higher limit of open files (`ulimit -n`), or a smaller load".to_owned()
        }
        Some(ErrorKind::Unreachable) => {
            format!("look at the links and routes between `{load}` and `{service}`")
        }
        Some(ErrorKind::GeneratorLate) => format!("a lower rate, or more `generators`, of `{load}`"),
        Some(ErrorKind::Reset | ErrorKind::Truncated | ErrorKind::Garbage) => {
            format!(
                "read in the log of `{service}` why it closes connections, and check that it speaks the protocol of `{load}`"
            )
        }
        Some(ErrorKind::ExitStatus) => format!("run the program of `{load}` by hand, and read its output"),
        Some(ErrorKind::Unreadable) => {
            format!("compare the output of the program of `{load}` with its `reads` or `metrics`")
        }
        Some(ErrorKind::Io | ErrorKind::Other) => {
            format!("repeat the requests of `{load}` by hand, and read the kernel log")
        }
    }
}

/// Faults that cut trials short. A service that died counts even if other trials finished, since it died on its own.
fn of_faults(cell: &BTreeMap<String, String>, trials: &[&TrialRecord]) -> Vec<Defect> {
    let all_faulty = trials.iter().all(|trial| !trial.faults.is_empty());
    let faults = trials.iter().filter_map(|trial| trial.faults.first());
    let mut kinds: Vec<(FaultKind, &str, &str, usize)> = Vec::new();
    for fault in faults {
        match kinds.iter_mut().find(|(kind, phase, ..)| (*kind, *phase) == (fault.kind, fault.phase.as_str()))
        {
            Some((.., count)) => *count += 1,
            None => kinds.push((fault.kind, &fault.phase, &fault.what, 1)),
        }
    }
    let found = |(kind, phase, what, count): (FaultKind, &str, &str, usize)| {
        let place = place(phase, &cell_text(cell), Arm::Treatment);
        let next = match kind {
            FaultKind::ServiceDied => {
                "start the service by hand under the same load; a smaller load shows whether the load ended it"
            }
            FaultKind::Deadline => "a longer `at_most` of the phase, or a smaller load",
            FaultKind::AgentLost => "find what ended the agent: the fault quotes all available details",
            FaultKind::LinkSaturated => "a lower rate of the load, or a link without a rate of its own",
            FaultKind::StoodStill => {
                "find what paused the run (a suspended machine, a stopped process), and run it again"
            }
            FaultKind::ClockJumped => {
                "find what changed the clock of that machine (a suspended or migrated guest), and run it again"
            }
            FaultKind::StepMissed => "an earlier `at` of the step, or a longer load",
            FaultKind::Skipped => "let the phase finish, or shorten it with `--set`",
        };
        let became = match kind {
            FaultKind::Skipped if count == 1 => "is not counted",
            FaultKind::Skipped => "are not counted",
            _ => "did not finish",
        };
        let trouble = MeasurementFailure {
            what: format!("{count} of {} trials {became}: in {place}, {what}", trials.len()),
            place,
            spoils: all_faulty || kind == FaultKind::ServiceDied,
            first_error: None,
            last_words: BTreeMap::new(),
            next: next.to_owned(),
        };
        Defect { trouble, spoils_claims: all_faulty }
    };
    kinds.into_iter().map(found).collect()
}

/// Generators on several machines that were not as one.
fn of_generators(cell: &BTreeMap<String, String>, trials: &[&TrialRecord]) -> Option<Defect> {
    let sound = trials.iter().filter(|trial| trial.faults.is_empty());
    let measured = sound.flat_map(|trial| &trial.phases).filter(|phase| phase.kind == PhaseKind::Measure);
    let mut phases: BTreeMap<&str, Vec<&Slice>> = BTreeMap::new();
    for phase in measured {
        phases.entry(&phase.name).or_default().extend(&phase.slices);
    }
    let (phase, what) =
        phases.into_iter().find_map(|(name, slices)| Some((name, objection::apart(&slices)?)))?;
    let place = place(phase, &cell_text(cell), Arm::Treatment);
    let trouble = MeasurementFailure {
        what: format!("in {place} {what}"),
        place,
        spoils: true,
        first_error: None,
        last_words: BTreeMap::new(),
        next: "use a machine without other work, or a smaller load on each".to_owned(),
    };
    Some(Defect { trouble, spoils_claims: false })
}

/// A phase, with its rig and its cells where there are several.
fn place(phase: &str, cells: &str, arm: Arm) -> String {
    let rig = if arm == Arm::Control { " on the control" } else { "" };
    let cells = if cells.is_empty() { String::new() } else { format!(" ({cells})") };
    format!("`{phase}`{rig}{cells}")
}

/// Names cells out of all that an experiment has, whose number is `of`.
fn cells_in_words(cells: &[&BTreeMap<String, String>], of: usize) -> String {
    match cells {
        [cell] => cell_text(cell),
        _ if cells.len() == of => "every cell".to_owned(),
        _ => cells.iter().map(|cell| cell_text(cell)).collect::<Vec<_>>().join("; "),
    }
}

/// Name of a load's operations, in the plural.
fn noun(experiment: &Experiment, load: &str) -> &'static str {
    experiment.loads.get(load).map_or("requests", |load| load.kind.operations())
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{BulkFacts, Datagrams, DiagnoseFacts, Fault, Generator, Stream};
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::{claims, fixture};

    const TEXT: &str = r#"
question = "how fast?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 100 }
[[phases]]
name = "all"
measure = "some"
"#;
    const BOUND: &str = "[[claims]]\nlimit = { metric = \"error_share\", below = \"1 %\" }";
    const RECOVERY: &str = "[[phases]]\nname = \"later\"\nmeasure = \"some\"\n[[claims]]\n\
                            recovery = { baseline = \"all\", after = \"later\" }";

    fn plan(more: &str) -> Plan {
        Plan::read("test", &format!("{TEXT}{more}"), &Settings::default()).unwrap()
    }

    fn trial(phases: &[(&str, LoadResult)]) -> TrialRecord {
        let phases = phases.iter().map(|(name, result)| fixture::phase(name, result.clone())).collect();
        TrialRecord { number: 1, block: 1, phases, ..TrialRecord::default() }
    }

    fn answered(done: u64, failed: u64) -> LoadResult {
        LoadResult {
            elapsed_ns: 1_000_000_000,
            threads: 1,
            connections: done,
            requests: done,
            errors: if failed > 0 { [(ErrorKind::Status, failed)].into() } else { BTreeMap::new() },
            first_error: (failed > 0).then(|| "10.0.0.2:80: the answer was HTTP status 500".to_owned()),
            ..LoadResult::default()
        }
    }

    fn verdicts(plan: &Plan, trials: &[TrialRecord], status: RunStatus) -> Vec<Verdict> {
        let mut findings = crate::findings(plan, trials);
        object(&of(plan, trials, claims::asked_about_failures), status, trials.len(), &mut findings);
        findings.into_iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_run_in_which_everything_failed_is_invalid_though_nothing_was_claimed() {
        let plan = plan("");
        let found = verdicts(&plan, &[trial(&[("all", answered(0, 100))])], RunStatus::Complete);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].claim.as_str(), found[0].outcome), ("measurement", Outcome::Invalid));
        let expected = "in `all` all 100 connections of `some` failed (100 status not 2xx); the first error: 10.0.0.2:80: the answer";
        assert!(found[0].reason.starts_with(expected), "{}", found[0].reason);
    }

    #[test]
    fn what_fails_alike_in_several_cells_is_one_trouble_and_stated_once() {
        let plan = plan(
            "[factors.clients]\nset = \"loads.some.http.concurrency\"\nlevels = [1, 2, 3]\n\
                         [[claims]]\ndifference = { phase = \"all\", factor = \"clients\" }",
        );
        let of_cell = |clients: &str, failed| {
            let cell = [("clients".to_owned(), clients.to_owned())].into();
            TrialRecord { cell, ..trial(&[("all", answered(100 - failed, failed))]) }
        };
        let trials = ["1", "2", "3"].map(|clients| of_cell(clients, 100));
        let troubles = of(&plan, &trials, claims::asked_about_failures);
        assert_eq!(troubles.len(), 1);
        let trouble = &troubles[0].trouble;
        assert!(
            trouble.what.starts_with("in `all` (every cell) all 300 connections of `some` failed"),
            "{}",
            trouble.what
        );
        for verdict in verdicts(&plan, &trials, RunStatus::Complete) {
            assert!(
                verdict.outcome == Outcome::Invalid && verdict.reason.starts_with(&trouble.what),
                "{verdict:?}"
            );
        }
        let two = [of_cell("1", 100), of_cell("2", 0), of_cell("3", 100)];
        let troubles = of(&plan, &two, claims::asked_about_failures);
        assert_eq!(troubles[0].trouble.place, "`all` (clients = 1; clients = 3)");
    }

    #[test]
    fn errors_dominate_from_half_on_and_few_are_no_trouble() {
        let plan = plan("");
        let of =
            |done, failed| verdicts(&plan, &[trial(&[("all", answered(done, failed))])], RunStatus::Complete);
        assert_eq!(of(49, 51)[0].outcome, Outcome::Invalid);
        assert!(of(49, 51)[0].reason.contains("51 of 100 connections of `some` failed"), "{:?}", of(49, 51));
        assert!(of(60, 40).is_empty() && of(100, 0).is_empty());
    }

    #[test]
    fn errors_that_a_claim_asks_about_are_its_answer_unless_there_is_nothing_else() {
        let plan = plan(BOUND);
        let of = |done, failed| {
            let trials = [1, 2, 3, 4, 5].map(|_| trial(&[("all", answered(done, failed))]));
            verdicts(&plan, &trials, RunStatus::Complete).iter().map(|v| v.outcome).collect::<Vec<_>>()
        };
        assert_eq!(of(20, 80), [Outcome::NotHeld]);
        assert_eq!(of(0, 100), [Outcome::Invalid]);
    }

    #[test]
    fn that_nothing_works_after_a_flood_is_a_finding() {
        let plan = plan(RECOVERY);
        let after = trial(&[("all", answered(100, 0)), ("later", answered(0, 100))]);
        let troubles = of(&plan, std::slice::from_ref(&after), claims::asked_about_failures);
        assert!(troubles.len() == 1 && !troubles[0].trouble.spoils, "it is reported all the same");
        let before = trial(&[("all", answered(0, 100)), ("later", answered(0, 100))]);
        assert_eq!(verdicts(&plan, &[before], RunStatus::Complete)[0].outcome, Outcome::Invalid);
    }

    #[test]
    fn what_moved_nothing_came_to_nothing_whatever_the_kind_of_load() {
        let streams = vec![Stream::default()];
        let stalled =
            LoadResult { connections: 1, facts: Some(BulkFacts { streams }.into()), ..LoadResult::default() };
        let lost = Datagrams { intended: 9, sent: 9, ..Datagrams::default() };
        let flow = LoadResult { connections: 1, facts: Some(lost.into()), ..LoadResult::default() };
        let path = LoadResult {
            connections: 1,
            facts: Some(DiagnoseFacts::default().into()),
            ..LoadResult::default()
        };
        for nothing in [stalled.clone(), flow, path, LoadResult::default()] {
            assert_eq!(Work::of(&nothing).done, 0, "{nothing:?}");
        }
        assert_eq!(Work::of(&LoadResult { bytes: 10, ..stalled }).done, 1);
    }

    #[test]
    fn a_service_that_died_in_one_of_two_trials_is_reported_and_leaves_the_claims_their_answer() {
        let plan = plan(RECOVERY);
        let fault = Fault { phase: "later".into(), kind: FaultKind::ServiceDied, what: "it ended".into() };
        let sound = trial(&[("all", answered(100, 0)), ("later", answered(100, 0))]);
        let dead = TrialRecord { faults: vec![fault], ..sound.clone() };
        let found = verdicts(&plan, &[sound.clone(), dead.clone()], RunStatus::Complete);
        assert_eq!((found.len(), found[1].claim.as_str()), (2, "measurement"));
        assert!(found[1].reason.contains("1 of 2 trials did not finish: in `later`, it ended"), "{found:?}");
        assert_ne!(found[0].outcome, Outcome::Invalid);
        let given_up = verdicts(&plan, &[sound, dead.clone(), dead], RunStatus::Failed);
        assert_eq!(given_up.iter().map(|v| v.outcome).collect::<Vec<_>>(), [Outcome::Invalid]);
        assert!(given_up[0].estimate.is_some(), "the figures are kept");
    }

    #[test]
    fn a_run_of_several_machines_that_did_not_start_together_is_invalid_though_it_claims_nothing() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let after = |after_ns| {
            let alone = LoadResult {
                connections: 50,
                elapsed_ns: 1_000_000_000,
                threads: 1,
                ..LoadResult::default()
            };
            let each = ["a", "b"].map(|host| Generator {
                host: host.into(),
                after_ns: if host == "b" { after_ns } else { 0 },
                within_ns: 30_000,
                result: alone.clone(),
            });
            let all = LoadResult { connections: 100, generators: each.into(), ..alone };
            of(&plan, &[trial(&[("all", all)])], claims::asked_about_failures)
        };
        assert!(after(200_000).is_empty());
        let found = after(3_000_000);
        assert!(
            found[0]
                .trouble
                .what
                .starts_with("in `all` the generators did not start together: the one on `b`")
        );
        let mut findings = Vec::new();
        object(&found, RunStatus::Complete, 1, &mut findings);
        assert_eq!(findings[0].verdict.outcome, Outcome::Invalid);
    }
}
