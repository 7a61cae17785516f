//! Existing machines: reached by ssh and by commands, with the agent brought along, and their state after a cable was cut.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use plimsoll_model::frame::{self, FromAgent, Greeting, PROTOCOL};
use serde_json::Value;

use crate::lab::{Lab, verdict_of, wait_until};
use crate::rack::Rack;

/// A relay between a client and a server, each on a machine of its own, and a flood through it.
const FLOOD: &str = r#"
question = "Does a relay on three machines come back after a flood?"
[hosts.client]
reach = { ssh = "root@10.99.0.1" }
allow = ["root"]
lost_after = "2s"
[hosts.firewall]
reach = { ssh = "root@10.99.0.2" }
allow = ["root", "sysctl"]
sysctls = { "net.ipv4.tcp_fin_timeout" = 7 }
lost_after = "2s"
[hosts.server]
reach = { ssh = "ssh://root@10.99.0.3:22" }
allow = ["root"]
lost_after = "2s"
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
slices = 10
[[phases]]
name = "flood"
drive = "flood"
[[phases]]
name = "settle"
settle = { at_least = "50ms" }
[[phases]]
name = "after"
measure = "sequential"
slices = 10
[[claims]]
recovery = { baseline = "baseline", after = "after", margin = "60 %" }
[run]
max_trials = 6
"#;

/// The kernel's default of a setting (Documentation/networking/ip-sysctl.rst).
const FIN_TIMEOUT: &str = "60";

fn fin_timeout(rack: &Rack) -> String {
    rack.on("firewall", "cat /proc/sys/net/ipv4/tcp_fin_timeout")
}

