//! Groups of hosts, and several loads measured at once: each with figures of its own, and claims name theirs.

use serde_json::Value;

use crate::lab::Lab;

const ATTACKED: &str = r#"
question = "How do users fare while others attack?"
[hosts.users]
[hosts.bots]
count = 5
[hosts.server]
[[links]]
between = ["users", "server"]
[[links]]
between = ["bots", "server"]
[services.site]
on = "server"
web = { model = "event_loop" }
[loads.users]
from = "users"
to = "site"
http = { open = { rate = 50 }, duration = "2s" }
[loads.attack]
from = "bots"
to = "site"
http = { concurrency = 8, duration = "2s" }
[[phases]]
name = "before"
measure = "users"
[[phases]]
name = "during"
measure = ["users", "attack"]
slices = 10
[[claims]]
load = "users"
limit = { phase = "during", metric = "requests_per_second", above = "25/s" }
[[claims]]
limit = { phase = "during/attack", metric = "requests_per_second", above = "50/s" }
[run]
max_trials = 1
"#;

fn phase<'r>(report: &'r Value, name: &str) -> &'r Value {
    let phases = report["trials"][0]["phases"].as_array().expect("phases");
    phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {phases:?}"))
}

#[test]
fn users_are_measured_during_an_attack_from_a_group_each_with_figures_of_its_own() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("attacked.toml", ATTACKED);
    let report = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0).json();
    let requests = |name: &str| phase(&report, name)["requests_per_second"].as_f64().expect("a rate");
    // An open loop offers its rate whatever the others do; five hosts of eight at a time do more than that.
    assert!((40.0..60.0).contains(&requests("during/users")), "{}", requests("during/users"));
    assert!(requests("during/attack") > 2.0 * requests("during/users"), "{report}");
    let slower = |name: &str| phase(&report, name)["latency_us"]["p50"].as_u64().expect("a time");
    assert!(slower("during/users") > slower("before"), "{report}");
}

#[test]
fn a_group_is_told_as_one_and_a_claim_that_does_not_name_its_load_is_refused() {
    let lab = Lab::new();
    let file = lab.file("attacked.toml", ATTACKED);
    lab.plimsoll(&["describe", &file]).exits(0).prints("bots: namespaces of its own, 5 of them");
    let unnamed = lab.file("unnamed.toml", &ATTACKED.replace("load = \"users\"\n", ""));
    lab.plimsoll(&["check", &unnamed])
        .exits(2)
        .says("there is no measured phase `during`")
        .says("during/users");
    let strange = lab.file("strange.toml", &ATTACKED.replace("load = \"users\"\n", "load = \"visitors\"\n"));
    lab.plimsoll(&["check", &strange]).exits(2).says("during/visitors");
}
