//! JUnit XML, for CI systems: a test case for every claim.
//!
//! | outcome | test case |
//! | --- | --- |
//! | the claim holds: what it expects was found | passed |
//! | the claim fails: something else was found | `<failure>`, its type the outcome |
//! | `undecided`, `too_few` | `<skipped>`: the measurement was sound, and does not say yet |
//! | `invalid` | `<error>`, its type `invalid`: the measurement can carry no answer |
//!
//! A measurement that failed has a test case `measurement of error_share` with such an `<error>`, also where nothing was claimed. An experiment that
//! claims nothing has a test case `claims` that is `<skipped>`, its type `nothing_claimed`: a warning that only a failed measurement could fail.
//! Characters that XML 1.0 cannot hold are written as in source code (`\x1b`), so that nothing is left out.
//!
//! A run that did not come to its end has one more test case, `run`, with an `<error>` of the type `interrupted` or `failed`.

use std::io::{self, Write};
use std::time::Duration;

use plimsoll_model::report::{RunReport, RunStatus};
use plimsoll_model::verdict::{Outcome, Standing, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::answer;
use crate::escape::{block, terminal};
use crate::wording;

/// Writes a run.
///
/// # Errors
/// Those of the writer.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    let mut suite = TestSuite::new(terminal(&report.experiment));
    let elapsed = Duration::try_from_secs_f64(report.elapsed_s).unwrap_or_default();
    suite.set_time(elapsed);
    suite.add_property(("run", &*terminal(&report.run)));
    suite.add_property(("seed", report.seed.to_string().as_str()));
    suite.add_property(("reproduce", &*terminal(&wording::reproduce(report))));
    if let Ok(serde_json::Value::String(place)) = serde_json::to_value(report.state_lives_in) {
        suite.add_property(("state_lives_in", place.as_str()));
    }
    suite.add_test_cases(report.verdicts.iter().map(|finding| case(report, &finding.verdict)));
    suite.add_test_cases(nothing_claimed(report));
    suite.add_test_cases(ended_early(report));
    let mut junit = Report::new("plimsoll");
    junit.set_time(elapsed);
    if let Some(start) =
        i64::try_from(report.started_unix_s).ok().and_then(|s| chrono::DateTime::from_timestamp(s, 0))
    {
        junit.set_timestamp(start.fixed_offset());
        suite.set_timestamp(start.fixed_offset());
    }
    junit.add_test_suite(suite);
    junit.serialize(out).map_err(io::Error::other)
}

fn case(report: &RunReport, verdict: &Verdict) -> TestCase {
    let (answer, reason) = (answer::answer(verdict), answer::reason(verdict));
    let mut status = match (verdict.standing(), verdict.outcome) {
        (Standing::Holds, _) => TestCaseStatus::success(),
        (Standing::Fails, _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Standing::Open, Outcome::Invalid) => TestCaseStatus::non_success(NonSuccessKind::Error),
        (Standing::Open, _) => TestCaseStatus::skipped(),
    };
    if verdict.standing() != Standing::Holds {
        let message = [if reason.is_empty() { &answer } else { &reason }, &answer::expectation(verdict)];
        status.set_type(verdict.outcome.name());
        status.set_message(terminal(message.map(String::as_str).join(" ").trim_end()));
    }
    let mut case = TestCase::new(terminal(&format!("{} of {}", verdict.title(), verdict.metric)), status);
    case.set_classname(terminal(&report.experiment));
    let details =
        [wording::outcome(verdict.outcome).to_owned() + ".", answer, reason, answer::expectation(verdict)]
            .into_iter()
            .filter(|detail| !detail.is_empty());
    let details: Vec<String> = details.chain(answer::short_answer(report)).collect();
    case.set_system_out(block(&details.join("\n")));
    case
}

fn nothing_claimed(report: &RunReport) -> Option<TestCase> {
    let claimed = report.verdicts.iter().any(|finding| !answer::is_on_measurement(&finding.verdict));
    (!claimed && report.status == RunStatus::Complete).then(|| {
        let mut status = TestCaseStatus::skipped();
        status.set_type("nothing_claimed");
        status.set_message("the experiment claims nothing, so that only a failed measurement could fail");
        let mut case = TestCase::new("claims", status);
        case.set_classname(terminal(&report.experiment));
        case
    })
}

fn ended_early(report: &RunReport) -> Option<TestCase> {
    let kind = match report.status {
        RunStatus::Complete => return None,
        RunStatus::Running => "running",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(kind).set_message(terminal(&answer::short_answer(report).join(" ")));
    let mut case = TestCase::new("run", status);
    case.set_classname(terminal(&report.experiment));
    Some(case)
}
