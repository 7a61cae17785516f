//! The search for the highest rate that holds a bound.

use crate::lab::{Lab, verdict_of};

/// A server that needs 2 ms of CPU time for a request, so that it carries 500/s at most, and a search.
fn searched(load: &str, search: &str, claim: &str) -> String {
    format!(
        r#"
question = "How many requests per second are answered in time?"

[hosts.server]

[services.web]
on = "server"
web = {{ model = "event_loop", clients = 1000, work = "2ms" }}

[loads.clients]
from = "server"
to = "web"
http = {{ concurrency = 200, requests_per_connection = 0, timeout = "500ms", {load} }}

[[phases]]
name = "search"
search = {{ load = "clients", {search} }}

[[claims]]
limit = {{ phase = "search", {claim} }}

[run]
min_trials = 1
max_trials = 1
"#
    )
}

const LOAD: &str = "duration = \"400ms\", open = { rate = 100 }";

#[test]
fn a_rate_that_no_such_server_can_carry_is_not_reached_and_the_probes_are_reported() {
    let lab = Lab::new();
    let claim = "at_most = \"100ms\", at_least = 1500";
    let experiment = lab.file("limit.toml", &searched(LOAD, "to = 2000, rest = \"50ms\"", claim));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(1).json();
    let verdict = verdict_of(&report);
    assert_eq!(
        (&verdict["claim"], &verdict["outcome"]),
        (&"limit".into(), &"not_reached".into()),
        "{verdict}"
    );
    assert!(verdict["interval"][1].as_f64().is_some_and(|most| most < 1500.0), "{verdict}");
    let probes = report["verdicts"][0]["details"]["probes"].as_array().expect("probes");
    assert!(probes.len() >= 6, "{probes:?}");
    for probe in probes {
        let rate = probe["offered_per_second"].as_f64().expect("a rate");
        assert!(rate < 1000.0 || probe["finding"] != "held", "500/s at most: {probe}");
    }
    lab.plimsoll(&["show", "latest", "--details"]).prints("Not reached").prints("The search for the limit");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"search-1\"");
    lab.plimsoll(&["describe", &experiment]).exits(0).prints("up to 2000/s");
}

#[test]
fn what_makes_no_sense_of_a_search_is_said_at_its_place() {
    let lab = Lab::new();
    let bound = "at_most = \"100ms\"";
    for (load, search, claim, place, expected) in [
        ("duration = \"1s\"", "to = 2000", bound, "load", "`open.rate`"),
        ("duration = \"1s\", open = { steps = [100, 200] }", "to = 2000", bound, "load", "`open.rate`"),
        (LOAD, "to = 100", bound, "to", "a rate above that of the load"),
        (LOAD, "to = 2000, most = 2", bound, "most", "from 6 to 1000"),
        (LOAD, "to = 2000", "at_most = \"2s\"", "at_most", "at most the `timeout`"),
        (LOAD, "to = 2000", "at_most = \"1ms\", share = 1", "share", "less than 1"),
        (LOAD, "to = 2000", "at_most = \"1ms\", share = 0.999", "load", "a longer `duration`"),
    ] {
        let experiment = lab.file("wrong.toml", &searched(load, search, claim));
        lab.plimsoll(&["check", &experiment]).exits(2).says(place).says(expected);
    }
    let text = searched(LOAD, "to = 2000", bound);
    let (without, _) = text.split_once("[[claims]]").expect("it claims something");
    let experiment = lab.file("wrong.toml", without);
    lab.plimsoll(&["check", &experiment]).exits(2).says("no claim states the bound");
}
