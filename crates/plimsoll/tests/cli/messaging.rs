//! Workers that send each other messages, as hackbench does.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lab::{Lab, wait_until};
use crate::machine;

/// Few workers with little to do, of either kind.
const SMALL: &str = r#"
question = "How does it grow?"

[hosts.here]

[loads.crowd]
from = "here"
messaging = { pairs = 2, messages = 5, over = "pipes", rounds = 2 }

[factors.groups]
set = "loads.crowd.messaging.groups"
levels = [1, 2, 3, 4, 6]

[factors.workers]
set = "loads.crowd.messaging.workers"
levels = ["processes", "threads"]

[[phases]]
name = "talk"
measure = "crowd"

[[claims]]
growth = { phase = "talk", over = ["groups"] }

[run]
max_trials = 1
"#;

#[test]
fn processes_and_threads_are_measured_and_weighed() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("small.toml", SMALL);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).json();
    let growths = report["verdicts"].as_array().expect("verdicts");
    assert_eq!(growths.len(), 2, "processes and threads: {report}");
    for growth in growths.iter().map(|verdict| &verdict["details"]) {
        let points = growth["points"].as_array().expect("points").iter();
        let workers: Vec<&Value> = points.map(|point| &point["workers"]).collect();
        assert_eq!(workers, [4, 8, 12, 16, 24], "{growth}");
    }
    let trials = report["trials"].as_array().expect("trials").iter();
    for phase in trials.flat_map(|trial| trial["phases"].as_array().expect("phases")) {
        let number = |name: &str| phase[name].as_f64().unwrap_or_else(|| panic!("{name} in {phase}"));
        let facts = &phase["messaging"];
        assert_eq!(facts["rounds"], 2, "{phase}");
        // In each group of 4 workers 2 senders write 5 messages to 2 receivers, twice. No more time is counted than the phase took.
        let sent = 2.0 * 5.0 * facts["workers"].as_f64().expect("a number");
        let rate = phase["figures"]["requests_per_second"].as_f64().expect("a rate");
        let counted_s = sent / rate;
        assert!(counted_s < number("end_s") - number("start_s"), "{phase}");
        assert!(facts["memory"]["own_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{phase}");
    }
    // Five points of one trial are few; whatever they say, they are judged.
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(verdicts.len() == 2 && verdicts.iter().all(|verdict| verdict["claim"] == "growth"), "{report}");
    lab.plimsoll(&["show", "latest", "--details"])
        .prints("Time over workers, talk")
        .prints("Each further worker needs");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"growth-2\"");
    lab.plimsoll(&["describe", "messaging"]).exits(0).prints("messages of 100 bytes over sockets");
}

#[test]
fn a_round_that_is_cut_short_leaves_no_worker() {
    let lab = Lab::of_ordinary_user();
    let endless = "loads.crowd.messaging.messages=1000000";
    for (signal, code) in [(Signal::SIGINT, Some(130)), (Signal::SIGKILL, None)] {
        let run = lab.start(&["run", "messaging", "--set", endless]);
        let controller = run.id();
        wait_until("the workers are there", || machine::processes_of(controller).len() > 40);
        run.signal(signal);
        assert_eq!(run.ends().code, code);
        wait_until("the workers are gone", || machine::processes_of(controller).is_empty());
    }
}

#[test]
fn what_makes_no_sense_of_messages_is_said_at_its_place() {
    let lab = Lab::new();
    let check = |set: &[&str]| {
        let sets = set.iter().flat_map(|set| ["--set", *set]);
        lab.plimsoll(&["check", "messaging"].into_iter().chain(sets).collect::<Vec<_>>()).exits(2)
    };
    check(&["loads.crowd.to=\"web\""]).says("no `to` beside `messaging`");
    check(&["loads.crowd.messaging.pairs=0"]).says("a number from 1 to 500");
    check(&["loads.crowd.messaging.pairs=500"]).says("at most 32000 in all");
    check(&["loads.crowd.messaging.duration=\"1s\""]).says("either `rounds` or `duration`");
    check(&["factors.groups.levels=[1, 2]"]).says("at least 5 combinations of levels");
    check(&["claims.0.growth.over=[]"]).says("the name of at least one factor");
}
