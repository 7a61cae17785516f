//! Any text as a trial of a store: read or refused, the same once it is written again, and reported on, under a claim of each of two kinds.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use plimsoll_assess::Run;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::{Plan, Settings};
use plimsoll_model::report::RunStatus;

/// What the trials are of; the samples of the corpus were stored by it.
static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let text = include_str!("../corpus/observations.toml");
    Plan::read("fuzzed", text, &Settings::default()).expect("the experiment of the corpus")
});

fuzz_target!(|text: &str| {
    let Ok(trial) = serde_json::from_str::<TrialRecord>(text) else { return };
    let written = serde_json::to_string(&trial).expect("what was read can be written");
    assert_eq!(serde_json::from_str::<TrialRecord>(&written).expect("it was just written"), trial);
    let run = Run {
        id: "fuzzed",
        experiment: "fuzzed",
        seed: 1,
        rerun: Vec::new(),
        started_unix_s: 0,
        elapsed: Duration::from_secs(1),
        status: RunStatus::Complete,
        notes: &[],
    };
    let report = plimsoll_assess::report(&PLAN, &run, &[trial.clone(), trial]);
    serde_json::to_string(&report).expect("a report can be written");
});
