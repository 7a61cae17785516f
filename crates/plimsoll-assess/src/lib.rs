//! From observations to a report: the judge's verdicts, the explainer's evidence, and the plain figures beside them.
//!
//! [`report`] makes the report of a run; [`interim`] answers the questions of a run in progress. Both are pure functions of stored data, so
//! that a stored run can be judged again.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod aa_test;
pub mod capture;
mod claims;
pub mod commands;
mod confirm;
mod contrast;
mod curve;
mod events;
mod evidence;
mod figures;
#[cfg(test)]
mod fixture;
mod flushing;
pub mod interim;
mod mail;
mod packets;
mod pooled;
mod probes;
mod profile;
pub mod quantiles;
pub mod recorded;
mod remedies;
mod runs;
pub mod saved;
mod sides;
mod slices;
mod soundness;

mod vmstat;
pub mod watched;
pub mod weeks;
mod windows;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_explain::causes::{self, Known, Ladder, Measured};
use plimsoll_judge::input::JudgeError;
use plimsoll_model::cause::Cause;
use plimsoll_model::experiment::{Experiment, Host};
use plimsoll_model::note::{Note, NoteKind};
use plimsoll_model::observation::{SamplingCost, TrialRecord};
use plimsoll_model::plan::{Plan, cell_text};
use plimsoll_model::report::{
    AaTest, Environment, Evidence, Finding, HostReport, ProfileReport, RUN_SCHEMA, RunReport, RunStatus,
};
use plimsoll_model::verdict::{Outcome, Verdict};

pub use confirm::intervention;
pub use contrast::shortfalls;
pub use packets::time_sequences;
pub use profile::{all_stacks, stacks};
pub use runs::{RunContrast, RunFigure, alone, figures_of, runs};

/// Explanation of a difference.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// Named explanations, the likeliest first.
    pub causes: Vec<Cause>,
    /// Changes, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Where the CPUs' time went; `None` if stacks were not sampled.
    pub profile: Option<ProfileReport>,
}

impl Explained {
    /// From what moved between two sides, and from their stacks, to causes.
    fn of(
        moved: Vec<Evidence>,
        profile: Option<ProfileReport>,
        measured: &Measured,
        took_us: Option<(f64, f64)>,
    ) -> Self {
        let known = Known {
            evidence: &moved,
            profile: profile.as_ref(),
            measured: measured.clone(),
            took_us,
            ..Known::default()
        };
        let causes = causes::named(&known);
        Self { causes, evidence: moved.into_iter().take(MOST_EVIDENCE).collect(), profile }
    }

    /// Takes every cause for less likely than not, since it is not certain that one side is worse.
    pub fn doubt(&mut self) {
        self.causes.iter_mut().for_each(|cause| cause.confidence *= LEANING);
    }
}

/// Ratio of two figures from which on they count as different, even where few trials leave it open.
const FAR: f64 = 2.0;
/// How much less sure causes are where it is not certain that one side is worse: less likely than not.
const LEANING: f64 = 0.49;

/// Whether the second of two figures is far worse (true) or far better than the first by their ratio; `None` if they are not far apart.
#[must_use]
pub fn leans(ratio: f64, lower_is_better: bool) -> Option<bool> {
    let is_far = ratio >= FAR || ratio <= 1.0 / FAR;
    (is_far && ratio > 0.0 && ratio.is_finite()).then_some((ratio > 1.0) == lower_is_better)
}

/// A run, apart from its trials.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Its id.
    pub id: &'a str,
    /// The experiment's name.
    pub experiment: &'a str,
    /// The seed of everything that is random in it.
    pub seed: u64,
    /// The command line that carries it out again.
    pub rerun: Vec<String>,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it has taken so far.
    pub elapsed: Duration,
    /// How far it came.
    pub status: RunStatus,
    /// Notes to the reader of the figures.
    pub notes: &'a [Note],
}

