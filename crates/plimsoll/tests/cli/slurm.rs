//! Machines that Slurm hands out.

use nix::sys::signal::Signal;

use crate::cluster::Cluster;
use crate::lab::wait_until;
use crate::reached;

/// A web server and a client, each on a machine that Slurm chooses.
fn pair() -> String {
    let client = r#"{ slurm = { partition = "main", time_limit = "5m", start_within = "30s" } }"#;
    reached::pair("Does a server on a machine of the cluster answer?", client, r#"{ slurm = {} }"#)
}

#[test]
#[ignore = "needs root and Slurm; cargo xtask test has both"]
fn machines_are_handed_out_by_slurm_for_the_whole_run_and_given_back_however_it_ends() {
    let cluster = Cluster::new(&["n1", "n2"]);
    let lab = cluster.lab();
    let experiment = lab.file("pair.toml", &pair());
    lab.plimsoll(&["describe", &experiment]).exits(0).prints("reached by Slurm (partition main)");
    let report =
        lab.plimsoll_until_decided(&["run", &experiment, "--yes", "--format", "json"]).exits(0).json();
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2);
    // Both trials were on the same two machines, each with the whole of it.
    let notes = report["notes"].as_array().expect("notes");
    let machines: Vec<&str> = notes
        .iter()
        .filter_map(|note| note["text"].as_str())
        .filter(|note| note.contains("the machine `"))
        .collect();
    assert_eq!(machines.len(), 2, "{notes:?}");
    for node in ["n1", "n2"] {
        let expected = format!("the machine `{node}`, reached by Slurm");
        assert!(machines.iter().any(|note| note.contains(&expected)), "{machines:?}");
    }
    assert!(machines.iter().all(|note| note.contains("brought along")), "{machines:?}");
    assert_eq!(cluster.queue(), "");
    // A missing partition is named, and `start_within` limits the wait for a machine.
    let lost = lab.file("lost.toml", &pair().replace("\"main\"", "\"nowhere\""));
    lab.plimsoll(&["run", &lost, "--yes"])
        .exits(3)
        .says("host client: Slurm hands out no machine for it")
        .says("invalid partition specified: nowhere")
        .says("try: `sinfo` lists the available resources");
    let third = pair().replace("[services.site]", "[hosts.third]\nreach = { slurm = {} }\n[services.site]");
    let soon = third.replace("\"30s\"", "\"2s\"").replace("slurm = {}", "slurm = { start_within = \"2s\" }");
    lab.plimsoll(&["run", &lab.file("soon.toml", &soon), "--yes"])
        .exits(3)
        .says("Slurm handed out no machine for it within 2 s")
        .says("queued and waiting for resources");
    assert_eq!(cluster.queue(), "");
    // Whatever ends the run ends its jobs, also while one of them waits.
    let endless = pair().replace("_trials = 2", "_trials = 500");
    let runs = |text: &str, signal: Signal, jobs: usize| {
        let run = lab.start(&["run", &lab.file("endless.toml", text), "--yes"]);
        wait_until("its jobs are there", || cluster.queue().lines().count() == jobs);
        run.signal(signal);
        let output = run.ends();
        wait_until("no job is left", || cluster.queue().is_empty());
        output
    };
    let third = third.replace("\"30s\"", "\"5m\"");
    runs(&third, Signal::SIGKILL, 3);
    runs(&third, Signal::SIGINT, 3).exits(130);
    runs(&endless, Signal::SIGKILL, 2);
    for node in ["n1", "n2"] {
        wait_until("no agent is left", || cluster.processes(node, "agent").is_empty());
    }
    // A machine that goes down ends the run, which keeps earlier measurements.
    let run = lab.start(&["run", &lab.file("endless.toml", &endless), "--yes"]);
    wait_until("a trial has ended", || {
        lab.stored().is_some_and(|report| report["trials"].as_array().is_some_and(|trials| trials.len() > 1))
    });
    cluster.kill("n2");
    run.ends().exits(3);
    let report = lab.stored().expect("it is stored");
    assert_eq!(report["trials"][0]["faults"].to_string(), "[]", "{report}");
    wait_until("no job is left", || cluster.queue().is_empty());
}
