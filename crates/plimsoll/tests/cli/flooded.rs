//! A run from its beginning to its reports, as root, as an ordinary user, and where namespaces are forbidden.

use std::fs;

use serde_json::Value;

use crate::experiments::FLOOD;
use crate::lab::{Lab, Printed, phases_of, verdict_of};

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn root_floods_namespaces_and_gets_a_verdict() {
    let lab = Lab::of_root();
    let report = flooded(&lab);
    assert!(kinds_of_hosts(&report).iter().all(|kind| kind == "namespace"), "{}", report["hosts"]);
    assert!(!report["notes"].to_string().contains("without root"), "{}", report["notes"]);
    lab.plimsoll(&["doctor", "--dry-run"])
        .exits(0)
        .prints("hosts namespaces, as root")
        .prints("links shaped by")
        .prints("small packets/s each; beyond that they are the bottleneck");
}

#[test]
fn an_ordinary_user_floods_namespaces_inside_a_user_namespace() {
    let lab = Lab::of_ordinary_user();
    let report = flooded(&lab);
    assert!(kinds_of_hosts(&report).iter().all(|kind| kind == "namespace"), "{}", report["hosts"]);
    assert!(report["notes"].to_string().contains("ran without root"), "{}", report["notes"]);
    lab.plimsoll(&["doctor", "--dry-run"])
        .exits(0)
        .prints("namespaces, in a user namespace of the run's own")
        .prints("cannot be dropped (needs root)")
        .prints("small packets/s each; beyond that they are the bottleneck")
        .prints("(1 stored)");
}

#[test]
fn where_user_namespaces_are_forbidden_hosts_share_the_machine_and_the_report_says_what_that_loses() {
    let lab = Lab::of_ordinary_user().without_user_namespaces();
    let report = flooded(&lab);
    assert!(kinds_of_hosts(&report).iter().all(|kind| kind == "local"), "{}", report["hosts"]);
    let notes = report["notes"].to_string();
    assert!(notes.contains("forbidden here by user.max_user_namespaces = 0"), "{notes}");
    assert!(notes.contains("links, routes, forwarding"), "{notes}");
    assert!(notes.contains("No host could be rebuilt"), "{notes}");
    lab.plimsoll(&["doctor", "--dry-run"])
        .exits(0)
        .prints("only `local` ones on loopback addresses")
        .prints("links none");
}

/// Carries out a small flood, checks every report of it, and returns the one in JSON.
fn flooded(lab: &Lab) -> Value {
    let experiment = lab.file("small.toml", FLOOD);
    let page = lab.path("page.html");
    let page = page.to_str().expect("plain letters");

    let output = lab.plimsoll(&["run", &experiment, "--seed", "7", "--html", page]).exits(0);
    let output =
        output.prints("small: Does a small relay come back after a small flood?").prints("Recovered.");
    assert_eq!(output.stderr, format!("charts: {page}\n"), "nothing else goes to stderr");
    let html = fs::read_to_string(page).expect("the page was written");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("Does a small relay come back"));
    assert!(!html.contains("<script src") && !html.contains("<link"), "the page needs no other file");

    let report = lab.plimsoll(&["show", "--format", "json"]).exits(0).says_nothing().json();
    assert_eq!(report["schema"], "plimsoll.run/2");
    assert_eq!(report["experiment"], "small");
    assert_eq!(report["status"], "complete");
    assert_eq!(report["seed"], 7);
    let verdict = verdict_of(&report);
    assert_eq!(verdict["claim"], "recovery");
    assert_eq!(verdict["outcome"], "recovered", "{verdict}");
    let number = |value: &Value| value.as_f64().expect("a number");
    let (lo, hi) = (number(&verdict["interval"][0]), number(&verdict["interval"][1]));
    assert!(0.4 <= lo && (lo..=hi).contains(&number(&verdict["estimate"])), "{verdict}");
    assert_eq!(report["state_lives_in"], Value::Null);
    assert_eq!(report["remedies"], Value::Array(Vec::new()));
    measured_in_full(&report);
    printed_in_every_form(lab, &report, &output);
    report
}

fn measured_in_full(report: &Value) {
    let trial = &report["trials"][0];
    let of_treatment = |phase: &&Value| phase["arm"] == "treatment";
    let phases: Vec<&Value> =
        trial["phases"].as_array().expect("phases").iter().filter(of_treatment).collect();
    let names: Vec<&str> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(names, ["baseline", "baseline", "flood", "after"], "the first is the warm-up");
    let connections = |place: usize| phases[place]["connections"].as_u64();
    assert!(connections(1) >= Some(200), "more where the machine is busy: {}", phases[1]);
    assert_eq!(connections(2), Some(600));
    assert!(connections(3) >= Some(200), "more where the machine is busy: {}", phases[3]);
    let floods = phases_of(trial).into_iter().filter(|name| *name == "flood").count();
    assert_eq!(floods, 1, "the control is never flooded");
}

fn printed_in_every_form(lab: &Lab, report: &Value, output: &Printed) {
    let run = report["run"].as_str().expect("an id");
    let again = lab.plimsoll(&["show", run]).exits(0).says_nothing();
    assert_eq!(again.stdout, output.stdout, "what was stored is what was printed");
    let start_of_id = &run[..4];
    lab.plimsoll(&["history", "small"]).exits(0).prints(run).prints("complete small");
    lab.plimsoll(&["history", "another"]).exits(0).prints_nothing();
    let history = lab.plimsoll(&["history", "--format", "json"]).exits(0).json();
    assert_eq!(history[0]["run"], run);
    lab.plimsoll(&["gate", start_of_id]).exits(0).says_nothing().prints("**Recovered**");
    lab.plimsoll(&["show", start_of_id, "--format", "markdown"]).exits(0).prints("### small");
    let junit = lab.plimsoll(&["gate", "--format", "junit"]).exits(0);
    let junit = junit.prints("tests=\"1\" skipped=\"0\" failures=\"0\" errors=\"0\"").prints("</testsuites>");
    assert!(junit.stdout.starts_with("<?xml"));
    lab.plimsoll(&["show", "--format", "html"]).exits(0).prints("<!DOCTYPE html>");
    lab.plimsoll(&["show", "nosuchrun"])
        .exits(2)
        .prints_nothing()
        .says("there is no run and no baseline `nosuchrun`");
}

fn kinds_of_hosts(report: &Value) -> Vec<String> {
    let hosts = report["hosts"].as_array().expect("a report has hosts");
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    hosts.iter().map(|host| host["kind"].as_str().expect("a kind").to_owned()).collect()
}
