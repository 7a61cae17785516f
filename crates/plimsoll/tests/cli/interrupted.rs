//! Ctrl-C: measurements are kept, and `--resume` goes on with them.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::experiments::{SIZES, long_flood};
use crate::lab::{Lab, baseline_of, phases_of, verdict_of, wait_until};

#[test]
fn ctrl_c_in_a_flood_keeps_what_was_measured_and_resume_finishes_the_run() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("small.toml", &long_flood());
    let run = lab.start(&["run", &experiment, "--seed", "11", "--format", "json"]);
    let baseline = lab.wait_for_the_flood();
    run.signal(Signal::SIGINT);
    let output = run.ends().exits(130).says("interrupted; continue with: plimsoll run --resume");
    let report = output.json();
    let id = report["run"].as_str().expect("an id").to_owned();
    assert_eq!(report["status"], "interrupted");
    assert_eq!(verdict_of(&report)["outcome"], "undecided");
    assert_eq!(baseline_of(&report), baseline);
    assert!(!phases_of(&report["trials"][0]).contains(&"after"), "it was cut short");

    let shown = lab.plimsoll(&["show", "--format", "json"]).exits(0).json();
    assert_eq!(
        shown["trials"][0]["phases"], report["trials"][0]["phases"],
        "the stored phases equal the printed ones"
    );
    lab.plimsoll(&["show"]).exits(0).prints("baseline");
    lab.plimsoll(&["gate"]).exits(4);
    lab.plimsoll(&["doctor", "--dry-run"]).exits(0).prints("(1 stored)");

    let finished = lab.plimsoll(&["run", "--resume", &id, "--format", "json"]).exits(0).json();
    assert_eq!(finished["run"], id.as_str());
    assert_eq!(finished["status"], "complete");
    assert_eq!(finished["seed"], 11);
    assert_eq!(verdict_of(&finished)["outcome"], "recovered");
    assert!(phases_of(&finished["trials"][0]).contains(&"after"));
    let elapsed = |report: &Value| report["elapsed_s"].as_f64().expect("a time");
    assert!(elapsed(&finished) > elapsed(&report), "the time of both sessions counts");
    lab.plimsoll(&["run", "--resume", &id]).exits(2).prints_nothing().says("is complete");
}

#[test]
fn a_run_that_was_stopped_and_continued_discards_the_trial_and_says_why() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("small.toml", &long_flood());
    let run = lab.start(&["run", &experiment, "--seed", "11", "--reps", "1", "--format", "json"]);
    lab.wait_for_the_flood();
    run.signal(Signal::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_secs(4));
    run.signal(Signal::SIGCONT);
    let report = run.ends().exits(4).json();
    assert_eq!(verdict_of(&report)["outcome"], "invalid");
    let fault = &report["trials"][0]["faults"][0];
    assert_eq!(fault["kind"], "stood_still", "{fault}");
    let reason = verdict_of(&report)["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("stood still for") && reason.contains("was stopped"), "{reason}");
}

#[test]
fn a_resumed_run_keeps_its_trials_and_the_order_of_its_seed() {
    let whole = Lab::new();
    let args = ["run", "sizes.toml", "--seed", "5", "--format", "json"];
    whole.file("sizes.toml", SIZES);
    let order = cells_of(&whole.plimsoll(&args).exits(0).json());
    assert_eq!(order.len(), 16);
    let mut blocks: Vec<&[String]> = order.chunks(4).collect();
    blocks.dedup();
    assert!(blocks.len() > 1, "each block has an order of its own: {order:?}");

    let parted = Lab::new();
    parted.file("sizes.toml", SIZES);
    let run = parted.start(&args);
    wait_until("three trials are stored", || parted.stored().is_some_and(|r| cells_of(&r).len() >= 4));
    run.signal(Signal::SIGTERM);
    let before = run.ends().exits(130).json();
    assert!(cells_of(&before).len() < 16, "it was cut short");

    let after = parted.plimsoll(&["run", "--resume", "--format", "json"]).exits(0).json();
    assert_eq!(cells_of(&after), order);
    for number in 0..3 {
        assert_eq!(after["trials"][number], before["trials"][number], "what is stored is not measured again");
    }
}

fn cells_of(report: &Value) -> Vec<String> {
    let trials = report["trials"].as_array().expect("a report has trials");
    trials.iter().map(|trial| trial["cell"]["size"].as_str().expect("a level").to_owned()).collect()
}
