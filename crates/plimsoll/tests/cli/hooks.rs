//! Hooks: programs around measurements, on hosts and in phases.

use std::fs;

use nix::sys::signal::Signal;

use crate::lab::{Lab, wait_until};

fn with_hooks(log: &str, phase: &str) -> String {
    let note =
        |what: &str| format!("{{ privileged = true, command = [\"sh\", \"-c\", \"echo {what} >> {log}\"] }}");
    let on = |what: &str| note(what).replacen("{ ", "{ on = \"server\", ", 1);
    format!(
        r#"
question = "In what order do hooks run?"
[hosts.client]
[hosts.server]
prepare = [{}]
before_each = [{}]
after_each = [{}]
cleanup = [{}]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = {{}}
[loads.some]
from = "client"
to = "web"
http = {{ connections = 10 }}
[loads.long]
from = "client"
to = "web"
http = {{ duration = "60s" }}
[[phases]]
name = "all"
{phase}
prepare = [{}]
before_each = [{}]
after_each = [{}]
cleanup = [{}]
[run]
max_trials = 1
"#,
        note("host-prepare"),
        note("host-before"),
        note("host-after"),
        note("host-cleanup"),
        on("phase-prepare"),
        on("slice-before"),
        on("slice-after"),
        on("phase-cleanup"),
    )
}

#[test]
fn hooks_run_in_order_and_are_listed_before() {
    let lab = Lab::of_ordinary_user();
    let log = lab.path("log").display().to_string();
    let file = lab.file("hooks.toml", &with_hooks(&log, "measure = \"some\"\nslices = 2"));
    lab.plimsoll(&["describe", &file])
        .exits(0)
        .prints("prepare on server: sh")
        .prints("before each on server");
    lab.plimsoll(&["run", &file]).exits(2).says("all rights");
    lab.plimsoll(&["run", &file, "--yes"]).exits(0);
    let written = fs::read_to_string(&log).expect("hooks wrote it");
    let order = "host-prepare host-before phase-prepare slice-before slice-after slice-before slice-after \
                 phase-cleanup host-after host-cleanup";
    assert_eq!(written.split_whitespace().collect::<Vec<_>>().join(" "), order);
}

#[test]
fn cleaning_up_is_done_after_ctrl_c_as_well() {
    let lab = Lab::of_ordinary_user();
    let log = lab.path("log");
    let file = lab.file("hooks.toml", &with_hooks(&log.display().to_string(), "measure = \"long\""));
    let run = lab.start(&["run", &file, "--yes"]);
    let says = |what: &str| fs::read_to_string(&log).is_ok_and(|text| text.contains(what));
    wait_until("the load runs", || says("slice-before"));
    run.signal(Signal::SIGINT);
    run.ends().exits(130);
    assert!(says("phase-cleanup") && says("host-cleanup"), "{:?}", fs::read_to_string(&log));
}

#[test]
fn a_hook_that_fails_ends_the_run_with_its_last_words_and_what_cleans_up_runs_all_the_same() {
    let lab = Lab::of_ordinary_user();
    let log = lab.path("log").display().to_string();
    let fails = with_hooks(&log, "measure = \"some\"")
        .replace(&format!("echo slice-before >> {log}"), "echo there is no table >&2; exit 3");
    let file = lab.file("fails.toml", &fails);
    let output = lab.plimsoll(&["run", &file, "--yes"]).exits(3);
    output.says("phases.all.before_each").says("there is no table");
    let written = fs::read_to_string(&log).expect("hooks wrote it");
    assert!(written.contains("phase-cleanup") && written.contains("host-cleanup"), "{written}");
}
