//! The two sides that a run's verdict compares, as the phases that belong to each.

use std::collections::BTreeMap;

use plimsoll_explain::causes::Measured;
use plimsoll_judge::Scale;
use plimsoll_judge::stats::mean;
use plimsoll_model::experiment::claim::interaction::InteractionDetails;
use plimsoll_model::experiment::claim::{Details, RecoveryClaim};
use plimsoll_model::experiment::{LoadKind, Metric, Service};
use plimsoll_model::observation::{PhaseRecord, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{Finding, ProfileReport};
use plimsoll_model::verdict::Outcome;

use super::contrast::{self, is_of};
use super::windows;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Before the flood, or the better one.
    Before = 0,
    /// After the flood, or the worse one.
    After = 1,
}

/// The phases that are compared.
pub(super) struct Compared<'t> {
    /// The claim, where it is about a system that is to come back.
    pub(super) recovery: Option<&'t RecoveryClaim>,
    /// The measured phases, each with its side.
    pub(super) phases: Vec<(&'t PhaseRecord, Side)>,
}

impl<'t> Compared<'t> {
    /// The phases of the cells that are the better side. A run that is to come back has both sides in each of its cells.
    pub(super) fn better(&self) -> Vec<&'t PhaseRecord> {
        let better = self.phases.iter().filter(|(_, side)| self.recovery.is_none() && *side == Side::Before);
        better.map(|(phase, _)| *phase).collect()
    }
}

/// The baseline and the last phase after a flood; all other cells and the one that is odd, or the worst where none is; or the better and the worse side of a difference. The
/// first claim of these kinds decides; `None` if there is none, or where it found nothing.
pub(super) fn of<'t>(
    plan: &'t Plan,
    trials: &'t [TrialRecord],
    findings: &'t [Finding],
) -> Option<Compared<'t>> {
    if let Some(claim) = plan.experiment.claims.iter().find_map(|claim| claim.recovery()) {
        let of_trial = |trial: &'t TrialRecord| {
            let before = windows::measured(trial, &claim.baseline).next().map(|phase| (phase, Side::Before));
            let after = windows::measured(trial, &claim.after).last().map(|phase| (phase, Side::After));
            [before, after].into_iter().flatten()
        };
        return Some(Compared { recovery: Some(claim), phases: trials.iter().flat_map(of_trial).collect() });
    }
    let odd = findings.iter().find_map(|finding| match &finding.details {
        Some(Details::Interaction(found)) if finding.verdict.outcome == Outcome::Interaction => {
            let lower_is_better = Metric::named(&finding.verdict.metric).is_some_and(Metric::lower_is_better);
            let odd = found.odd_cell.clone().or_else(|| worst_cell(found, lower_is_better))?;
            Some((found.phase.as_str(), odd))
        }
        _ => None,
    });
    if let Some((phase, odd)) = odd {
        let side =
            |trial: &TrialRecord| Some(if is_of(&odd, &trial.cell) { Side::After } else { Side::Before });
        return Some(Compared { recovery: None, phases: of_trials(phase, trials.iter(), side) });
    }
    let difference = better_and_worse(findings)?;
    Some(Compared { recovery: None, phases: difference.phases(trials) })
}

/// The cell with the worst figure: where causes are looked for in tables whose cells all depart equally far.
fn worst_cell(found: &InteractionDetails, lower_is_better: bool) -> Option<BTreeMap<String, String>> {
    let mut cells: BTreeMap<&Vec<String>, Vec<f64>> = BTreeMap::new();
    for measured in &found.measured {
        cells.entry(&measured.levels).or_default().push(measured.value);
    }
    let sign = if lower_is_better { -1.0 } else { 1.0 };
    let (levels, _) = cells.into_iter().min_by(|a, b| (sign * mean(&a.1)).total_cmp(&(sign * mean(&b.1))))?;
    Some(found.factors.iter().cloned().zip(levels.iter().cloned()).collect())
}

