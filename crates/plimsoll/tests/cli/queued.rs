//! Runs that Slurm carries out: blocks of trials as tasks, each on one machine.

use std::collections::{BTreeMap, BTreeSet};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::lab::{Lab, wait_until};

/// Two factors of two levels each, and three trials of each of the four cells.
pub(crate) const SWEEP: &str = r#"
question = "Do all four ways of asking come without errors?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.site]
on = "server"
web = {}
[loads.users]
from = "client"
to = "site"
http = { duration = "300ms" }
[factors.clients]
set = "loads.users.http.concurrency"
levels = [1, 4]
[factors.size]
set = "services.site.web.document"
levels = ["10B", "2kB"]
[[phases]]
name = "all"
measure = "users"
slices = 2
[[claims]]
limit = { metric = "error_share", below = "2 %" }
[run]
min_trials = 3
max_trials = 3
"#;

/// Trials of a report: their numbers, each once, and the number of trials of each cell.
fn counted(report: &Value) -> (Vec<u64>, BTreeMap<String, usize>) {
    let trials = report["trials"].as_array().expect("trials");
    let numbers = trials.iter().filter_map(|trial| trial["number"].as_u64()).collect();
    let mut cells = BTreeMap::new();
    for trial in trials {
        assert_eq!(trial["faults"].to_string(), "[]", "{trial}");
        *cells.entry(trial["cell"].to_string()).or_default() += 1;
    }
    (numbers, cells)
}

/// Requires every trial of the sweep once, and each of its four cells three times.
pub(crate) fn has_all_trials_once(report: &Value) {
    let (numbers, cells) = counted(report);
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>(), "every trial once");
    assert!(cells.len() == 4 && cells.values().all(|times| *times == 3), "{cells:?}");
}

/// Starts the sweep on a queue that runs one block after the other, and interrupts it after one or two: they are kept.
pub(crate) fn is_interrupted_between_blocks(lab: &Lab, sweep: &str, on: &str) {
    let run = lab.start(&["run", sweep, "--on", on, "--format", "json"]);
    let stored = || lab.stored().and_then(|report| Some(report["trials"].as_array()?.len())).unwrap_or(0);
    wait_until("a block is stored", || stored() > 0);
    run.signal(Signal::SIGINT);
    let output = run.ends().exits(130).says("interrupted; continue with: plimsoll run --resume");
    let output = output.says(&format!(" --on {on}"));
    let (before, _) = counted(&output.json());
    assert!(before == (1..=4).collect::<Vec<_>>() || before == (1..=8).collect::<Vec<_>>(), "{before:?}");
}

/// Blocks per machine, from the report's notes.
pub(crate) fn machines(report: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let notes = report["notes"].as_array().expect("notes");
    let carried_out = notes
        .iter()
        .filter_map(|note| note["text"].as_str())
        .filter_map(|note| note.split_once(" carried out on the machine `"));
    let mut machines: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (blocks, machine) in carried_out {
        let blocks = blocks.trim_start_matches("blocks ").trim_start_matches("block ").split(", ");
        machines
            .entry(machine.trim_end_matches('`').to_owned())
            .or_default()
            .extend(blocks.map(ToOwned::to_owned));
    }
    machines
}

fn has_begun(cluster: &Cluster, lab: &Lab, node: &str) -> bool {
    let pattern = lab.path("state/plimsoll/queue/*/block-*");
    !cluster.slurm(&format!("ls -d {}/{node}/trial-* 2>/dev/null", pattern.display())).is_empty()
}

#[test]
fn what_no_queue_can_carry_out_is_named_before_anything_is_submitted() {
    let lab = Lab::new();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/slurm.toml");
    lab.plimsoll(&["check", shipped]).exits(0).prints("4 cells");
    let without = format!("PATH=/nowhere \"$PLIMSOLL\" run {shipped} --on slurm");
    lab.script(&without).exits(3).says("starting squeue: No such file").says("apt-get install slurm-client");
    let here = "reach = { command = [\"plimsoll\", \"agent\"] }\nallow = [\"root\"]\n";
    let remote = SWEEP.replace("[hosts.client]\n", &format!("[hosts.client]\n{here}"));
    let remote = remote.replace("[hosts.server]\n", &format!("[hosts.server]\n{here}"));
    let remote = remote.replace("[[links]]\nbetween = [\"client\", \"server\"]\n", "");
    lab.plimsoll(&["run", &lab.file("remote.toml", &remote), "--on", "slurm"])
        .exits(2)
        .says("its hosts are existing machines");
    let captures = SWEEP.replace("[[phases]]", "[capture]\n[[phases]]");
    lab.plimsoll(&["run", &lab.file("captures.toml", &captures), "--on", "slurm"])
        .exits(2)
        .says("it captures packets");
    lab.plimsoll(&["run", shipped, "--on", "slurm:at_once=0"]).exits(2).says("expected a number from 1");
}

