//! Packets as a probe: captured during measurements, read at their end, kept beside the file of runs.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::lab::Lab;

/// One host that sends to itself, captured.
pub(crate) const STREAM: &str = r#"
question = "Where does the time of a stream go?"

[hosts.server]

[services.sink]
on = "server"
bulk = {}

[loads.stream]
from = "server"
to = "sink"
bulk = { chunk = "1000", message = "2000", total = "16000" }

[capture]

[[phases]]
name = "transfer"
measure = "stream"

[factors.nagle]
set = "loads.stream.bulk.no_delay"
levels = [true, false]

[[claims]]
difference = { phase = "transfer", factor = "nagle", metric = "stall_share" }

[run]
min_trials = 1
max_trials = 1
"#;

/// A stream that is limited by nothing but a receiver that reads twice a second.
const PAUSED: &str = r#"
question = "Does the kernel say the same?"

[hosts.client]

[hosts.server]

[[links]]
between = ["client", "server"]

[services.sink]
on = "server"
bulk = { take = "copy", chunk = "4M", pause = "500ms", receive_buffer = "64k" }

[loads.stream]
from = "client"
to = "sink"
bulk = { total = "1M", receive_buffer = "64k" }

[capture]

[[phases]]
name = "transfer"
measure = "stream"

[run]
max_trials = 1
"#;

fn captures(lab: &Lab) -> Vec<PathBuf> {
    let folder = lab.path("state").join("plimsoll/captures");
    let runs = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = runs.flat_map(|run| fs::read_dir(run.path()).expect("a folder of captures").flatten());
    files.map(|file| file.path()).collect()
}

/// Main class of the waits of a cell's connections, by the level of its only factor.
fn main_classes(report: &Value) -> Vec<(String, Value)> {
    let packets = report["packets"].as_array().expect("packets");
    let of = |packet: &Value| {
        let level = packet["cell"].as_object().expect("a cell").values().next().expect("a level");
        (level.as_str().expect("a text").to_owned(), packet["main_class"].clone())
    };
    packets.iter().map(of).collect()
}

#[test]
fn an_ordinary_user_sees_what_his_connections_waited_for() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("stream.toml", STREAM);
    let output = lab.plimsoll(&["run", &experiment]).exits(4).says("packets: ");
    output.prints("net.delayed_ack");
    lab.plimsoll(&["show", "latest", "--details"]).prints("delayed ack");
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    let mut classes = main_classes(&report);
    classes.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(classes, [("false".into(), "delayed_ack".into()), ("true".into(), Value::Null)]);
    assert_eq!(report["causes"][0]["id"], "net.delayed_ack");

    // The file is one for every reader of packets, and holds no other flows.
    let files = captures(&lab);
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        let trace = lab.plimsoll(&["trace", &file.display().to_string(), "--format", "json"]).exits(0).json();
        let servers: Vec<_> = trace["connections"]
            .as_array()
            .expect("connections")
            .iter()
            .map(|of| of["server"].clone())
            .collect();
        assert!(!servers.is_empty() && servers.iter().all(|server| *server == servers[0]), "{servers:?}");
        assert_eq!(trace["dropped"], 0);
    }

    // The page draws them, and says so when they are gone.
    lab.plimsoll(&["show", "latest", "--format", "html"])
        .prints("id=\"connection-picker\"")
        .prints("delayed ack");
    lab.plimsoll(&["doctor", "--dry-run", "--remove-captures", "0s"]).prints("captures 1");
    lab.plimsoll(&["doctor", "--remove-captures", "0s"]).exits(0);
    assert_eq!(captures(&lab), [] as [PathBuf; 0]);
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("are not there any more");
    lab.plimsoll(&["show", "latest"]).prints("net.delayed_ack");
}

#[test]
fn a_verdict_that_leans_on_a_capture_with_drops_is_invalid() {
    let lab = Lab::new();
    let text = STREAM.replace("[capture]", "[capture]\nsnap = 65535\nring = \"4M\"").replace(
        "bulk = { chunk = \"1000\", message = \"2000\", total = \"16000\" }",
        "bulk = { streams = 4, total = \"400M\" }",
    );
    let experiment = lab.file("flood.toml", &text);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(4).json();
    let dropped = report["packets"]
        .as_array()
        .expect("packets")
        .iter()
        .map(|of| of["dropped"].as_u64().expect("a count"));
    assert!(dropped.sum::<u64>() > 0, "{}", report["packets"]);
    assert_eq!(report["verdicts"][0]["outcome"], "invalid");
    let reason = report["verdicts"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("lost packets"), "{reason}");
    assert_eq!(report["causes"], Value::Array(Vec::new()), "nothing is explained from such captures");
}