/// The comparison whose figures lie furthest apart, of the first claim that has a sure difference. Without one, the first whose sides differ in how their
/// trials scatter.
pub(super) fn better_and_worse(findings: &[Finding]) -> Option<Difference<'_>> {
    let sure: Vec<(&Finding, Difference<'_>)> = sure(findings).collect();
    let Some(first) = sure.first().map(|(finding, _)| finding.claim_number) else {
        return findings.iter().find_map(scattered).map(|(difference, _)| difference);
    };
    let of_first = sure.into_iter().filter(|(finding, _)| finding.claim_number == first);
    // Of two that lie equally far apart, the first.
    of_first.rev().max_by(|(a, _), (b, _)| apart(a).total_cmp(&apart(b))).map(|(_, difference)| difference)
}

/// The standard deviation of one side's trials, relative to the other's, that is beyond chance: of 2 × 5 normal values some 1 in 100 lie further apart
/// (F test, two-sided).
const SCATTERED: f64 = 5.0;
/// A side that scatters by less has no fault that comes and goes.
const LEAST_SCATTER: f64 = 0.1;
/// The fewest pairs whose scatter is judged.
const LEAST_PAIRS: usize = 5;

/// The sides of a difference that stays undecided where the trials of one scatter far more than those of the other: the calm one, then the one that scatters.
/// With them their relative standard deviations.
fn scattered(finding: &Finding) -> Option<(Difference<'_>, [f64; 2])> {
    let Some(Details::Difference(details)) = &finding.details else { return None };
    if finding.verdict.outcome != Outcome::Undecided || details.pairs.len() < LEAST_PAIRS {
        return None;
    }
    let relative = |side: usize| {
        let values: Vec<f64> = details.pairs.iter().map(|pair| pair[side]).collect();
        let mean = mean(&values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (values.len() - 1) as f64).sqrt() / mean.abs()
    };
    let of_sides = [relative(0), relative(1)];
    let worse = usize::from(of_sides[1] > of_sides[0]);
    let [calm, wild] = [of_sides[1 - worse], of_sides[worse]];
    let levels = [&details.a, &details.b];
    let metric = Metric::named(&finding.verdict.metric);
    let sides = [levels[1 - worse], levels[worse]];
    (wild >= LEAST_SCATTER && wild >= SCATTERED * calm)
        .then(|| (Difference { phase: &details.phase, metric, sides }, [calm, wild]))
}

/// Says of a difference that stays undecided that its scatter is one.
pub(super) fn note_scatter(finding: &mut Finding) {
    let Some((difference, [calm, wild])) = scattered(finding) else { return };
    let worse: Vec<String> =
        difference.sides[1].iter().map(|(factor, level)| format!("{factor} = {level}")).collect();
    let note = format!(
        "; with {} the trials scatter by {:.0} %, otherwise by {:.1} %, which is a difference by itself: longer slices, or a tail metric such as latency_p99, decide it",
        worse.join(", "),
        100.0 * wild,
        100.0 * calm
    );
    finding.verdict.reason.push_str(&note);
}

/// The differences that are sure, in the order of the claims.
pub(super) fn sure(findings: &[Finding]) -> impl DoubleEndedIterator<Item = (&Finding, Difference<'_>)> {
    findings.iter().filter_map(|finding| {
        let Some(Details::Difference(details)) = &finding.details else { return None };
        let sides = match finding.verdict.outcome {
            Outcome::Slower => [&details.a, &details.b],
            Outcome::Faster => [&details.b, &details.a],
            _ => return None,
        };
        let metric = Metric::named(&finding.verdict.metric);
        Some((finding, Difference { phase: &details.phase, metric, sides }))
    })
}

/// A difference that is sure.
pub(super) struct Difference<'f> {
    pub(super) phase: &'f str,
    /// `None` if it is a figure that a program prints.
    pub(super) metric: Option<Metric>,
    /// The levels of the better side, and of the worse one.
    pub(super) sides: [&'f BTreeMap<String, String>; 2],
}

