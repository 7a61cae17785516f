use plimsoll_model::experiment::claim::Details;
use plimsoll_model::report::{MailMinute, MeasurementFailure, RunReport};
use plimsoll_report::text::{self, TextOptions};

use crate::fixture;

fn written(report: &RunReport, options: &TextOptions) -> String {
    let mut out = Vec::new();
    text::details(&mut out, report, options).unwrap();
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
    let Some(Details::Recovery(recovery)) = &mut report.verdicts[0].details else { panic!("a recovery") };
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
fn a_failure_is_shown_with_the_first_error_the_last_lines_of_the_service_and_what_to_try() {
    let trouble = MeasurementFailure {
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
fn mail_of_several_minutes_is_shown_minute_by_minute() {
    let minute =
        |minute, messages| MailMinute { minute, messages, bytes: 2048 * messages, errors: 3, connections: 7 };
    let mut report = fixture::recovered();
    let last = report.trials.last_mut().unwrap();
    last.mail_minutes = vec![minute(0, 1500)];
    assert!(!plain(&report).contains("Mail, by minute"));
    report.trials.last_mut().unwrap().mail_minutes.push(minute(1, 40));
    let text = plain(&report);
    let table = text.split_once("Mail, by minute").unwrap().1;
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| !row.is_empty()).take(3).collect();
    assert_eq!(*rows[0], ["trial", "minute", "messages", "kB", "errors", "sessions"]);
    assert_eq!(rows[1][1..], ["1", "1,500", "3,000", "3", "7"]);
    assert_eq!(rows[2][1..], ["2", "40", "80", "3", "7"]);
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
fn text_keeps_to_the_width_and_a_wide_one_hides_nothing() {
    for width in [60, 80, 120, 200] {
        let text = written(&fixture::not_recovered(), &TextOptions { color: false, width });
        let too_wide: Vec<_> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
        assert_eq!(text.contains("hidden columns: "), width < 110, "at {width} columns:\n{text}");
        insta::assert_snapshot!(format!("not_recovered_at_{width}_columns"), text);
    }
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
    text::verdict(&mut out, &fixture::not_recovered().verdicts[0].verdict, &TextOptions::default()).unwrap();
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

#[test]
fn no_field_of_a_report_reaches_the_terminal_as_it_is() {
    let nasty = "\u{1b}[2J\u{9b}31m\r\u{7}\u{202e}\u{2066}\u{7f}";
    for report in [fixture::not_recovered(), fixture::captured()] {
        let mut value = serde_json::to_value(&report).unwrap();
        let mut spoilt = 0;
        for path in strings(&value, String::new()) {
            let mut trial = value.clone();
            let text = trial.pointer_mut(&path).unwrap();
            *text = format!("{}{nasty}", text.as_str().unwrap()).into();
            // What is one of a list of names in the model can hold nothing else.
            if serde_json::from_value::<RunReport>(trial.clone()).is_ok() {
                value = trial;
                spoilt += 1;
            }
        }
        assert!(spoilt > 20, "{spoilt} texts");
        let report: RunReport = serde_json::from_value(value).unwrap();
        for (color, width) in [(false, 40), (true, 60), (true, 100), (false, 200)] {
            let mut text = written(&report, &TextOptions { color, width });
            for style in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"] {
                text = text.replace(style, "");
            }
            let obeyed = |c: char| c != '\n' && c.is_control() || "\u{202e}\u{2066}".contains(c);
            assert!(!text.contains(obeyed), "{:?}", text.lines().find(|line| line.contains(obeyed)));
            assert!(text.contains(r"\x1b[2J\u{9b}31m\r\x07\u{202e}"), "it is shown instead");
        }
        let as_others = [
            as_written(|out| plimsoll_report::json::pretty(out, &report)),
            as_written(|out| plimsoll_report::junit::run(out, &report)),
            as_written(|out| plimsoll_report::markdown::run(out, &report)),
        ];
        for text in as_others {
            let obeyed = |c: char| !"\n\t".contains(c) && c.is_control() || "\u{202e}\u{2066}".contains(c);
            assert!(!text.contains(obeyed), "{:?}", text.lines().find(|line| line.contains(obeyed)));
        }
    }
}

fn as_written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The paths of all texts in a value.
fn strings(value: &serde_json::Value, at: String) -> Vec<String> {
    match value {
        serde_json::Value::String(_) => vec![at],
        serde_json::Value::Array(list) => {
            list.iter().enumerate().flat_map(|(i, value)| strings(value, format!("{at}/{i}"))).collect()
        }
        serde_json::Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                strings(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")))
            })
            .collect(),
        _ => Vec::new(),
    }
}
