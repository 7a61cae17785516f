use plimsoll_model::report::{RunReport, Trouble};
use plimsoll_report::text::{self, TextOptions};

use crate::fixture;

fn written(report: &RunReport, options: &TextOptions) -> String {
    let mut out = Vec::new();
    text::run(&mut out, report, options).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain(report: &RunReport) -> String {
    written(report, &TextOptions::default())
}

#[test]
fn a_run_that_recovered_says_so_first_and_in_what_time() {
    insta::assert_snapshot!(plain(&fixture::recovered()));
}

#[test]
fn a_run_that_recovered_out_of_sight_does_not_say_that_it_never_did() {
    let mut report = fixture::recovered();
    let recovery = report.recovery.as_mut().unwrap();
    recovery.time_to_recover_s = None;
    recovery.time_to_recover_each_s = vec![None; 4];
    let text = plain(&report);
    assert!(text.contains("It came back after the watch had ended, in all of 4 cycles"), "{text}");
    assert!(!text.contains("not seen to come back"), "{text}");
}

#[test]
fn a_run_that_did_not_recover_says_where_the_state_lives_and_what_each_rung_did() {
    insta::assert_snapshot!(plain(&fixture::not_recovered()));
}

#[test]
fn an_undecided_run_says_what_is_missing() {
    insta::assert_snapshot!(plain(&fixture::undecided()));
}

#[test]
fn an_invalid_run_names_the_fault() {
    insta::assert_snapshot!(plain(&fixture::invalid()));
}

#[test]
fn what_failed_is_told_with_the_first_error_the_last_lines_of_the_service_and_what_to_try() {
    let trouble = Trouble {
        place: "`all`".into(),
        what: "in `all` all 50 connections of `some` failed (50 status not 2xx)".into(),
        spoils: true,
        first_error: Some("10.0.0.2:80: the answer was HTTP status 500".into()),
        last_words: [("web".to_owned(), "one\ntwo\nthree\n\u{1b}[2Jfour\n".to_owned())].into(),
        next: "ask `web` by hand".into(),
    };
    let text = plain(&RunReport { troubles: vec![trouble], ..fixture::empty() });
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("In `all` all 50 connections of `some` failed (50 status not 2xx). The first error:"),
        "{text}"
    );
    assert!(text.contains("The last lines of stderr of `web`: two / three /"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("Try: ask `web` by hand."), "{text}");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    insta::assert_snapshot!(plain(&fixture::interrupted()));
}

#[test]
fn a_run_without_trials_is_no_empty_page() {
    insta::assert_snapshot!(plain(&fixture::empty()));
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_is_told_which() {
    let text = written(&fixture::not_recovered(), &TextOptions { color: false, width: 60 });
    let too_wide: Vec<_> = text.lines().filter(|l| l.chars().count() > 60).collect();
    assert!(too_wide.is_empty(), "{too_wide:#?}");
    insta::assert_snapshot!(text);
}

#[test]
fn colour_changes_nothing_but_colour() {
    let report = fixture::not_recovered();
    let coloured = written(&report, &TextOptions { color: true, width: 100 });
    assert!(
        coloured.contains("\u{1b}[1m\u{1b}[31mNot recovered."),
        "the verdict is bold and red:\n{coloured}"
    );
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').expect("an escape sequence that ends").1;
    }
    bare.push_str(rest);
    assert_eq!(bare, plain(&report));
}

#[test]
fn a_hostile_name_cannot_reach_the_terminal() {
    let text = plain(&fixture::hostile());
    assert!(!text.contains('\u{1b}'), "an escape sequence got through");
    assert!(text.contains("<img src=x"), "the name itself is shown");
}

#[test]
fn a_single_verdict_is_the_outcome_its_figures_and_the_reason() {
    let mut out = Vec::new();
    text::verdict(&mut out, &fixture::not_recovered().verdicts[0], &TextOptions::default()).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn a_run_with_captures_says_where_the_time_went_and_what_was_lost() {
    let text = plain(&fixture::captured());
    let line = |start: &str| {
        text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line("sender = steady").contains("100.0") && line("sender = steady").contains("none"), "{text}");
    let stalled = line("sender = write_write_read");
    assert!(
        stalled.contains("delayed ack 81.0 % (250 ×") && stalled.contains("rto 2.0 % (1 × 204 ms)"),
        "{text}"
    );
    assert!(stalled.trim_end().ends_with("17"), "{text}");
    assert!(
        text.contains("Delayed ack, transfer, sender = write_write_read: 1000 bytes in flight"),
        "{text}"
    );
}
