//! Experiments small enough for a test. Stories change them with `--set`.

/// Three hosts in a row, two relays on the middle one, one small flood; judged against a control with a margin that is wide enough for a busy
/// machine.
pub(crate) const FLOOD: &str = r#"
question = "Does a small relay come back after a small flood?"

[hosts.client]

[hosts.firewall]
forward = true

[hosts.server]

[[links]]
between = ["client", "firewall"]

[[links]]
between = ["firewall", "server"]

[services.web]
on = "server"
web = { clients = 16 }

[services.relay]
on = "firewall"
relay = { to = "web", listeners = 2 }

[loads.sequential]
from = "client"
to = "relay"
http = { connections = 200 }

[loads.flood]
from = "client"
to = "relay"
http = { generators = 2, connections = 300, concurrency = 20, timeout = "60s" }

[[phases]]
name = "baseline"
measure = "sequential"
warm_up = 1
slices = 20
most_slices = 120

[[phases]]
name = "cycle"
repeat = 1

[[phases.steps]]
name = "flood"
drive = "flood"

[[phases.steps]]
name = "settle"
settle = { at_least = "50ms", drained = "firewall" }

[[phases.steps]]
name = "after"
measure = "sequential"
slices = 20
most_slices = 120

[control]
idle_in = ["flood"]

[[claims]]
recovery = { baseline = "baseline", after = "after", margin = "60 %" }

[remedies]
service = "relay"
ladder = ["restart_service", "rebuild_host"]

[run]
max_trials = 6
"#;

/// A flood that goes on for some seconds, so that tests can act in the middle of it.
pub(crate) fn long_flood() -> String {
    FLOOD.replace("generators = 2, connections = 300,", "generators = 2, duration = \"4s\",")
}

/// A flood with a watch for the return of the rate.
pub(crate) fn watched_flood() -> String {
    let after = "[[phases.steps]]\nname = \"after\"";
    let watch = "watch = { load = \"sequential\", against = \"baseline\", give_up = \"30s\" }";
    FLOOD.replace(after, &format!("[[phases.steps]]\nname = \"watch\"\n{watch}\n\n{after}"))
}

/// Sixteen short trials: four sizes of a document, four times each, without a claim.
pub(crate) const SIZES: &str = r#"
question = "How many documents of each size are served?"

[hosts.server]

[services.web]
on = "server"
web = { clients = 4 }

[loads.some]
from = "server"
to = "web"
http = { connections = 20 }

[[phases]]
name = "all"
measure = "some"

[factors.size]
set = "services.web.web.document"
levels = ["1k", "2k", "4k", "8k"]

[run]
min_trials = 4
max_trials = 4
"#;

/// One host, one service, one measured load; `service` is the rest of the service's table.
pub(crate) fn one_service(service: &str) -> String {
    format!(
        r#"
question = "Does it answer?"

[hosts.server]

[services.web]
on = "server"
{service}

[loads.some]
from = "server"
to = "web"
http = {{ connections = 50 }}

[[phases]]
name = "before"
measure = "some"
slices = 10

[[phases]]
name = "after"
measure = "some"
slices = 10

[[claims]]
recovery = {{ baseline = "before", after = "after", margin = "90 %" }}

[run]
max_trials = 3
"#
    )
}
