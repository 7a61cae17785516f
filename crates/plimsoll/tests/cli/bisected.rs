//! `plimsoll bisect --experiment`: each measurement is a run.

use crate::lab::Lab;

/// Requests over a path that takes its time, one after the other: their rate is that of the path, however busy the machine is.
const PATH: &str = r#"
question = "How many connections does a path take?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
delay = "20ms"
[services.web]
on = "server"
web = {}
[loads.get]
from = "client"
to = "web"
http = { connections = 4 }
[[phases]]
name = "all"
measure = "get"
slices = 1
[run]
probes = false
min_trials = 1
max_trials = 1
"#;

/// The path becomes longer with the fifth version; the fourth does not run.
const VERSIONS: &str = "\
v1: links.0.delay=20ms
v2: links.0.delay=20ms
v3: links.0.delay=20ms
v4: hosts.server.kernel=/no/such/kernel
v5: links.0.delay=40ms
v6: links.0.delay=40ms
";

#[test]
fn the_version_of_an_experiment_that_brought_a_change_is_found_past_one_that_does_not_run() {
    let lab = Lab::new().allowing("privileged");
    let (experiment, versions) = (lab.file("path.toml", PATH), lab.file("versions", VERSIONS));
    let state = lab.path("state.json").display().to_string();
    let args = [
        "bisect",
        "--experiment",
        &experiment,
        "--versions",
        &versions,
        "--max-pairs",
        "8",
        "--state",
        &state,
    ];
    let output = lab.plimsoll(&[&args[..], &["--format", "json"]].concat());
    let output = output.says("v4").says("cannot be measured and is skipped; reason and last console output");
    let found = output.exits(0).json();
    assert_eq!(found["outcome"], "changed", "{found}");
    assert!(found["culprit"]["version"].as_str().is_some_and(|version| version.starts_with("v5")), "{found}");
    // Nothing is measured again.
    let again = lab.plimsoll(&args).exits(0);
    again.says("continuing after").prints("v5");
}

#[test]
fn an_experiment_with_factors_and_a_version_that_says_nothing_are_refused() {
    let lab = Lab::new().allowing("privileged");
    let versions = lab.file("versions", "6.1\n6.12\n");
    lab.plimsoll(&["bisect", "--experiment", "kernel/paths", "--versions", &versions])
        .exits(2)
        .says("kernel/paths has factors");
    let experiment = lab.file("path.toml", PATH);
    lab.plimsoll(&["bisect", "--experiment", &experiment, "--versions", &versions])
        .exits(2)
        .says("expected --setting KEY");
}
