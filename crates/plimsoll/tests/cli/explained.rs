//! What is held down by something that the experiment does not speak of: whether it is named.

use crate::lab::Lab;

const TWO_HOSTS: &str = r#"
question = "Which side is worse, and why?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = { model = "fork_per_connection" }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "500ms", concurrency = 40, close_first = "client" }
[[phases]]
name = "visits"
measure = "visitors"
[run]
min_trials = 6
max_trials = 6
"#;

/// The first cause of a run of [`TWO_HOSTS`] with this factor and claim.
fn first_cause(experiment: &str) -> serde_json::Value {
    let lab = Lab::new();
    let file = lab.file("fault.toml", &format!("{TWO_HOSTS}{experiment}"));
    let told = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]);
    let report = told.exits(0).json();
    assert!(!report["evidence"].as_array().expect("evidence").is_empty());
    report["causes"][0].clone()
}

#[test]
fn a_listen_queue_for_one_connection_is_named_from_the_kernels_counters() {
    let cause = first_cause(
        r#"
[factors.backlog]
set = "services.web.web.backlog"
levels = [511, 1]
[[claims]]
difference = { phase = "visits", factor = "backlog", metric = "connections_per_second", expect = "slower" }
"#,
    );
    assert_eq!(cause["id"], "net.listen_overflow", "{cause}");
    assert!(
        cause["evidence"][0]["metric"].as_str().is_some_and(|metric| metric.contains("ListenOverflows")),
        "{cause}"
    );
}

#[test]
fn a_client_without_ports_is_named_from_its_errors() {
    let cause = first_cause(
        r#"
[factors.ports]
set = "hosts.client.sysctls.\"net.ipv4.ip_local_port_range\""
levels = ["32768 60999", "32768 32867"]
[[claims]]
difference = { phase = "visits", factor = "ports", metric = "error_share", expect = "slower" }
"#,
    );
    assert_eq!(cause["id"], "net.port_exhaustion", "{cause}");
}
