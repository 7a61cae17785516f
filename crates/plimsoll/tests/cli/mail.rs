//! Mail, from its source through a relay to a sink, balanced at the end.

use serde_json::Value;

use crate::lab::{Lab, verdict_of};

/// Mail through a relay of this kind.
fn through(relay: &str) -> String {
    format!(
        r#"
question = "Does all mail arrive?"

[hosts.source]

[hosts.relay]
forward = true

[hosts.sink]

[[links]]
between = ["source", "relay"]

[[links]]
between = ["relay", "sink"]

[services.sink]
on = "sink"
smtp_sink = {{}}

[services.relay]
on = "relay"
{relay}

[loads.mail]
from = "source"
to = "relay"
smtp = {{ messages = 200, sessions = 5, messages_per_session = 10, size = {{ most = "10k" }} }}

[[phases]]
name = "mail"
measure = "mail"

[[phases]]
name = "down"
stop = "sink"

[[phases]]
name = "more"
drive = "mail"

[[phases]]
name = "up"
start = "sink"

[[phases]]
name = "drain"
settle = {{ delivered = "sink" }}
at_most = "60s"

[[claims]]
delivery = {{ sink = "sink" }}
"#
    )
}

/// The balance of the only trial.
fn balance(report: &Value) -> &Value {
    let balances = report["trials"][0]["mail"].as_array().expect("balances");
    assert_eq!(balances.len(), 1, "{balances:?}");
    &balances[0]
}

#[test]
fn a_relay_delivers_all_mail_after_its_sink_was_down_and_reports_it_as_postal_does() {
    let lab = Lab::of_ordinary_user();
    let relay = "mail_relay = { to = \"sink\", durability = \"group_commit\", retry = \"100ms\" }";
    let experiment = lab.file("relay.toml", &through(relay));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let verdict = verdict_of(&report);
    assert_eq!((&verdict["outcome"], &verdict["estimate"]), (&"delivered".into(), &1.0.into()), "{verdict}");
    let balance = balance(&report);
    for (key, number) in [("acknowledged", 400), ("arrived", 400), ("lost", 0), ("corrupted", 0)] {
        assert_eq!(balance[key], number, "{balance}");
    }
    let commands = report["trials"][0]["phases"][0]["commands_us"].as_object().expect("commands");
    assert!(commands["end of data"]["p50"].as_u64() > Some(0), "{commands:?}");
    let told = lab.plimsoll(&["show", "latest", "--format", "postal"]).exits(0);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(lines[0], "time,messages,data(K),errors,connections,ssl");
    let messages = lines[1..].iter().map(|line| line.split(',').nth(1)?.parse::<u64>().ok());
    assert_eq!(messages.sum::<Option<u64>>(), Some(400), "{lines:?}");
    assert!(lines[1].starts_with("00:00,"), "{lines:?}");
    lab.plimsoll(&["show", "latest"])
        .exits(0)
        .prints("400 acknowledged messages 400 arrived")
        .prints("end of data");
}

#[test]
fn a_message_that_the_next_service_refuses_for_good_has_not_arrived() {
    let lab = Lab::of_ordinary_user();
    let text = through("mail_relay = { to = \"sink\" }")
        .replace("smtp_sink = {}", "smtp_sink = { reject = \"10 %\" }")
        .replace("delivery = { sink = \"sink\" }", "delivery = { sink = \"sink\", within = \"2s\" }")
        .replace("at_most = \"60s\"", "at_most = \"2s\"");
    let experiment = lab.file("refusing.toml", &text);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(1).json();
    assert_eq!(verdict_of(&report)["outcome"], "not_delivered");
    assert!(balance(&report)["lost"].as_u64().is_some_and(|lost| (10..100).contains(&lost)));
}

#[test]
#[ignore = "needs root and postfix; cargo xtask test installs and runs it"]
fn postfix_delivers_all_mail_from_folders_of_its_own() {
    let lab = Lab::of_root();
    let relay = "postfix = { to = \"sink\", queue_run = \"1s\", retry = \"1s\", retry_most = \"2s\" }\nready.within = \"20s\"";
    let experiment = lab.file("postfix.toml", &through(relay));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "delivered");
    assert_eq!(balance(&report)["arrived"], 400);
}

#[test]
fn postfix_is_not_started_where_there_is_but_one_user() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("postfix.toml", &through("postfix = { to = \"sink\" }"));
    lab.plimsoll(&["run", &experiment]).exits(3).says("needs root");
}
