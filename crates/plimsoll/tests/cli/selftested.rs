//! The self-test: known faults, and innocent changes.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lab::{Lab, wait_until};

/// The marks that tries got, with the names of their cases.
fn marks(found: &Value) -> Vec<(&str, &str)> {
    let text = |value| Value::as_str(value).expect("text");
    let tries = found["tries"].as_array().expect("tries");
    tries.iter().map(|of| (text(&of["case"]["name"]), text(&of["mark"]))).collect()
}

#[test]
fn an_ordinary_user_has_a_fault_found_an_innocent_spared_and_learns_what_needs_root() {
    let lab = Lab::of_ordinary_user();
    // The user's settings for all runs would change the cases, so they do not apply.
    let environment = [("PLIMSOLL_REPS", "1"), ("PLIMSOLL_AUDIT_PROBES", "1")];
    let words =
        ["selftest", "few-ports", "many-ports", "one-mode", "--store", "kept.sqlite", "--format", "json"];
    let mut output = lab.plimsoll_in(&words, &environment);
    // A busy machine may leave it undecided, as any measurement. The last of three tries counts in any case.
    for _ in 0..2 {
        if marks(&output.json())[0].1 == "undecided" {
            output = lab.plimsoll_in(&words, &environment);
        }
    }
    let found = output.json();
    assert_eq!(found["schema"], "plimsoll.selftest/1");
    let [ports, spared, root] = marks(&found)[..] else { panic!("three cases: {found}") };
    assert_eq!(ports, ("few-ports", "right"), "{found}");
    // On a busy machine an innocent may stay undecided; accusing it would be wrong.
    assert!(spared == ("many-ports", "right") || spared == ("many-ports", "undecided"), "{found}");
    assert_eq!(root, ("one-mode", "not_tried"));
    assert_eq!(found["tries"][2]["why_not"], "needs root");
    let limits = found["cannot_tell"].as_array().expect("a list");
    assert!(
        limits.iter().any(|limit| limit["what"].as_str().is_some_and(|what| what.contains("without root")))
    );
    output.exits(0);
    // The runs are runs like all others.
    let run = found["tries"][0]["said"]["run"].as_str().expect("an id").to_owned();
    let kept = lab.plimsoll(&["show", &run, "--store", "kept.sqlite", "--format", "json"]).exits(0).json();
    assert_eq!(kept["verdicts"][0]["outcome"], "slower");
    assert!(
        kept["trials"].as_array().is_some_and(|trials| trials.len() > 2),
        "--reps of the environment did not hold"
    );
}

#[test]
fn cases_are_listed_and_a_name_that_is_none_is_refused() {
    let lab = Lab::new();
    lab.plimsoll(&["selftest", "--list"]).exits(0).prints("few-ports").prints("slower, net.time_wait_reuse");
    lab.plimsoll(&["selftest", "few-prts"]).exits(2).prints_nothing().says("did you mean `few-ports`?");
    lab.plimsoll(&["selftest", "--for", "0s", "few-ports"])
        .exits(3)
        .prints("no time was left (--for 0s)")
        .prints("Nothing was decided here");
}

#[test]
fn ctrl_c_shows_what_was_found_until_then() {
    let lab = Lab::of_ordinary_user();
    let run = lab.start(&["selftest", "one-mode", "few-ports", "--format", "json", "--store", "kept.sqlite"]);
    wait_until("a case is under way", || lab.path("kept.sqlite").exists());
    thread::sleep(Duration::from_millis(300));
    run.signal(Signal::SIGINT);
    let output = run.ends().exits(130);
    let found = output.json();
    let [ports, root] = marks(&found)[..] else { panic!("two cases: {found}") };
    assert_eq!((ports, root), (("few-ports", "not_tried"), ("one-mode", "not_tried")));
    assert_eq!(found["tries"][0]["why_not"], "interrupted");
    assert_eq!(found["tries"][1]["why_not"], "interrupted before it began");
}