#[test]
#[ignore = "needs root and Slurm; cargo xtask test has both"]
fn a_sweep_on_a_queue_loses_a_node_in_the_middle_and_nothing_else() {
    let cluster = Cluster::new(&["n1", "n2", "n3"]);
    let lab = cluster.lab();
    let sweep = lab.file("sweep.toml", SWEEP);
    let run = lab.start(&["run", &sweep, "--on", "slurm:partition=main", "--seed", "7", "--format", "json"]);
    wait_until("a trial has ended on n2", || has_begun(&cluster, &lab, "n2"));
    cluster.kill("n2");
    let output = run.ends();
    let report = output.json();
    has_all_trials_once(&report);
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts.len() == 4 && verdicts.iter().all(|verdict| verdict["outcome"] == "held"),
        "{verdicts:?}"
    );
    assert_eq!(output.code, Some(0));
    // Each block was on one machine, and the one that was begun on n2 on another.
    let machines = machines(&report);
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["n1", "n3"], "{}", report["notes"]);
    assert_eq!(machines.values().map(BTreeSet::len).sum::<usize>(), 3, "{machines:?}");
    assert!(report["notes"].to_string().contains("was submitted again"), "{}", report["notes"]);
    assert_eq!(cluster.queue(), "");
    lab.plimsoll(&["gate", "latest"]).exits(0);
    assert!(
        !lab.path("state/plimsoll/queue").exists()
            || lab.path("state/plimsoll/queue").read_dir().unwrap().next().is_none()
    );
    // The order within each block is the seed's: a run here has the same.
    let here = lab.plimsoll(&["run", &sweep, "--seed", "7", "--reps", "1", "--format", "json"]).json();
    let order = |report: &Value| {
        let trials = report["trials"].as_array().expect("trials").iter();
        trials.map(|trial| trial["cell"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(order(&report)[..4], order(&here));
}

#[test]
#[ignore = "needs root and Slurm; cargo xtask test has both"]
fn blocks_beyond_what_an_array_of_slurms_has_are_carried_out_as_well() {
    let cluster = Cluster::new(&["n1", "n2", "n3"]);
    let lab = cluster.lab();
    // One cell, so that a block is one trial.
    let (hosts, rest) = SWEEP.split_once("[factors.clients]").expect("factors");
    let (_, phases) = rest.split_once("[[phases]]").expect("phases");
    let beyond =
        format!("{hosts}[[phases]]{phases}").replace("300ms", "100ms").replace("_trials = 3", "_trials = 12");
    let beyond = lab.file("beyond.toml", &beyond);
    let run = lab.start(&["run", &beyond, "--on", "slurm", "--format", "json"]);
    // The blocks 10 to 12 are the tasks 0 to 2 of an array of their own; a controller that goes on knows them as well.
    wait_until("a block of the second array runs", || {
        cluster.slurm("squeue --noheader --array --format '%K %T %k'").contains("RUNNING plimsoll-first=10")
    });
    run.signal(Signal::SIGKILL);
    assert_eq!(run.ends().code, None);
    let report = lab.plimsoll(&["run", "--resume", "latest", "--yes", "--format", "json"]).exits(0).json();
    let (numbers, _) = counted(&report);
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>(), "every trial once");
    assert!(!report["notes"].to_string().contains("was submitted again"), "{}", report["notes"]);
    assert_eq!(cluster.queue(), "");
    // With two tasks at once, the second array waits for the first.
    let output = lab.plimsoll(&["run", &beyond, "--on", "slurm:at_once=2", "--format", "json"]).exits(0);
    assert_eq!(counted(&output.json()).0.len(), 12);
}

#[test]
#[ignore = "needs root and Slurm; cargo xtask test has both"]
fn a_sweep_is_cancelled_resumed_and_reports_what_the_queue_refuses() {
    let cluster = Cluster::new(&["n1"]);
    let lab = cluster.lab();
    let sweep = lab.file("sweep.toml", SWEEP);
    let on = |what: &str| lab.plimsoll(&["run", &sweep, "--on", what]);
    on("slurm:partition=nowhere")
        .exits(3)
        .says("sbatch failed")
        .says("invalid partition specified: nowhere")
        .says("`sinfo` lists");
    on("pbs").exits(2).says("`pbs` is no queue");
    // Somebody else has the only machine.
    cluster.slurm("sbatch --exclusive --output=/dev/null --wrap 'exec sleep 600'");
    on("slurm:start_within=2s").exits(3).says("the queue started nothing within 2 s: the first task waits");
    assert_eq!(cluster.queue().lines().count(), 1, "{}", cluster.queue());
    cluster.slurm("scancel --me");
    // With one machine, one block comes after the other; Ctrl-C in the second keeps the first.
    is_interrupted_between_blocks(&lab, &sweep, "slurm");
    wait_until("no job is left", || cluster.queue().is_empty());
    // The store names the queue; a user who resumes must repeat it.
    lab.plimsoll(&["run", "--resume", "latest"])
        .exits(2)
        .says("the run was begun with `--on slurm`")
        .says("repeat `--on`, or say `--yes`");
    assert_eq!(cluster.queue(), "");
    // A controller that is killed leaves its tasks, and the next one finds them.
    let run = lab.start(&["run", "--resume", "latest", "--yes"]);
    wait_until("a task runs", || cluster.queue().contains("RUNNING"));
    run.signal(Signal::SIGKILL);
    assert_eq!(run.ends().code, None);
    assert!(cluster.queue().contains("RUNNING"), "{}", cluster.queue());
    let report = lab.plimsoll(&["run", "--resume", "latest", "--yes", "--format", "json"]).exits(0).json();
    has_all_trials_once(&report);
    // An error in a task is reported as a local one, with the machine's name.
    let broken = SWEEP
        .replace("web = {}", "exec = [\"/nowhere/at-all\"]")
        .replace("services.site.web.document", "loads.users.http.generators")
        .replace("[\"10B\", \"2kB\"]", "[1, 2]");
    lab.plimsoll(&["run", &lab.file("broken.toml", &broken), "--on", "slurm"])
        .exits(3)
        .says("on the machine `n1`: the service `site` on `server`")
        .says("/nowhere/at-all");
    assert_eq!(cluster.queue(), "");
}