/// The report of a run.
pub fn report(plan: &Plan, run: &Run<'_>, all: &[TrialRecord]) -> RunReport {
    let (first, trials) = aa_test::split(all);
    let judged = judged(plan, trials);
    let mut findings = judged.clone();
    object(plan, all, &mut findings);
    if let Some(crowd) = run.notes.iter().find(|note| note.kind == NoteKind::OtherProcesses) {
        for finding in &mut findings {
            doubt(plan, finding, &crowd.text);
        }
    }
    let troubles = soundness::of(plan, all, claims::asked_about_failures);
    soundness::object(&troubles, run.status, all.len(), &mut findings);
    let aa_test = aa_test::of(plan, all);
    // A run that ends after its first block has no other figures to show.
    let shown = if trials.is_empty() { first } else { trials };
    let remedies = remedies::results(plan, trials);
    let state_lives_in = remedies::state_lives_in(plan, trials, &findings);
    let compared = if plan.intervention.is_none() { sides::of(plan, trials, &judged) } else { None };
    let moved = compared.as_ref().map(|sides| evidence::of(plan, sides, trials)).unwrap_or_default();
    let profile = compared.as_ref().and_then(|sides| profile::of(&sides.phases));
    // Where a figure came back, nothing holds it down.
    let explained = findings.iter().any(|finding| {
        matches!(
            finding.verdict.outcome,
            Outcome::NotRecovered | Outcome::Slower | Outcome::Faster | Outcome::Interaction
        )
    });
    let to_explain = profile.as_ref().filter(|_| explained);
    let phase = compared.as_ref().and_then(|sides| Some(sides.phases.first()?.0.name.as_str()));
    let better = compared.as_ref().map(sides::Compared::better).unwrap_or_default();
    let mut causes = causes::named(&Known {
        evidence: &moved,
        profile: to_explain,
        measured: sides::measured(plan, phase.unwrap_or_default(), to_explain),
        lost: compared.as_ref().and_then(evidence::lost),
        took_us: None,
        stalls: &packets::cells(trials, &better),
        ladder: Ladder { state_lives_in, restored: remedies::restored(plan, trials) },
        shown: claims::shown(plan, trials, &judged),
        probes: probes::effect(plan, &findings),
        saved: Vec::new(),
        is_beside: false,
    });
    probes::object_to_own(&mut causes, &mut findings);
    let evidence = moved.iter().take(MOST_EVIDENCE).cloned().collect();
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        run: run.id.to_owned(),
        experiment: run.experiment.to_owned(),
        question: plan.experiment.question.clone(),
        status: run.status,
        seed: run.seed,
        rerun_command: run.rerun.clone(),
        started_unix_s: run.started_unix_s,
        troubles: troubles.into_iter().map(|found| found.trouble).collect(),
        elapsed_s: run.elapsed.as_secs_f64(),
        environment: Environment::default(),
        notes: notes(run.notes, aa_test.as_ref()),
        aa_test,
        causes,
        packets: packets::reports(trials),
        verdicts: findings,
        remedies,
        state_lives_in,
        evidence,
        profile,
        profiles: if plan.intervention.is_none() { profile::each(trials, &judged) } else { Vec::new() },
        hosts: hosts(plan),
        trials: shown.iter().map(|trial| figures::trial(&plan.experiment, trial)).collect(),
        sampling: sampling(all),
    }
}

/// Findings on the claims, or on the intervention, from the trials after the first block.
fn judged(plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
    match &plan.intervention {
        Some(intervention) => {
            confirm::verdicts(intervention, plan, trials).into_iter().map(Finding::bare).collect()
        }
        None => claims::findings(plan, trials),
    }
}

/// Findings of the trials, limited by the probes and the machine.
fn findings(plan: &Plan, all: &[TrialRecord]) -> Vec<Finding> {
    let mut findings = judged(plan, aa_test::split(all).1);
    object(plan, all, &mut findings);
    findings
}

/// Takes back what the probes brought about themselves, and everything where the machine is unfit.
fn object(plan: &Plan, all: &[TrialRecord], findings: &mut [Finding]) {
    probes::object(plan, findings);
    findings.iter_mut().for_each(sides::note_scatter);
    if let Some(unfit) = aa_test::of(plan, all).filter(|aa_test| !aa_test.fit) {
        let reason = format!("{}; try: {}", unfit.reason, aa_test::NEXT);
        findings.iter_mut().for_each(|finding| finding.verdict.invalidate(reason.as_str()));
    }
}

