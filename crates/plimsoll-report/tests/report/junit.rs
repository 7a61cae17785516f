use plimsoll_model::experiment::RecoveryExpect;
use plimsoll_model::report::{Finding, RunReport, RunStatus};
use plimsoll_report::junit;

use crate::fixture;

fn written(report: &RunReport) -> String {
    let mut out = Vec::new();
    junit::run(&mut out, report).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_claim_that_holds_is_a_passed_test() {
    insta::assert_snapshot!(written(&fixture::recovered()));
}

#[test]
fn a_claim_that_fails_is_a_failure() {
    insta::assert_snapshot!(written(&fixture::not_recovered()));
}

#[test]
fn an_undecided_claim_is_skipped_and_an_invalid_one_is_an_error() {
    let undecided = written(&fixture::undecided());
    assert!(undecided.contains("<skipped") && undecided.contains(r#"type="undecided""#), "{undecided}");
    assert!(!undecided.contains("<failure") && !undecided.contains("<error"), "{undecided}");
    let invalid = written(&fixture::invalid());
    assert!(invalid.contains("<error") && invalid.contains(r#"type="invalid""#), "{invalid}");
    assert!(!invalid.contains("<failure") && !invalid.contains("<skipped"), "{invalid}");
}

#[test]
fn a_claim_fails_when_something_else_was_found_than_it_expects() {
    let mut report = fixture::recovered();
    let verdict = report.verdicts.remove(0).verdict;
    let expecting = |expect: RecoveryExpect| RunReport {
        verdicts: vec![Finding::bare(verdict.clone().expecting(expect.into()))],
        ..report.clone()
    };
    assert!(!written(&expecting(RecoveryExpect::Recovered)).contains("<failure"));
    let text = written(&expecting(RecoveryExpect::NotRecovered));
    assert!(text.contains("<failure") && text.contains(r#"type="recovered""#), "{text}");
    assert!(text.contains("The claim fails (expected: not recovered)."), "{text}");
}

#[test]
fn an_empty_set_of_claims_is_a_warning() {
    let text = written(&fixture::empty());
    assert!(text.contains("<skipped") && text.contains(r#"type="nothing_claimed""#), "{text}");
    assert!(!written(&fixture::recovered()).contains("nothing_claimed"));
}

#[test]
fn a_run_that_did_not_end_is_an_error_of_its_own() {
    for (status, name) in [(RunStatus::Interrupted, "interrupted"), (RunStatus::Failed, "failed")] {
        let text = written(&RunReport { status, ..fixture::empty() });
        assert!(text.contains("<error") && text.contains(&format!(r#"type="{name}""#)), "{text}");
    }
    assert!(!written(&fixture::empty()).contains("<error"));
}

#[test]
fn a_hostile_name_stays_inside_its_attribute() {
    let text = written(&fixture::hostile());
    assert!(!text.contains("<img") && !text.contains('\u{1b}'), "{text}");
}
