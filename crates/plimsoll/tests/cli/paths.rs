//! Paths: what datagrams show about a link, and whether it is good enough for TCP.

use serde_json::Value;

use crate::lab::Lab;

/// A link that is good enough for TCP at 20 Mbit/s over 4 ms.
const PATH: &str = r#"
question = "Is it good enough?"

[hosts.client]

[hosts.server]

[[links]]
between = ["client", "server"]
rate = "40Mbit"
delay = "2ms"
queue = "128k"
loss = 0.0
back = { loss = 0.0 }

[services.responder]
on = "server"
bulk = {}

[loads.check]
from = "client"
to = "responder"
diagnose = { rate = "20Mbit", rtt = "4ms", packets = 1500, duration = "500ms", bursts = 5 }

[factors.loss]
set = "links.0.loss"
levels = [0.0, 0.05]

[factors.queue]
set = "links.0.queue"
levels = ["128k", "3k"]

[[cells]]
loss = 0.05
queue = "128k"

[[cells]]
loss = 0.0
queue = "3k"

[[phases]]
name = "checked"
measure = "check"

[[claims]]
diagnose = { phase = "checked" }

[run]
max_trials = 1
"#;

fn checks(report: &Value, factor: &str, level: &str) -> Vec<(String, Option<bool>)> {
    let mut all = report["verdicts"].as_array().expect("verdicts").iter().map(|it| &it["details"]);
    let of = all.find(|found| found["cell"][factor] == level).expect("the cell");
    let check =
        |check: &Value| (check["check"].as_str().unwrap_or_default().to_owned(), check["passes"].as_bool());
    of["checks"].as_array().expect("checks").iter().map(check).collect()
}

#[test]
fn the_fault_of_each_path_is_named_with_what_to_do_about_it() {
    let lab = Lab::new();
    let experiment = lab.file("path.toml", PATH);
    lab.plimsoll(&["run", &experiment]).prints("the fault is ");
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    let lossy = checks(&report, "loss", "0.05");
    assert!(lossy.contains(&("loss".into(), Some(false))), "{report}");
    assert!(lossy.contains(&("buffer".into(), Some(true))), "{report}");
    let short = checks(&report, "queue", "3k");
    assert!(short.contains(&("buffer".into(), Some(false))), "{report}");
    assert!(short.contains(&("send_buffer".into(), Some(true))), "{report}");
    lab.plimsoll(&["show", "latest", "--details"]).prints("Is checked good enough for 20 Mbit/s over 4 ms");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"diagnose\"");
    let far = lab.file("far.toml", &PATH.replace("4ms\", packets", "20s\", packets"));
    lab.plimsoll(&["check", &far]).exits(2).says("from 100us to 10s");
}

#[test]
fn the_knee_of_a_link_is_near_its_rate() {
    let lab = Lab::new();
    lab.plimsoll(&["run", "udp-knee", "--quick", "--set", "loads.flow.udp.duration=500ms"])
        .fits_on_a_screen();
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    let knee = &report["verdicts"][0]["details"];
    let points = knee["points"].as_array().expect("points");
    assert_eq!(points.len(), 6, "{report}");
    // A sender that is held up sends in bursts, and loses some of them below the knee; beyond it what arrives is the link's rate.
    let arrived = points[5]["arrived_bits_per_second"].as_f64().expect("a rate");
    assert!((30e6..55e6).contains(&arrived), "{report}");
    lab.plimsoll(&["show", "latest", "--details"]).prints("Loss over rate, offered");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"knee-1\"");
}
