//! The brief report of every kind of claim.

use plimsoll_model::experiment::claim::Details;
use plimsoll_model::experiment::claim::interaction::InteractionDetails;
use plimsoll_model::observation::StorageFacts;
use plimsoll_model::report::{AaTest, MeasurementFailure, RunReport, RunStatus};
use plimsoll_report::text::{self, TextOptions};
use serde_json::{Value, json};

use crate::findings::{self, of};
use crate::fixture;

const MOST_LINES: usize = 20;
const MOST_LINES_WITH_TABLE: usize = 30;

fn written(report: &RunReport, width: usize) -> String {
    let mut out = Vec::new();
    text::brief(&mut out, report, None, &TextOptions { color: false, width }).unwrap();
    String::from_utf8(out).unwrap()
}

/// The names of all kinds of claims.
macro_rules! names {
    ($($(#[$_of_kind:meta])* $key:ident: $_kind:ident($_claim:ident) finds $_details:ident,)+) => {
        const KINDS: &[&str] = &[$(stringify!($key)),+];
    };
}

plimsoll_model::each_claim!(names);

/// A run with trials, and one verdict.
fn judged(claim: &str, metric: &str, outcome: &str, figures: [f64; 3], details: &Value) -> RunReport {
    let [estimate, lo, hi] = figures;
    let verdict = json!([{
        "claim_number": 1, "claim": claim, "metric": metric, "outcome": outcome, "estimate": estimate, "interval": [lo, hi], "confidence": 0.95,
        "n": 6, "reason": format!("a reason for {outcome}"), "details": details
    }]);
    RunReport { verdicts: of(verdict), ..fixture::measured(fixture::Fate::Recovers, 6) }
}

fn difference(outcome: &str, figures: [f64; 3]) -> RunReport {
    let sides = json!([{ "mean": 2030.0, "sd": 12.0 }, { "mean": 1964.0, "sd": 31.0 }]);
    let details =
        json!({ "phase": "after", "a": { "k": "1" }, "b": { "k": "2" }, "margin": 0.05, "sides": sides });
    judged("difference", "connections_per_second", outcome, figures, &details)
}

/// A sample of each kind of claim.
fn samples() -> Vec<RunReport> {
    let cell = json!({});
    vec![
        fixture::recovered(),
        fixture::not_recovered(),
        fixture::undecided(),
        fixture::invalid(),
        difference("slower", [0.90, 0.88, 0.92]),
        findings::search(),
        findings::modes(),
        findings::winners(),
        findings::growth(),
        findings::knee(),
        findings::load_curve(),
        findings::loss_curve(),
        findings::diagnosis(),
        findings::hops(),
        judged(
            "step_recovery",
            "connections_per_second",
            "recovered",
            [0.8, 0.5, 1.1],
            &json!({ "phase": "after", "step": "restart", "cell": cell, "each": [] }),
        ),
        judged(
            "interaction",
            "connections_per_second",
            "additive",
            [1.0, 0.98, 1.03],
            &json!({ "phase": "after", "factors": ["a", "b"], "odd_cell": null, "measured": [] }),
        ),
        judged(
            "hysteresis",
            "requests_per_second",
            "recovered",
            [0.02, 0.0, 0.04],
            &json!({ "phase": "after", "cell": cell, "margin": 0.1 }),
        ),
        judged(
            "delivery",
            "messages_per_minute",
            "delivered",
            [1.0, 1.0, 1.0],
            &json!({ "sink": "inbox", "cell": cell, "acknowledged": 900, "arrived": 900, "lost": 0, "doubled": 2, "corrupted": 0 }),
        ),
        judged(
            "source",
            "device_share",
            "held",
            [0.9, 0.89, 0.91],
            &json!({ "phase": "after", "cell": cell, "read_bytes": 4_000_000, "device_read_bytes": 3_600_000 }),
        ),
    ]
}

fn fits_on_a_screen(report: &RunReport, width: usize) {
    let text = written(report, width);
    let most = if has_table(&text) { MOST_LINES_WITH_TABLE } else { MOST_LINES };
    assert!(text.lines().count() <= most, "{} lines of at most {most}:\n{text}", text.lines().count());
    let last = text.lines().last().expect("a line");
    assert!(last.starts_with("Verdict: ") && last.chars().count() <= width, "{last:?} in\n{text}");
    let before: Vec<&str> = text.lines().rev().skip(1).take_while(|line| !line.is_empty()).collect();
    assert!(
        before.iter().any(|line| line.contains("plimsoll ")),
        "a command stands before the verdict:\n{text}"
    );
}

/// Lines of at least two columns that follow each other.
fn has_table(text: &str) -> bool {
    let columns = |line: &str| line.starts_with("  ") && line.trim().contains("  ");
    text.lines().zip(text.lines().skip(1)).any(|(a, b)| columns(a) && columns(b))
}

#[test]
fn every_kind_of_claim_fits_on_a_screen_and_ends_with_its_verdict() {
    let samples = samples();
    for kind in KINDS {
        let of_kind = |report: &RunReport| report.verdicts.iter().any(|it| it.verdict.claim == *kind);
        assert!(samples.iter().any(of_kind), "no sample of `{kind}`");
    }
    for report in &samples {
        for width in [80, 100, 200] {
            fits_on_a_screen(report, width);
        }
        let text = written(report, 100);
        assert!(has_table(&text) || report.trials.is_empty(), "no figures:\n{text}");
    }
}

#[test]
fn a_run_of_many_claims_and_long_texts_fits_all_the_same() {
    let long = "a word ".repeat(300);
    let mut report = fixture::not_recovered();
    let finding = report.verdicts[0].clone();
    report.verdicts = (0..40).map(|_| finding.clone()).collect();
    report.verdicts.iter_mut().for_each(|finding| finding.verdict.reason.clone_from(&long));
    report.question.clone_from(&long);
    report.causes[0].title.clone_from(&long);
    let trouble = MeasurementFailure {
        place: long.clone(),
        what: long.clone(),
        spoils: true,
        first_error: Some(long.clone()),
        last_words: Default::default(),
        next: long,
    };
    report.troubles = vec![trouble; 3];
    for width in [60, 80, 100] {
        fits_on_a_screen(&report, width);
    }
    assert!(written(&report, 100).ends_with("Verdict: of 40 claims, 40 fail.\n"));
}

#[test]
fn a_run_that_did_not_recover_shows_how_its_figures_give_the_ratio() {
    insta::assert_snapshot!(written(&fixture::not_recovered(), 100));
}

#[test]
fn a_run_that_recovered_is_a_short_table() {
    insta::assert_snapshot!(written(&fixture::recovered(), 100));
}

#[test]
fn runs_without_a_verdict_say_why_on_the_last_line() {
    let last = |report: &RunReport| written(report, 100).lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&fixture::empty()), "Verdict: none, no trial was carried out.");
    let text = written(&fixture::interrupted(), 100);
    assert!(text.contains("To go on: plimsoll run --resume 2026"), "{text}");
    let claims_nothing = fixture::measured(fixture::Fate::Recovers, 1);
    assert_eq!(last(&claims_nothing), "Verdict: none, the experiment claims nothing.");
    let failed = RunReport { status: RunStatus::Failed, ..fixture::empty() };
    assert_eq!(last(&failed), "Verdict: none yet. The run could not go on.");
}