/// Takes back verdicts that counted the tasks of others, leaves open their possible effects, and names them where nothing is sure.
fn doubt(plan: &Plan, finding: &mut Finding, crowd: &str) {
    let counts_others = claims::counts_other_processes(plan, finding);
    let is_open = claims::may_be_the_doing_of_others(plan, finding);
    let Finding { verdict, .. } = finding;
    if counts_others && verdict.outcome != Outcome::Invalid {
        let reason = "tasks of others are counted like its own";
        *verdict = Verdict::bare(&verdict.claim, &verdict.metric, Outcome::Invalid, verdict.n, reason);
    }
    if verdict.outcome == Outcome::Invalid {
        verdict.reason = format!("{}; {crowd}", verdict.reason);
    } else if is_open {
        verdict.outcome = Outcome::Undecided;
        verdict.reason = format!(
            "{}; {crowd}: without a control ([control] with `idle_in`) their effect cannot be separated from the step's",
            verdict.reason
        );
    }
}

/// The most counters that are listed as evidence.
const MOST_EVIDENCE: usize = 12;

/// Why figures cannot be judged, without the judge's names for them: a reader has no series `a`.
fn in_words(error: &JudgeError) -> String {
    match error {
        JudgeError::Empty { .. } => "there is no figure to judge: no trial has measured one".to_owned(),
        JudgeError::TooFew { got, needed, .. } => {
            let is = if *got == 1 { "there is 1 figure" } else { &format!("there are {got} figures") };
            format!("{is}, and {needed} are needed")
        }
        JudgeError::NotFinite { value, .. } => format!("a figure is {value}, which is no number"),
        JudgeError::NotPositive { value, .. } => {
            format!("a figure is {value}, and only those above 0 can be compared by ratio")
        }
        JudgeError::Negative { value, .. } => format!("a figure is {value}, and none can be below 0"),
        JudgeError::MixedLengths { left_len, right_len, .. } => {
            format!("one side has {left_len} figures and the other {right_len}; each needs its counterpart")
        }
        other => other.to_string(),
    }
}

/// A cell's levels before a sentence about it: `threads = 4: `; empty without factors.
fn prefix(levels: &BTreeMap<String, String>) -> String {
    if levels.is_empty() {
        return String::new();
    }
    format!("{}: ", cell_text(levels))
}

fn hosts(plan: &Plan) -> Vec<HostReport> {
    let Experiment { hosts, services, loads, .. } = &plan.experiment;
    let report = |(name, host): (&String, &Host)| HostReport {
        name: name.clone(),
        kind: host.kind,
        services: services
            .iter()
            .filter(|(_, service)| service.on == *name)
            .map(|(name, _)| name.clone())
            .collect(),
        loads: loads.iter().filter(|(_, load)| load.from == *name).map(|(name, _)| name.clone()).collect(),
    };
    hosts.iter().map(report).collect()
}

/// The notes of a run, with all counters that could not be read in one.
fn notes(all: &[Note], aa_test: Option<&AaTest>) -> Vec<Note> {
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for note in all {
        match &note.kind {
            NoteKind::NotSeen { file } => files.push(file.as_str()),
            _ => notes.push(note.clone()),
        }
    }
    if !files.is_empty() {
        notes.push(format!("this kernel does not show {}", files.join(", ")).into());
    }
    notes.extend(aa_test.map(|aa_test| aa_test.reason.clone().into()));
    notes
}

fn sampling(trials: &[TrialRecord]) -> SamplingCost {
    trials.iter().fold(SamplingCost::default(), |sum, trial| SamplingCost {
        samples: sum.samples + trial.sampling.samples,
        cpu_us: sum.cpu_us + trial.sampling.cpu_us,
        elapsed_us: sum.elapsed_us + trial.sampling.elapsed_us,
        controller_us: sum.controller_us + trial.sampling.controller_us,
        agents_us: sum.agents_us + trial.sampling.agents_us,
        machine_us: sum.machine_us + trial.sampling.machine_us,
    })
}
