//! Loads that offer a rate.

use crate::lab::{Lab, verdict_of};

/// A server that needs 5 ms of CPU time for a request, and a load with this rate.
fn at_a_rate(open: &str, claims: &str) -> String {
    format!(
        r#"
question = "How much of the load is answered?"

[hosts.server]

[services.web]
on = "server"
web = {{ model = "event_loop", clients = 5000, work = "5ms" }}

[loads.clients]
from = "server"
to = "web"

[loads.clients.http]
concurrency = 2000
requests_per_connection = 0
duration = "1500ms"
timeout = "300ms"
open = {open}

[[phases]]
name = "offered"
measure = "clients"

{claims}

[run]
min_trials = 2
max_trials = 2
"#
    )
}

const HYSTERESIS: &str = "[[claims]]\nhysteresis = { phase = \"offered\" }";

#[test]
fn requests_of_an_open_loop_go_out_one_by_one() {
    let lab = Lab::new();
    let text = at_a_rate("{ rate = 20 }", HYSTERESIS)
        .replace("concurrency = 2000", "concurrency = 2000\npipeline = 2");
    lab.plimsoll(&["check", &lab.file("pipeline.toml", &text)])
        .exits(2)
        .says("requests of a load with `open` go out one by one")
        .says("`pipeline` without `open`, in closed loop and for one path");
}

#[test]
fn every_step_up_and_down_the_load_is_reported() {
    let lab = Lab::new();
    let text = at_a_rate("{ steps = [20, 40, 400, 40, 20] }", HYSTERESIS);
    let experiment = lab.file("steps.toml", &text);
    lab.plimsoll(&["run", &experiment, "--format", "json"]);
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    let verdict = verdict_of(&report);
    assert_eq!(
        (&verdict["claim"], &verdict["metric"]),
        (&"hysteresis".into(), &"requests_per_second".into())
    );
    for trial in report["trials"].as_array().expect("trials") {
        let phase = &trial["phases"][0];
        let steps = phase["offer"]["steps"].as_array().expect("steps");
        let rates: Vec<_> = steps.iter().map(|step| step["offered_per_second"].as_f64().unwrap()).collect();
        assert_eq!(rates, [20.0, 40.0, 400.0, 40.0, 20.0]);
        // 5 ms of CPU time each leave at most 200/s.
        let answered = steps[2]["answered_per_second"].as_f64().expect("a figure");
        assert!(answered < 250.0, "{answered} of 400/s");
        assert!(phase["offer"]["offered_per_second"].as_f64().is_some_and(|rate| (rate - 104.0).abs() < 1.0));
        assert!(phase["errors"]["timeout"].as_u64().is_some_and(|errors| errors > 0), "{phase}");
    }
    lab.plimsoll(&["show", "latest", "--details"])
        .prints("Up and down the load")
        .prints("Offered load")
        .prints("The offered rate was");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"steps-answered-1\"");
}

#[test]
fn a_rate_that_the_generator_cannot_offer_makes_the_run_invalid() {
    let lab = Lab::new();
    let text = at_a_rate("{ steps = [1000000, 5000000, 1000000] }", HYSTERESIS);
    let experiment = lab.file("too-much.toml", &text);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(4).json();
    let verdict = verdict_of(&report);
    assert_eq!(verdict["outcome"], "invalid");
    let reason = verdict["reason"].as_str().expect("a reason");
    assert!(reason.contains("the generator was the bottleneck"), "{reason}");
}

#[test]
fn what_makes_no_sense_of_a_rate_is_said_at_its_place() {
    let lab = Lab::new();
    for (open, claims, place, expected) in [
        ("{ rate = 10, ramp_to = 20, steps = [1, 2] }", "", "open", "exactly one of"),
        ("{ rate = -1 }", "", "open", "exactly one of"),
        ("{ rate = 10, sine = { amplitude = 20, period = \"1s\" } }", "", "sine", "from 0 to `rate`"),
        ("{ steps = [1, 2, 3] }", HYSTERESIS, "phase", "rise and then fall"),
    ] {
        let experiment = lab.file("wrong.toml", &at_a_rate(open, claims));
        lab.plimsoll(&["check", &experiment]).exits(2).says(place).says(expected);
    }
}