#[test]
fn what_is_undecided_ends_with_a_command_that_decides_it() {
    let command = |report: &RunReport| {
        let text = written(report, 200);
        text.lines().rev().nth(1).unwrap_or_default().to_owned()
    };
    // Half of the interval is 0.06, the distance to "no change" 0.04 and to the margin 0.01: 1.5² times 6 trials, and a reserve of 30 %.
    let near = difference("undecided", [0.96, 0.90, 1.02]);
    assert!(command(&near).starts_with("To decide it (about "), "{}", command(&near));
    assert!(command(&near).ends_with(": plimsoll run flood-relay --reps 19"), "{}", command(&near));
    // CPU time stands beside it where that scatters less.
    let mut beside = difference("undecided", [0.96, 0.90, 1.02]);
    for (trial, nth) in beside.trials.iter_mut().zip(0_u8..) {
        for phase in trial.phases.iter_mut().filter(|phase| phase.name == "after") {
            let sign = if nth.is_multiple_of(2) { 1.0 } else { -1.0 };
            phase.figures.insert("connections_per_second".into(), 100.0 + 30.0 * sign);
            phase.figures.insert("service_cpu_us_per_request".into(), 100.0 + sign);
        }
    }
    let text = written(&beside, 200);
    assert!(
        text.contains(": plimsoll run flood-relay --reps 19\nOr by CPU time, which scatters less: "),
        "{text}"
    );
    assert!(
        command(&beside).ends_with("--set claims.0.difference.metric=service_cpu_us_per_request"),
        "{text}"
    );
    // At the margin itself no number of trials decides.
    let at_margin = judged(
        "recovery",
        "connections_per_second",
        "undecided",
        [0.9501, 0.90, 1.0],
        &json!({ "cell": {}, "baseline": "baseline", "after": "after", "margin": 0.05, "time_to_recover_s": null,
                "time_to_recover_each_s": [], "cycles": [], "trend_tau": null, "trend_p": null }),
    );
    let proposed = command(&at_margin);
    assert!(proposed.ends_with("plimsoll run flood-relay --set claims.0.recovery.margin=10%"), "{proposed}");
    // CPU time is proposed where it hardly scatters, and is that of the work itself.
    let mut wide = difference("undecided", [1.001, 0.6, 1.5]);
    wide.verdicts[0].verdict.metric = "megabytes_per_second".into();
    for (trial, nth) in wide.trials.iter_mut().zip(0_u8..) {
        for phase in trial.phases.iter_mut().filter(|phase| phase.name == "after") {
            phase.facts = Some(StorageFacts::default().into());
            let sign = if nth.is_multiple_of(2) { 1.0 } else { -1.0 };
            phase.figures.insert("megabytes_per_second".into(), 100.0 + 30.0 * sign);
            phase.figures.insert("cpu_us_per_request".into(), 10.0 + sign);
        }
    }
    let proposed = command(&wide);
    assert!(proposed.ends_with("--set claims.0.difference.metric=cpu_us_per_request"), "{proposed}");
    wide.trials.iter_mut().flat_map(|trial| &mut trial.phases).for_each(|phase| phase.facts = None);
    assert!(!command(&wide).contains("metric="), "the CPU time of a generator is not what is compared");
    // That of services is, and of factors that act on each other as well.
    for (trial, nth) in wide.trials.iter_mut().zip(0_u8..) {
        for phase in trial.phases.iter_mut().filter(|phase| phase.name == "after") {
            let sign = if nth.is_multiple_of(2) { 1.0 } else { -1.0 };
            phase.figures.insert("service_cpu_us_per_request".into(), 10.0 + sign);
        }
    }
    let command_line = command(&wide);
    assert!(command_line.contains("To decide it by CPU time"), "{command_line}");
    assert_eq!(written(&wide, 200).matches("by CPU time").count(), 1, "{}", written(&wide, 200));
    assert!(
        command_line.ends_with("--set claims.0.difference.metric=service_cpu_us_per_request"),
        "{command_line}"
    );
    wide.verdicts[0].verdict.claim = "interaction".into();
    wide.verdicts[0].details = Some(Details::Interaction(InteractionDetails {
        phase: "after".into(),
        factors: vec!["kernel".into(), "relay".into()],
        margin: 0.05,
        odd_cell: None,
        measured: Vec::new(),
    }));
    let command_line = command(&wide);
    assert!(
        command_line.ends_with("--set claims.0.interaction.metric=service_cpu_us_per_request"),
        "{command_line}"
    );
    // As well where the machine does not agree with itself; a measurement that is spoiled in another way is not mended by that.
    wide.verdicts[0].verdict.outcome = plimsoll_model::verdict::Outcome::Invalid;
    assert!(!command(&wide).contains("metric="), "{}", command(&wide));
    wide.aa_test = Some(AaTest {
        phase: "after".into(),
        metric: "megabytes_per_second".into(),
        figures: vec![130.0, 70.0, 130.0, 70.0],
        scatter: Some(0.3),
        smallest_difference: None,
        fit: false,
        reason: "the comparison of the machine with itself failed".into(),
    });
    let command_line = command(&wide);
    assert!(
        command_line.ends_with("--set claims.0.interaction.metric=service_cpu_us_per_request"),
        "{command_line}"
    );
    // Every rate held the bound.
    let mut search = findings::search();
    search.verdicts[0].verdict.outcome = plimsoll_model::verdict::Outcome::Undecided;
    let Some(Details::Limit(plimsoll_model::experiment::claim::limit::LimitDetails::Search(found))) =
        &mut search.verdicts[0].details
    else {
        panic!("a search")
    };
    found.probes.retain(|probe| probe.offered_per_second <= 1400.0);
    let proposed = command(&search);
    assert!(proposed.ends_with("plimsoll run flood-relay --set phases.search.search.to=5600"), "{proposed}");
}
