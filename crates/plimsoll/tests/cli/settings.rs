//! Settings that an experiment changes on the machine, and the CPUs that it takes.

use std::fs;

use nix::sys::signal::Signal;

use crate::lab::{Lab, wait_until};

/// A setting of the whole machine that can be changed for a moment without harm: how often its statistics are brought up to date, in s.
const SETTING: &str = "vm.stat_interval";
const FILE: &str = "/proc/sys/vm/stat_interval";

/// An experiment with a host, and a load of this duration.
fn experiment(host: &str, service: &str, duration: &str) -> String {
    format!(
        r#"
question = "What does a host get?"
[hosts.server]
{host}
[services.web]
on = "server"
{service}
[loads.few]
from = "server"
to = "web"
http = {{ duration = "{duration}" }}
[[phases]]
name = "all"
measure = "few"
[run]
max_trials = 1
"#
    )
}

fn setting() -> String {
    fs::read_to_string(FILE).expect("every kernel has it").trim().to_owned()
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_setting_of_the_machine_is_put_back_after_the_run_and_after_it_is_killed() {
    let lab = Lab::of_root().allowing("machine");
    let before = setting();
    let other: u32 = before.parse::<u32>().expect("a number") + 3;
    let host = format!("sysctls = {{ \"{SETTING}\" = {other} }}");
    let long = lab.file("long.toml", &experiment(&host, "web = {}", "60s"));
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let run = lab.start(&["run", &long]);
        wait_until("the setting is changed", || setting() == other.to_string());
        run.signal(signal);
        run.ends();
        wait_until("the setting is put back", || setting() == before);
    }
    let short = lab.file("short.toml", &experiment(&host, "web = {}", "100ms"));
    lab.plimsoll(&["run", &short]).exits(0);
    assert_eq!(setting(), before);
    // A setting that cannot be written leaves the others unchanged.
    let absent = format!("sysctls = {{ \"{SETTING}\" = {other}, \"vm.zz_no_such\" = 1 }}");
    let absent = lab.file("absent.toml", &experiment(&absent, "web = {}", "1s"));
    lab.plimsoll(&["run", &absent]).exits(3).says("vm.zz_no_such");
    assert_eq!(setting(), before);
}

#[test]
fn a_setting_of_the_machine_needs_root_and_the_run_says_so() {
    let lab = Lab::of_ordinary_user().allowing("machine");
    let host = format!("sysctls = {{ \"{SETTING}\" = 7 }}");
    let experiment = lab.file("setting.toml", &experiment(&host, "web = {}", "1s"));
    lab.plimsoll(&["run", &experiment]).exits(3).says(SETTING).says("only root");
}

#[test]
fn a_host_gets_as_many_cpus_as_it_is_to_have_and_no_more_than_there_are() {
    let lab = Lab::new();
    // The program prints how many CPUs it may use, and ends.
    let prints = "exec = [\"sh\", \"-c\", \"nproc >&2; exit 1\"]\nready = { http = \"/\" }";
    let one = lab.file("one.toml", &experiment("cpus = 1", prints, "1s"));
    lab.plimsoll(&["run", &one]).exits(3).says("it wrote: 1");
    for (cpus, expected) in
        [("cpus = 100000", "is to have 100000 CPUs"), ("cpus = [100000]", "the CPU 100000")]
    {
        let many = lab.file("many.toml", &experiment(cpus, "web = {}", "1s"));
        lab.plimsoll(&["run", &many]).exits(3).says(expected);
    }
    let none = lab.file("none.toml", &experiment("cpus = 0", "web = {}", "1s"));
    lab.plimsoll(&["check", &none]).exits(2).says("cpus").says("a number from 1");
}