impl<'t> Difference<'t> {
    /// The phases of both sides.
    pub(super) fn phases(&self, trials: &'t [TrialRecord]) -> Vec<(&'t PhaseRecord, Side)> {
        let [better, worse] = self.sides;
        let side = |trial: &TrialRecord| match (is_of(better, &trial.cell), is_of(worse, &trial.cell)) {
            (true, _) => Some(Side::Before),
            (_, true) => Some(Side::After),
            _ => None,
        };
        of_trials(self.phase, trials.iter(), side)
    }
}

/// How far the sides of a comparison lie apart.
fn apart(finding: &Finding) -> f64 {
    let metric = Metric::named(&finding.verdict.metric);
    match (finding.verdict.estimate, metric.map(contrast::scale)) {
        (Some(ratio), Some(Scale::Ratio)) if ratio > 0.0 => ratio.ln().abs(),
        (estimate, _) => estimate.unwrap_or(0.0).abs(),
    }
}

/// The name of the process that a load is a thread of.
const AGENT: &str = "plimsoll";

/// The processes and hosts that a phase measures: the service and those that it passes requests on to, or a storage
/// load. Also whether they wait for a disk. A storage load does, and so do hosts on which another process makes files
/// durable.
pub(super) fn measured(plan: &Plan, phase: &str, profile: Option<&ProfileReport>) -> Measured {
    let experiment = &plan.experiment;
    let load = experiment.measured_load(phase);
    let load = load.and_then(|name| experiment.loads.get(name));
    let (mut processes, mut hosts) = (Vec::new(), Vec::new());
    if load.is_some_and(|load| matches!(load.kind, LoadKind::Storage(_))) {
        processes.push(AGENT.to_owned());
        hosts.extend(load.map(|load| load.from.clone()));
    }
    let names = |name: &str, service: &Service| {
        let members = profile.map_or(&[][..], |profile| &profile.members).iter();
        let members: Vec<String> =
            members.filter(|it| it.service == name).map(|it| it.process.clone()).collect();
        if members.is_empty() { service.processes(name) } else { members }
    };
    let serving = load.map_or_else(Vec::new, |load| experiment.serving(load));
    for (name, service) in &serving {
        processes.extend(names(name, service));
        hosts.push(service.on.clone());
    }
    let is_loaded = |name: &String| experiment.loads.values().any(|load| load.to == *name);
    let serves = |name: &String| serving.iter().any(|(known, _)| *known == name);
    let helpers = experiment
        .services
        .iter()
        .filter(|(name, service)| !serves(name) && !is_loaded(name) && hosts.contains(&service.on));
    Measured {
        helpers: helpers.flat_map(|(name, service)| names(name, service)).collect(),
        processes,
        hosts,
        load: load.map(|load| (load.from.clone(), AGENT.to_owned())),
        waits_for_disk: !experiment.volumes.is_empty()
            || profile.is_some_and(|profile| profile.own_syncs_per_s > 0.0),
        ..Measured::default()
    }
}

