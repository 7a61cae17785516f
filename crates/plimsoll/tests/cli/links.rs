//! Links that shape packets.

use crate::lab::Lab;

/// A client and a server, with a path of 5 ms each way between them.
const DELAYED: &str = r#"
question = "How long is the way?"

[hosts.client]

[hosts.server]

[[links]]
between = ["client", "server"]
delay = "5ms"

[services.web]
on = "server"
web = {}

[loads.visitor]
from = "client"
to = "web"
http = { connections = 20, concurrency = 1 }

[[phases]]
name = "visits"
measure = "visitor"
slices = 1

[run]
min_trials = 2
max_trials = 2
"#;

#[test]
fn a_run_says_once_what_shaped_its_links_and_from_which_packet_rate_on_that_is_the_bottleneck() {
    let lab = Lab::new();
    let experiment = lab.file("delayed.toml", DELAYED);
    let run = |shaper: &str| {
        lab.plimsoll(&["run", &experiment, "--set", &format!("links.0.shaper={shaper}"), "--format", "json"])
    };
    let report = run("emulator").exits(0).json();
    let notes: Vec<&str> =
        report["notes"].as_array().expect("notes").iter().filter_map(|n| n["text"].as_str()).collect();
    let of_links: Vec<&&str> = notes.iter().filter(|note| note.contains("was shaped by")).collect();
    let [note] = of_links[..] else { panic!("{notes:?}") };
    assert!(
        note.starts_with(
            "the link client - server was shaped by a link emulator of Plimsoll's own; it would be"
        ),
        "{note}"
    );
    let rate = note.split_whitespace().find_map(|word| word.parse::<u64>().ok());
    assert!(rate.is_some_and(|rate| rate > 1000), "{note}");
    // A connection and a request take two ways there and back.
    let least = report["trials"][0]["phases"][0]["figures"]["median_ms"].as_f64().expect("a figure");
    assert!(least >= 20.0, "{report}");

    let netem = run("netem");
    if lab.plimsoll(&["doctor", "--dry-run"]).exits(0).stdout.contains("shaped by the kernel's netem") {
        let notes = netem.exits(0).json()["notes"].to_string();
        assert!(notes.contains("the link client - server was shaped by the kernel's netem"), "{notes}");
    } else {
        netem
            .exits(3)
            .says("link client - server: the experiment asks for netem, but this kernel")
            .says("leave `shaper` out");
    }
}

#[test]
fn what_netem_cannot_do_is_named_before_anything_runs() {
    let lab = Lab::new();
    for (more, expected) in [
        ("rate = \"1Mbit\"\nqueue = \"20kB\"", "netem counts its queue in packets"),
        ("rate = \"1Mbit\"\nreorder = \"1 %\"", "netem lets packets that overtake others pass by the queue"),
        ("jitter = \"1ms\"", ""),
    ] {
        let text =
            DELAYED.replace("delay = \"5ms\"", &format!("delay = \"5ms\"\nshaper = \"netem\"\n{more}"));
        let output = lab.plimsoll(&["check", &lab.file("netem.toml", &text)]);
        if expected.is_empty() {
            output.exits(0)
        } else {
            output.exits(2).says(expected).says("or no `shaper`")
        };
    }
}

#[test]
fn offloads_of_a_link_and_the_largest_packet_of_loopback_are_as_the_file_says() {
    let lab = Lab::of_ordinary_user();
    let text = r#"
question = "What do the ends do?"
[hosts.a]
loopback_mtu = 1500
[hosts.b]
[[links]]
between = ["a", "b"]
offload = { tso = false, gso = false, gro = false, lro = false }
[services.web]
on = "b"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 5 }
[[phases]]
name = "look"
do = [
  { run = { on = "a", command = ["sh", "-c", "ip -o link show lo | grep -q 'mtu 1500 '"] } },
  { run = { on = "a", command = ["sh", "-c", "for i in /sys/class/net/*; do test ${i##*/} = lo || ip -d -o link show ${i##*/} | grep -q 'gso_max_size'; done"] } },
]
[[phases]]
name = "all"
measure = "some"
[run]
max_trials = 1
"#;
    let file = lab.file("offload.toml", text);
    lab.plimsoll(&["run", &file]).exits(0);
    let lro = lab.file("lro.toml", &text.replace("lro = false", "lro = true"));
    lab.plimsoll(&["run", &lro]).exits(3).says("switching lro on");
}
