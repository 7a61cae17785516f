//! Files and arguments that make no sense: exit status 2, the place, what was expected, and the nearest name.

use crate::experiments::FLOOD;
use crate::lab::{Lab, Printed};

#[test]
fn an_experiment_in_order_is_said_to_be() {
    let lab = Lab::new();
    let file = lab.file("small.toml", FLOOD);
    lab.plimsoll(&["check", &file])
        .exits(0)
        .says_nothing()
        .prints("is in order: 3 hosts, 2 services, 2 loads");
}

#[test]
fn an_unknown_key_gets_its_line_a_caret_and_the_nearest_key() {
    let output = wrong("clients = 16", "clinets = 16");
    let output = output.says("web = { clinets = 16 }").says("did you mean `clients`?");
    let marked = output.stderr.lines().skip_while(|line| !line.contains("clinets = 16")).nth(1);
    assert!(marked.is_some_and(|line| line.contains('─') || line.contains('^')), "{}", output.stderr);
}

#[test]
fn a_wrong_type_is_shown_with_what_was_expected() {
    wrong("repeat = 1", "repeat = \"often\"")
        .says("repeat = \"often\"")
        .says("expected a whole number, 0 or more");
    wrong("at_least = \"50ms\"", "at_least = \"soon\"")
        .says("at_least = \"soon\"")
        .says("`soon` is not a length of time such as \"250ms\"");
}

#[test]
fn a_name_that_is_not_declared_gets_the_declared_ones_and_the_nearest() {
    wrong("on = \"firewall\"", "on = \"firewal\"")
        .says("there is no host `firewal`")
        .says("one of `client`, `firewall`, `server`")
        .says("did you mean `firewall`?");
    wrong("after = \"after\"", "after = \"flood\"").says("there is no measured phase `flood`");
}

#[test]
fn what_a_newcomer_mistypes_is_found_before_the_run() {
    let exec = |words: &str| {
        format!(
            "relay = {{ to = \"web\", listeners = 2 }}\n\n[services.mine]\non = \"server\"\nexec = {words}"
        )
    };
    let relay = "relay = { to = \"web\", listeners = 2 }";
    wrong(relay, &exec("[\"sleep\", \"--port={prot}\"]"))
        .says("nothing says what `{prot}` stands for")
        .says("did you mean `{port}`?");
    wrong("[[links]]\nbetween = [\"client\", \"firewall\"]", "")
        .says("the host `client` has no link, so `relay` on `firewall` cannot be reached from `client`");
    let claim = "recovery = { baseline = \"baseline\", after = \"after\", margin = \"60 %\" }";
    for bound in ["5", "\"5ms\""] {
        let limit = format!("limit = {{ metric = \"p99\", phase = \"after\", below = {bound} }}");
        wrong(claim, &limit).says("did you mean `p99_ms`?");
    }
    let lab = Lab::new();
    let file = lab.file("small.toml", &FLOOD.replace(relay, &exec("[\"./my-server\"]")));
    lab.plimsoll(&["check", &file])
        .exits(0)
        .says("warning: services.mine: there is no program `./my-server` on this machine");
}

#[test]
fn what_is_no_toml_is_shown_where_it_breaks() {
    wrong("[services.web]", "[services.web").says("[services.web");
}

#[test]
fn an_unknown_experiment_gets_the_nearest_shipped_one() {
    let lab = Lab::new();
    for command in ["run", "check", "describe"] {
        lab.plimsoll(&[command, "flood-rely"])
            .exits(2)
            .prints_nothing()
            .says("there is no file and no shipped experiment `flood-rely`; did you mean `flood-relay`?");
    }
    lab.plimsoll(&["run", "nowhere.toml"]).exits(2).prints_nothing().says("cannot read nowhere.toml");
    lab.plimsoll(&["list"]).exits(0).says_nothing().prints("recovery flood-relay");
}

#[test]
fn an_impossible_setting_is_named_before_anything_runs() {
    let lab = Lab::new();
    let file = lab.file("small.toml", FLOOD);
    let set = |setting: &str| lab.plimsoll(&["run", &file, "--set", setting]).exits(2).prints_nothing();
    set("loads.flood.http.connections").says("--set loads.flood.http.connections: expected KEY=VALUE");
    set("loads.flood.http.conections=10").says("did you mean `connections`?");
    set("loads.flood.http.connections=many").says("connections");
    set("loads.flod.http.connections=10").says("flod");
    set("services.web.web.clients=0").says("0 is out of range").says("a number from 1 to 10000");
    set("loads.flood.http.pipeline=65").says("65 is out of range").says("a number from 1 to 64");
    set("loads.flood.http.pipeline=4")
        .says("a connection of the load `flood` is closed after fewer requests")
        .says("at most 1, or a larger `requests_per_connection`");
    lab.plimsoll(&["run", &file, "--reps", "0"]).exits(2).prints_nothing().says("--reps");
    lab.plimsoll(&["run", &file, "--format", "yaml"]).exits(2).prints_nothing().says("junit");
    lab.plimsoll(&["run"]).exits(2).prints_nothing();
    lab.plimsoll(&["history"]).exits(0).prints_nothing();
}

/// Requires that `check` and `run` refuse the file with this change, with equal messages.
fn wrong(right: &str, wrong: &str) -> Printed {
    let lab = Lab::new();
    assert!(FLOOD.contains(right));
    let file = lab.file("small.toml", &FLOOD.replacen(right, wrong, 1));
    let checked = lab.plimsoll(&["check", &file]).exits(2).prints_nothing().says(&file);
    let run = lab.plimsoll(&["run", &file]).exits(2).prints_nothing();
    assert_eq!(run.stderr, checked.stderr);
    run
}

#[test]
fn a_very_long_line_is_shown_in_part() {
    let lab = Lab::new();
    let file =
        lab.file("long.toml", &format!("question = \"{}\"\nsurprise = 1\n[hosts.a]\n", "x".repeat(70_000)));
    lab.plimsoll(&["check", &file]).exits(2).says("surprise");
    let file = lab.file("longer.toml", &format!("question = {{ {} }}\n", "x".repeat(70_000)));
    lab.plimsoll(&["check", &file]).exits(2).says("longer.toml");
}
