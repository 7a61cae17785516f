//! Mail, from its source through a relay to a sink, balanced at the end.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::lab::{Lab, verdict_of};
use crate::machine::control_groups_of;

/// Mail through a relay of this kind.
pub(crate) fn through(relay: &str) -> String {
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

pub(crate) fn balance(report: &Value) -> &Value {
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
    let output = lab.plimsoll(&["show", "latest", "--format", "postal"]).exits(0);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines[0], "time,messages,data(K),errors,connections,ssl");
    let messages = lines[1..].iter().map(|line| line.split(',').nth(1)?.parse::<u64>().ok());
    assert_eq!(messages.sum::<Option<u64>>(), Some(400), "{lines:?}");
    assert!(lines[1].starts_with("00:00,"), "{lines:?}");
    lab.plimsoll(&["show", "latest", "--details"])
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
    let lab = Lab::of_root().allowing("users");
    let relay = "postfix = { to = \"sink\", queue_run = \"1s\", retry = \"1s\", retry_most = \"2s\" }\nready.within = \"20s\"";
    // Postfix defers a message by a minute if its file is still locked at the time of the retry.
    let text = through(relay).replace("at_most = \"60s\"", "at_most = \"150s\"");
    let experiment = lab.file("postfix.toml", &text);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "delivered");
    assert_eq!(balance(&report)["arrived"], 400);
}

#[test]
fn postfix_is_not_started_where_there_is_but_one_user() {
    let lab = Lab::of_ordinary_user().allowing("users");
    let experiment = lab.file("postfix.toml", &through("postfix = { to = \"sink\" }"));
    lab.plimsoll(&["run", &experiment]).exits(3).says("needs root");
}

/// Limits of a detached device, on a machine with control groups of version 1.
fn limits_of(device: &str) -> String {
    let block = Path::new("/sys/block").join(device);
    if block.join("loop/backing_file").exists() {
        return String::new();
    }
    let number = fs::read_to_string(block.join("dev")).unwrap_or_default();
    let files = ["read_iops", "write_iops", "write_bps"].map(|file| {
        fs::read_to_string(format!("/sys/fs/cgroup/blkio/blkio.throttle.{file}_device")).unwrap_or_default()
    });
    let of_device = |line: &&str| line.split(' ').next() == Some(number.trim());
    files.concat().lines().filter(of_device).collect()
}

/// On a volume that is too small for the flood, on a device that is held to a number of operations, on a host with little memory.
#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_queue_on_a_small_slow_volume_refuses_what_does_not_fit_and_loses_nothing() {
    let lab = Lab::of_root().allowing("users,machine");
    let text = through(
        "mail_relay = { to = \"sink\", volume = \"disk\", retry = \"100ms\", retry_most = \"300ms\" }",
    )
    .replace("[hosts.relay]", "[hosts.relay]\nmemory = \"64M\"")
    .replace("smtp = { messages", "smtp = { seed = 1, messages")
        + "
[volumes.disk]
on = \"relay\"
loop = { size = \"16M\", filesystem = \"ext4\", options = \"data=journal\" }
limit = { iops = 3000, bandwidth = \"100M\" }

[loads.sync]
from = \"relay\"
to = \"disk\"
storage = { duration = \"1s\", reads = 0, size = \"64k\", sync_every = 1, sync_by = \"syncfs\" }

[background.sync]
load = \"sync\"
during = [\"mail\"]
";
    // More than fits must come while the sink is down.
    let flood = "[loads.flood]\nfrom = \"source\"\nto = \"relay\"\nsmtp = { seed = 2, messages = 400, sessions = 5, messages_per_session = 10, \
                 size = { least = \"60k\", most = \"90k\" } }\n\n[[phases]]\nname = \"mail\"";
    let text =
        text.replace("[[phases]]\nname = \"mail\"", flood).replace("drive = \"mail\"", "drive = \"flood\"");
    // The last load ends when all of its mail has arrived, so the balance has nothing to wait for.
    // It starts only when the volume has room again: a load that is mostly refused is no measurement.
    let text = text
        .replace(
            "settle = { delivered = \"sink\" }",
            "settle = { delivered = \"sink\" }\n\n[[phases]]\nname = \"last\"\nmeasure = \"mail\"\nuntil_delivered = \"sink\"",
        )
        .replace("delivery = { sink = \"sink\" }", "delivery = { sink = \"sink\", within = \"0s\" }");
    let experiment = lab.file("small.toml", &text);
    let run = lab.start(&["run", &experiment, "--format", "json"]);
    let controller = run.id();
    let report = run.ends().exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "delivered", "{report}");
    let phases = report["trials"][0]["phases"].as_array().expect("phases");
    let deferred = phases[1]["errors"]["deferred"].as_u64();
    assert!(deferred.is_some_and(|deferred| (50..400).contains(&deferred)), "{}", phases[1]);
    // The file and its folder are flushed for each message; the background load's flushes are not the relay's.
    let own = phases[0]["flushes"]["relay"]["per_message"].as_f64();
    assert!(own.is_some_and(|own| (1.9..2.2).contains(&own)), "{}", phases[0]);
    let disks = phases[0]["disks"].as_object().expect("disks");
    // Loop devices of other runs may be among them.
    let is_own = |disk: &Value| disk["flushes"].as_f64() > Some(0.5) && disk["commits"].as_f64() > Some(0.1);
    let own = disks.iter().find(|(name, disk)| name.starts_with("loop") && is_own(disk));
    let (device, _) = own.unwrap_or_else(|| panic!("no loop device flushed and committed: {disks:?}"));
    assert_eq!(control_groups_of(controller), [] as [String; 0]);
    assert_eq!(limits_of(device), "");
}

#[test]
fn a_queue_on_a_volume_that_is_not_there_for_it_is_refused_with_the_place() {
    let lab = Lab::of_ordinary_user();
    let volume = |relay: &str, volume: &str| {
        let text = through(&format!("mail_relay = {{ to = \"sink\", {relay} }}"));
        lab.file("wrong.toml", &format!("{text}\n[volumes.disk]\n{volume}\n"))
    };
    let folder = "on = \"relay\"\nfolder = {}";
    for (relay, of, expected) in [
        ("volume = \"dsk\"", folder, "there is no volume `dsk`"),
        ("volume = \"disk\"", "on = \"sink\"\nfolder = {}", "the volume `disk` is on `sink`"),
        ("volume = \"disk\"", "on = \"relay\"\nloop = { size = \"1M\" }", "holds no files"),
        ("volume = \"disk\", queue = \"/x\"", folder, "in a folder and on a volume"),
        ("volume = \"disk\"", "on = \"relay\"\nfolder = {}\nlimit = { iops = 5 }", "shares its device"),
    ] {
        lab.plimsoll(&["check", &volume(relay, of)]).exits(2).says(expected);
    }
    lab.plimsoll(&["run", &volume("volume = \"disk\"", folder), "--format", "json"]).exits(0);
}