#[test]
fn what_a_receiver_holds_up_is_what_the_kernel_accounts_to_its_window() {
    let lab = Lab::new();
    let experiment = lab.file("paused.toml", PAUSED);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let of = &report["packets"][0];
    let number = |value: &Value| value.as_f64().expect("a number");
    let stalls = of["stalls"].as_array().expect("stalls").iter();
    // The thinking time of the programs at both ends is not the receiver's.
    let held_up = stalls
        .filter(|of| !matches!(of["class"].as_str(), Some("server_think" | "client_idle" | "sender_waited")));
    let held_up: f64 = held_up.map(|stall| number(&stall["share"]) * number(&of["lifetime_s"])).sum();
    let limited = number(&of["kernel"]["window_limited_s"]);
    assert!(limited > 2.0, "the receiver was not slow: {of}");
    assert!((held_up / limited - 1.0).abs() <= 0.05, "{held_up} s against the kernel's {limited} s: {of}");
    assert_eq!(of["main_class"], "zero_window");
}

#[test]
fn the_probes_are_audited_when_asked_for() {
    let lab = Lab::new();
    let experiment = lab.file("stream.toml", STREAM);
    let output =
        lab.plimsoll(&["run", &experiment, "--audit-probes", "--reps", "2", "--format", "json"]).exits(4);
    let report = output.json();
    let reasons: Vec<&str> = report["verdicts"]
        .as_array()
        .expect("verdicts")
        .iter()
        .map(|v| v["reason"].as_str().expect("a reason"))
        .collect();
    assert!(reasons.iter().any(|reason| reason.starts_with("probes = true against false")), "{reasons:?}");
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 8, "two levels, with probes and without, twice");
    let packets = report["packets"].as_array().expect("packets");
    assert!(packets.iter().all(|of| of["cell"]["probes"] == "true"), "{packets:?}");
    assert_eq!(captures(&lab).len(), 4);
    let again: Vec<_> = report["rerun_command"].as_array().expect("a command").clone();
    assert!(again.contains(&"--audit-probes".into()), "{again:?}");
}

#[test]
fn what_makes_no_sense_of_captures_is_said_at_its_place() {
    let lab = Lab::new();
    for (from, to, place, expected) in [
        ("[capture]", "[capture]\non = [\"servr\"]", "servr", "did you mean `server`?"),
        ("[capture]", "[capture]\nsnap = 9", "snap", "a number from 64 to 65535"),
        ("[capture]", "", "metric", "[capture] in the file"),
        ("[hosts.server]", "[hosts.server]\nkind = \"local\"", "capture", "hosts of kind \"namespace\""),
    ] {
        let experiment = lab.file("wrong.toml", &STREAM.replace(from, to));
        lab.plimsoll(&["check", &experiment]).exits(2).says(place).says(expected);
    }
}

#[test]
#[ignore = "needs root: its links lose packets; cargo xtask test runs it"]
fn each_way_to_stall_is_named() {
    let lab = Lab::of_root();
    let report =
        lab.plimsoll(&["run", "splice-stalls", "--quick", "--reps", "1", "--format", "json"]).exits(4).json();
    lab.plimsoll(&["show"]).fits_on_a_screen();
    for (level, class) in main_classes(&report) {
        let expected: &[&str] = match level.as_str() {
            "write_write_read" => &["delayed_ack"],
            "more_kept" => &["sender_held"],
            "tiny_buffer" => &["small_window"],
            "loss" => &["rto", "tail_loss"],
            _ => continue,
        };
        assert!(class.as_str().is_some_and(|class| expected.contains(&class)), "{level}: {class}");
    }
    let steady =
        report["packets"].as_array().expect("packets").iter().find(|of| of["cell"]["sender"] == "steady");
    let held_up = steady.expect("the steady stream")["stalls"].as_array().expect("stalls").iter();
    let held_up: f64 = held_up.map(|of| of["share"].as_f64().expect("a share")).sum();
    assert!(held_up < 0.2, "the steady stream stood still for {held_up} of its time");
    let causes: Vec<&str> = report["causes"]
        .as_array()
        .expect("causes")
        .iter()
        .map(|cause| cause["id"].as_str().expect("an id"))
        .collect();
    for cause in ["net.delayed_ack", "net.sender_corked", "net.small_buffer", "net.rto"] {
        assert!(causes.contains(&cause), "{cause} is not among {causes:?}");
    }
}

#[test]
#[ignore = "needs root and HAProxy; cargo xtask test installs and runs it"]
fn the_experiments_on_bulk_are_carried_out_in_their_quick_forms() {
    let lab = Lab::of_root();
    for (name, cells) in [("loopback", 5), ("bulk/haproxy-chain", 4), ("mtu", 4), ("probe-effect", 2)] {
        let report = lab.plimsoll(&["run", name, "--quick", "--reps", "1", "--format", "json"]).json();
        lab.plimsoll(&["show"]).fits_on_a_screen();
        let trials = report["trials"].as_array().expect("trials");
        assert_eq!(trials.len(), cells, "{name}");
        for trial in trials {
            assert_eq!(trial["faults"], Value::Array(Vec::new()), "{name}: {}", trial["cell"]);
            let rates = trial["phases"]
                .as_array()
                .expect("phases")
                .iter()
                .map(|of| of["figures"]["bits_per_second"].as_f64());
            assert!(
                rates.clone().all(|rate| rate.is_some_and(|rate| rate > 1e6)),
                "{name}: {}",
                trial["phases"]
            );
        }
    }
}
