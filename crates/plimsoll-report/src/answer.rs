//! The short answer of a run, in sentences that all formats share: its verdicts, and what belongs to them.

use plimsoll_model::experiment::claim::Details;
use plimsoll_model::observation::PhaseKind;
use plimsoll_model::report::{Finding, MeasurementFailure, OfferReport, RunReport, RunStatus};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

use crate::claims::{self, Scale};
use crate::number::{count, figure, percent};
use crate::wording::{self, capitalised, standing};

/// The claim on the measurement itself, which every run makes.
const MEASUREMENT: &str = "measurement";

/// The last lines of a service that are shown.
const LINES_SHOWN: usize = 3;

/// A rate of which this share was sent was met.
const MET: f64 = 0.99;

/// Whether estimate and interval are ratios, with 1 for no change.
pub(crate) fn is_ratio(verdict: &Verdict) -> bool {
    claims::scale(verdict) == Scale::Ratio
}

/// Whether a verdict is no answer to a claim, but about the measurement itself.
pub(crate) fn is_on_measurement(verdict: &Verdict) -> bool {
    verdict.claim == MEASUREMENT
}

/// Whether the claim holds, and what it expects; empty where nothing is expected.
pub(crate) fn expectation(verdict: &Verdict) -> String {
    let standing = capitalised(standing(verdict.standing()));
    let expected = verdict.expected.as_ref();
    expected.map_or_else(String::new, |expected| {
        format!("{standing} (expected: {}).", expected.replace('_', " "))
    })
}

/// The answer without its reason: what was found, how large, how sure, on how many.
pub(crate) fn answer(verdict: &Verdict) -> String {
    let metric = wording::metric(&verdict.metric);
    let Some(estimate) = verdict.estimate.filter(|e| e.is_finite()) else {
        return match verdict.outcome {
            Outcome::Invalid if is_on_measurement(verdict) => "The measurement failed.".to_owned(),
            Outcome::Invalid => format!("The measurement of {metric} carries no answer."),
            _ => format!("Of {metric} no estimate can be given (n = {}).", verdict.n),
        };
    };
    let scale = claims::scale(verdict);
    let n = format!("n = {}", count(verdict.n as u64));
    let sure = match verdict.interval {
        Some(i) => format!("({}, {n})", interval(i, verdict.confidence, scale)),
        None => format!("({n}, no interval)"),
    };
    let found = claims::found(verdict, &metric, &scale.write(estimate));
    format!("{} {sure}.", capitalised(&found))
}

/// The interval with its confidence: `95 % interval 0.97 to 1.01`.
fn interval(Interval(lo, hi): Interval, confidence: f64, scale: Scale) -> String {
    format!(
        "{} % interval {} to {}",
        figure((confidence * 1e4).round() / 100.0),
        scale.write(lo),
        scale.write(hi)
    )
}

/// Verdicts that get a sentence each.
pub(crate) fn in_sentences(report: &RunReport) -> impl Iterator<Item = &Finding> {
    let in_a_table = |finding: &&Finding| finding.details.as_ref().is_some_and(claims::is_in_a_table);
    report.verdicts.iter().filter(move |finding| !in_a_table(finding))
}

/// The reason as a sentence: with a capital letter and a full stop.
pub(crate) fn reason(verdict: &Verdict) -> String {
    let reason = capitalised(verdict.reason.trim());
    if reason.is_empty() || reason.ends_with(['.', '!', '?']) { reason } else { reason + "." }
}

/// Everything that belongs into the short answer below the verdicts: how long it took to recover, whether it worsens, where the
/// state lives, and how far the run came.
pub(crate) fn short_answer(report: &RunReport) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(report.troubles.iter().map(|trouble| in_words(trouble, &report.verdicts)));
    sentences.extend(status(report));
    sentences.extend(claims::answers(report));
    sentences.extend(offered(report));
    sentences.extend(report.state_lives_in.map(|place| wording::state_lives_in(place).to_owned()));
    sentences
}

/// The failure with its first error, unless a verdict says so already; the services' output, and the next step.
fn in_words(trouble: &MeasurementFailure, verdicts: &[Finding]) -> String {
    let mut text = String::new();
    if !verdicts.iter().any(|finding| finding.verdict.reason.starts_with(&trouble.what)) {
        text = format!("{}.", capitalised(&trouble.what));
        if let Some(error) = &trouble.first_error {
            text.push_str(&format!(" The first error: {error}."));
        }
    }
    for (service, words) in &trouble.last_words {
        let lines: Vec<&str> = words.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join(" / ");
        text.push_str(&format!(" The last lines of stderr of `{service}`: {last}"));
        text.push_str(if last.ends_with('.') { "" } else { "." });
    }
    text.push_str(&format!(" Try: {}.", trouble.next));
    text.trim_start().to_owned()
}

/// Sentence for a run that has no verdict, or did not come to its end.
fn status(report: &RunReport) -> Option<String> {
    let trials = match report.trials.len() {
        0 => "no trial was completed".into(),
        1 => "1 trial is stored".into(),
        n => format!("{n} trials are stored"),
    };
    match report.status {
        RunStatus::Running => Some(format!("The run is still going on: {trials} so far.")),
        RunStatus::Interrupted => Some(format!("The run was interrupted: {trials}; --resume continues it.")),
        RunStatus::Failed => Some(match report.failure() {
            Some(why) => format!("The run could not go on: {}; {trials}.", why.trim_end_matches('.')),
            None => format!("The run could not go on: {trials}."),
        }),
        RunStatus::Complete if report.trials.is_empty() => Some("No trial was carried out.".into()),
        RunStatus::Complete if report.verdicts.is_empty() => {
            Some("The experiment claims nothing: there are figures, but no verdict.".into())
        }
        RunStatus::Complete => None,
    }
}

/// Whether the requested rates were offered, in all measured phases of all trials.
fn offered(report: &RunReport) -> Option<String> {
    let phases = report.trials.iter().flat_map(|trial| &trial.phases);
    let measured = phases.filter(|phase| phase.kind == PhaseKind::Measure);
    let offers: Vec<&OfferReport> = measured.filter_map(|phase| phase.offer.as_ref()).collect();
    let met = |offer: &&&OfferReport| offer.sent_per_second >= MET * offer.offered_per_second;
    let (number, met) = (offers.len(), offers.iter().filter(met).count());
    let worst =
        offers.iter().map(|offer| offer.sent_per_second / offer.offered_per_second).fold(1.0, f64::min);
    (number > 0).then(|| {
        if met == number {
            "The offered rate was met.".to_owned()
        } else {
            let missed = number - met;
            format!(
                "The offered rate was not met in {missed} of {number} phases: {} % in the worst.",
                percent(worst)
            )
        }
    })
}

/// Names of the two sides of the evidence: a heading, and the titles of the columns.
pub(crate) fn evidence_sides(report: &RunReport) -> (&'static str, &'static str, &'static str) {
    let is_of_a_cell = report.verdicts.iter().any(|finding| finding.verdict.outcome == Outcome::Interaction);
    if report.verdicts.iter().any(|finding| matches!(finding.details, Some(Details::Recovery(_)))) {
        ("What changed most from before to after", "before", "after")
    } else if is_of_a_cell {
        ("What sets the odd cell apart from the others", "elsewhere", "there")
    } else {
        ("What sets the worse side apart from the better one", "better", "worse")
    }
}