/// A phase of the better run's trials, and of the worse one's.
pub(super) fn of_runs<'t>(
    phase: &'t str,
    better: &[&'t TrialRecord],
    worse: &[&'t TrialRecord],
) -> Vec<(&'t PhaseRecord, Side)> {
    let mut phases = of_trials(phase, better.iter().copied(), |_| Some(Side::Before));
    phases.extend(of_trials(phase, worse.iter().copied(), |_| Some(Side::After)));
    phases
}

fn of_trials<'t>(
    phase: &'t str,
    trials: impl Iterator<Item = &'t TrialRecord>,
    side: impl Fn(&TrialRecord) -> Option<Side>,
) -> Vec<(&'t PhaseRecord, Side)> {
    let sided = trials.filter_map(|trial| Some((trial, side(trial)?)));
    sided.flat_map(|(trial, side)| windows::measured(trial, phase).map(move |phase| (phase, side))).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::plan::Settings;

    use super::*;

    fn processes(services: &str, load: &str) -> Vec<String> {
        let text = format!(
            "question = \"?\"\n[hosts.here]\n{services}\n[loads.load]\nfrom = \"here\"\n{load}\n[[phases]]\nname = \"all\"\nmeasure = \"load\"\n"
        );
        measured(&Plan::read("chain", &text, &Settings::default()).unwrap(), "all", None).processes
    }

    #[test]
    fn trials_that_scatter_far_more_on_one_side_are_a_difference_that_no_median_shows() {
        use plimsoll_model::experiment::claim::difference::DifferenceDetails;
        let of = |pairs: Vec<[f64; 2]>| {
            let level = |level: &str| BTreeMap::from([("release".to_owned(), level.to_owned())]);
            let details = DifferenceDetails {
                phase: "work".into(),
                a: level("old"),
                b: level("new"),
                margin: 0.01,
                sides: None,
                pairs,
            };
            let verdict = plimsoll_model::verdict::Verdict::bare(
                "difference",
                "connections_per_second",
                Outcome::Undecided,
                6,
                "open",
            );
            let mut finding =
                Finding { details: Some(Details::Difference(details)), ..Finding::bare(verdict) };
            note_scatter(&mut finding);
            let worse = better_and_worse(std::slice::from_ref(&finding));
            (finding.verdict.reason.clone(), worse.map(|it| it.sides[1]["release"].clone()))
        };
        let a = [1000.0, 1010.0, 990.0, 1005.0, 995.0];
        let pairs = |b: [f64; 5]| a.into_iter().zip(b).map(|(a, b)| [a, b]).collect();
        let (reason, worse) = of(pairs([200.0, 1000.0, 950.0, 100.0, 1000.0]));
        assert_eq!(worse.as_deref(), Some("new"));
        assert!(reason.contains("with release = new the trials scatter by 71 %"), "{reason}");
        assert_eq!(of(pairs([960.0, 990.0, 1030.0, 985.0, 1001.0])), ("open".to_owned(), None));
    }

    #[test]
    fn what_is_measured_are_the_processes_of_the_whole_chain_by_the_names_that_the_kernel_gives() {
        let chain = "[services.front]\non = \"here\"\nhaproxy = { to = \"a-very-long-name\" }\n\
                     [services.a-very-long-name]\non = \"here\"\nweb = {}\n\
                     [services.beside]\non = \"here\"\nexec = [\"/usr/bin/other\"]\n";
        assert_eq!(
            processes(chain, "to = \"front\"\nhttp = { connections = 10 }"),
            ["haproxy", "a-very-long-nam"]
        );
        assert_eq!(processes(chain, "to = \"beside\"\nhttp = { connections = 10 }"), ["other"]);
        let wrapped = "[services.pages]\non = \"here\"\nexec = [\"sh\", \"-c\", \"cd /tmp && exec /usr/bin/python3 -m http.server\"]\n";
        assert_eq!(processes(wrapped, "to = \"pages\"\nhttp = { connections = 10 }"), ["sh", "python3"]);
        let of_helpers = |load: &str| {
            let text = format!(
                "question = \"?\"\n[hosts.here]\n{chain}\n[loads.load]\nfrom = \"here\"\n{load}\nhttp = {{ connections = 10 }}\n[[phases]]\nname = \"all\"\nmeasure = \"load\"\n"
            );
            measured(&Plan::read("chain", &text, &Settings::default()).unwrap(), "all", None).helpers
        };
        assert_eq!(of_helpers("to = \"front\""), ["other"], "no load goes to it");
        let volume = "[volumes.disk]\non = \"here\"\nloop = { size = \"64MiB\" }\n";
        assert_eq!(processes(volume, "to = \"disk\"\nstorage = { duration = \"1s\" }"), ["plimsoll"]);
    }
}