#[test]
#[ignore = "needs root and openssh-server; cargo xtask test has both"]
fn three_machines_are_reached_by_ssh_and_flooded_and_nothing_is_left_on_them() {
    let rack = Rack::new("256m");
    let lab = rack.lab();
    let experiment = lab.file("rack.toml", FLOOD);
    let refused = lab.plimsoll(&["run", &experiment]).exits(2).says("ssh root@10.99.0.2");
    refused.says("`--allow privileged,machine` allows that");
    let report =
        lab.plimsoll_until_decided(&["run", &experiment, "--yes", "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "recovered", "{report}");
    let hosts = report["hosts"].as_array().expect("hosts");
    assert!(hosts.len() == 3 && hosts.iter().all(|host| host["kind"] == "remote"), "{hosts:?}");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("reached by ssh root@10.99.0.2") && notes.contains("as root, brought along"),
        "{notes}"
    );
    // All three share one kernel, and so one clock: the measured offsets can be checked.
    let clocks = report["trials"][0]["clocks"].as_object().expect("clocks");
    assert_eq!(clocks.keys().collect::<Vec<_>>(), ["client", "firewall", "server"]);
    for clock in clocks.values() {
        let of = |key: &str| clock[key].as_i64().expect("a time");
        assert!(of("ahead_ns").abs() <= of("within_ns"), "no clock is ahead of itself: {clock}");
        assert!(of("within_ns") < 20_000_000, "{clock}");
    }
    // Each machine is described; the firewall has a setting of its own.
    let machines = report["environment"]["machines"].as_array().expect("machines");
    let named: BTreeSet<&str> =
        machines.iter().filter_map(|it| it["hosts"].as_array()).flatten().filter_map(Value::as_str).collect();
    assert_eq!(named, BTreeSet::from(["client", "firewall", "server"]), "{machines:?}");
    assert_eq!(rack.left(), Vec::<String>::new());
    assert_eq!(fin_timeout(&rack), FIN_TIMEOUT);
    // A controller that is killed in the middle leaves nothing either.
    let run = lab.start(&["run", &experiment, "--yes"]);
    wait_until("a setting is changed", || fin_timeout(&rack) == "7");
    run.signal(Signal::SIGKILL);
    assert_eq!(run.ends().code, None);
    wait_until("nothing is left there", || rack.left().is_empty() && fin_timeout(&rack) == FIN_TIMEOUT);
}

#[test]
#[ignore = "needs root and openssh-server; cargo xtask test has both"]
fn a_cable_that_is_cut_ends_both_sides_and_costs_one_trial() {
    let rack = Rack::new("256m");
    let lab = rack.lab();
    // Trials without an end, each with a time without requests to the machines.
    let endless = FLOOD.replace("max_trials = 6", "min_trials = 500\nmax_trials = 500");
    let endless = endless.replace("\"50ms\"", "\"1500ms\"");
    let experiment = lab.file("endless.toml", &endless);
    let run = lab.start(&["run", &experiment, "--yes"]);
    let ended = |report: &Value| report["trials"].as_array().map_or(0, Vec::len);
    // The second has stored its first phase.
    wait_until("a trial has ended", || lab.stored().is_some_and(|report| ended(&report) > 1));
    wait_until("a setting is changed", || fin_timeout(&rack) == "7");
    rack.cut("firewall");
    let output = run.ends().exits(3);
    let output = output.says("host firewall").says("ssh root@10.99.0.2 ended before an agent answered");
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    let report = lab.stored().expect("it is stored");
    let trials = report["trials"].as_array().expect("trials");
    let faults = |trial: &Value| trial["faults"].to_string();
    assert_eq!(faults(&trials[0]), "[]", "what was measured before is kept");
    let fault = trials.iter().map(faults).find(|fault| fault != "[]").expect("one trial was cut short");
    assert!(fault.contains("agent_lost") && fault.contains("nothing was heard from it for 2 s"), "{fault}");
    // The agent there hears nothing either, and ends by itself.
    wait_until("nothing is left there", || rack.left().is_empty());
    assert_eq!(fin_timeout(&rack), FIN_TIMEOUT);
}

#[test]
#[ignore = "needs root and openssh-server; cargo xtask test has both"]
fn an_agent_that_finds_no_room_is_not_left_half_there() {
    let rack = Rack::new("4m");
    let lab = rack.lab();
    let experiment = lab.file("rack.toml", FLOOD);
    lab.plimsoll(&["run", &experiment, "--yes"])
        .exits(3)
        .says("host client: the agent could not be brought along")
        .says("No space left on device");
    assert_eq!(rack.left(), Vec::<String>::new());
    // Without consent to root nothing starts; a foreign address is no target.
    let rack = Rack::new("256m");
    let lab = rack.lab();
    let experiment = lab.file("rack.toml", &FLOOD.replace("allow = [\"root\"]\n", ""));
    lab.plimsoll(&["run", &experiment, "--yes"])
        .exits(3)
        .says("host client: the agent there runs as root, and nothing allows that")
        .says("allow = [\"root\"]");
    let foreign = FLOOD.replace("[services.web]", "address = \"203.0.113.9\"\n[services.web]");
    let experiment = lab.file("foreign.toml", &foreign);
    lab.plimsoll(&["run", &experiment, "--yes"])
        .exits(3)
        .says("host server: its address should be 203.0.113.9, but the machine has 10.99.0.3")
        .says("--allow-target 203.0.113.9");
    assert_eq!(rack.left(), Vec::<String>::new());
}

/// Three generators on this machine as if each had its own, and a server. The generators are reached by this command.
fn group(program: &Path, bots: &str) -> String {
    let server = format!("reach = {{ command = [\"{}\", \"agent\"] }}", program.display());
    format!(
        "question = \"Are three generators as one?\"\n[hosts.bots]\ncount = 3\nreach = {{ command = {bots} }}\nallow = [\"root\"]\n\
         [hosts.server]\n{server}\nallow = [\"root\"]\n\
         [services.site]\non = \"server\"\nweb = {{ model = \"event_loop\" }}\n\
         [loads.attack]\nfrom = \"bots\"\nto = \"site\"\nhttp = {{ open = {{ rate = 40 }}, duration = \"1s\" }}\n\
         [[phases]]\nname = \"all\"\nmeasure = \"attack\"\n[run]\nmax_trials = 1\n"
    )
}

/// Starts an agent whose clock is ahead of the machine's by 1000 s, that of the next by 2000 s, and so on (time_namespaces(7)).
const AHEAD: &str = r#"
n=1
while ! mkdir "$0-$n" 2>/dev/null; do n=$((n + 1)); done
exec unshare --user --map-root-user --time --monotonic $((n * 1000)) --fork --kill-child "$1" agent
"#;

#[test]
fn machines_whose_clocks_differ_drive_as_one_and_each_is_reported() {
    let lab = Lab::of_ordinary_user();
    let ahead = lab.file("ahead.sh", AHEAD);
    let bots = format!("[\"sh\", \"{ahead}\", \"{}\"]", lab.program().display());
    let experiment = lab.file("group.toml", &group(lab.program(), &bots));
    lab.plimsoll(&["describe", &experiment])
        .exits(0)
        .prints(", 3 of them, reached by sh")
        .prints("On the machines of the hosts that each line names, and on this one")
        .prints("with all rights that the command gives it");
    let output = lab.plimsoll_until_decided(&["run", &experiment, "--yes", "--format", "json"]);
    let report = output.json();
    // The interval of each clock holds its true offset.
    let clocks = &report["trials"][0]["clocks"];
    let of = |host: &str, key: &str| clocks[host][key].as_i64().unwrap_or_else(|| panic!("{host}: {report}"));
    let mut set: Vec<i64> = Vec::new();
    for host in ["bots", "bots2", "bots3", "server"] {
        let nearest = (of(host, "ahead_ns") as f64 / 1e12).round() as i64;
        let off = (of(host, "ahead_ns") - nearest * 1_000_000_000_000).abs();
        assert!(off <= of(host, "within_ns") && of(host, "within_ns") < 50_000_000, "{host}: {clocks}");
        set.push(nearest);
    }
    set.sort_unstable();
    assert_eq!((set[0], set[2] - set[1], set[3] - set[2]), (0, 1, 1), "{clocks}");
    let phase = &report["trials"][0]["phases"][0];
    let rate = phase["figures"]["requests_per_second"].as_f64().expect("a rate");
    assert!((90.0..=125.0).contains(&rate), "three times 40/s: {phase}");
    let generators = phase["generators"].as_array().expect("generators");
    let names: Vec<_> = generators.iter().filter_map(|it| it["host"].as_str()).collect();
    assert_eq!(names, ["bots", "bots2", "bots3"]);
    let of = |generator: &Value, key: &str| generator[key].as_f64().expect("a number");
    for generator in generators {
        assert!((30.0..=50.0).contains(&of(&generator["figures"], "requests_per_second")), "{generator}");
        assert!(of(generator, "after_ms") < 500.0, "they began at one moment: {generator}");
    }
    // On a busy machine one may start too late; then the report says that.
    let late = |it: &&Value| of(it, "after_ms") + of(it, "within_ms") > 1.0;
    match generators.iter().any(|it| late(&it)) {
        false => assert_eq!(output.code, Some(0), "{report}"),
        true => {
            assert_eq!(output.code, Some(4), "{report}");
            assert!(
                report["verdicts"].to_string().contains("did not start together: the one on `"),
                "{report}"
            );
        }
    }
    lab.plimsoll(&["show", "latest", "--details"])
        .prints("Generators")
        .prints("Clocks against the controller's");
}

#[test]
fn what_answers_and_is_no_agent_of_this_version_is_named_before_anything_starts() {
    let lab = Lab::of_ordinary_user();
    let mut frame = Vec::new();
    let greeting =
        Greeting { protocol: PROTOCOL + 1, version: "7.0.0".into(), user: 1000, ..Greeting::default() };
    frame::write(&mut frame, &FromAgent::Greeting(Box::new(greeting))).expect("a frame");
    fs::write(lab.path("greeting"), frame).expect("allowed");
    let bots = format!("[\"{}\", \"agent\"]", lab.program().display());
    let experiment = lab.file("group.toml", &group(lab.program(), &bots));
    let with = |command: &str| {
        let set = format!("hosts.server.reach={{ command = {command} }}");
        lab.plimsoll(&["run", &experiment, "--yes", "--set", &set]).exits(3)
    };
    with("[\"cat\", \"greeting\"]")
        .says("host server: the agent there is of Plimsoll 7.0.0")
        .says("the same version on both machines");
    with("[\"echo\", \"Welcome to this machine\"]").says("it says \"Welcome to this machine");
    with("[\"sh\", \"-c\", \"echo no such container >&2; exit 125\"]")
        .says("ended before an agent answered (exit status: 125); it said: no such container");
    let output =
        lab.plimsoll(&["check", &experiment, "--set", "hosts.server.reach={ ssh = \"-oProxyCommand=x\" }"]);
    output.exits(2).says("is no destination for ssh");
}
