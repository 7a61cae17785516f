//! Files of runs: their readers, and the process that owns a run.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::experiments::long_flood;
use crate::lab::{Lab, Printed, wait_until};

/// A very short experiment.
pub(crate) const SHORT: &str = r#"
question = "How fast is it?"
[hosts.server]
[services.web]
on = "server"
web = {}
[loads.few]
from = "server"
to = "web"
http = { connections = 20 }
[[phases]]
name = "all"
measure = "few"
[run]
max_trials = 1
"#;

/// Reads a store with all commands that do.
fn read(lab: &Lab, store: &str) {
    let show = |args: &[&str]| -> Printed { lab.plimsoll(&[args, &["--store", store]].concat()).exits(0) };
    show(&["history"]).prints("complete");
    show(&["show", "latest"]).prints("How fast is it?");
    show(&["show", "latest", "--format", "html"]).prints("How fast is it?");
    show(&["gate", "latest", "--format", "junit"]);
}

#[test]
fn runs_are_read_where_nothing_may_be_written() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("short.toml", SHORT);
    let store = lab.path("kept/runs.sqlite").display().to_string();
    lab.plimsoll(&["run", &experiment, "--store", &store]).exits(0);
    let mode = |path: &str, mode| {
        fs::set_permissions(lab.path(path), fs::Permissions::from_mode(mode)).expect("allowed");
    };
    mode("kept/runs.sqlite", 0o444);
    read(&lab, &store);
    mode("kept", 0o555);
    read(&lab, &store);
    mode("kept/runs.sqlite", 0o644);
    read(&lab, &store);
    let beside = fs::read_dir(lab.path("kept")).expect("readable").flatten().map(|entry| entry.file_name());
    let mut beside: Vec<_> = beside.collect();
    beside.sort();
    assert_eq!(beside, ["reports", "runs.sqlite", "runs.sqlite-claims"], "reading leaves nothing");
    // An unreadable store is reported.
    mode("kept/runs.sqlite", 0o000);
    lab.plimsoll(&["history", "--store", &store])
        .exits(3)
        .says("cannot keep runs in")
        .says("ermission denied");
    mode("kept", 0o755);
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn another_users_runs_are_read_while_they_go_on_and_after_they_were_killed() {
    let (root, user) = (Lab::of_root(), Lab::of_ordinary_user());
    fs::set_permissions(root.folder(), fs::Permissions::from_mode(0o755)).expect("allowed");
    let experiment = root.file("short.toml", SHORT);
    root.plimsoll(&["run", &experiment]).exits(0);
    let store = root.path("state/plimsoll/runs.sqlite").display().to_string();
    read(&user, &store);
    let long = root.file("long.toml", &long_flood());
    let run = root.start(&["run", &long]);
    root.wait_for_the_flood();
    let shown_as = |status: &str| {
        user.plimsoll(&["show", "latest", "--store", &store]).exits(0).prints("baseline");
        user.plimsoll(&["history", "--store", &store]).exits(0).prints(status);
    };
    shown_as("running");
    run.signal(Signal::SIGKILL);
    run.ends();
    shown_as("interrupted");
    // The user could not have changed anything.
    user.plimsoll(&["run", "--resume", "--store", &store]).exits(3).says("cannot");
}

/// A file of four runs, without stacks and without the machine's names.
const STORED_RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/stored/runs.sqlite.gz");

/// Verdicts of the version that measured the runs: claim, outcome, estimate, and whether the claim holds.
const ANSWERS: [(&str, &str, &str, f64, Option<bool>); 4] = [
    ("xbfcwz18", "recovery", "not_recovered", 0.275_461_347_284_135_8, Some(false)),
    ("vks6tahx", "limit", "estimated", 267.143_127_941_781_53, Some(true)),
    ("pz91sh5w", "modes", "several_modes", 375.199_476_720_139_2, Some(true)),
    ("frr1yy2c", "knee", "estimated", 48_268_800.797_501_065, None),
];

/// Puts it into the lab, and returns its name.
pub(crate) fn stored_runs(lab: &Lab) -> String {
    let store = lab.path("stored.sqlite");
    let unpacked = File::create(&store).expect("a file of its own");
    let gzip = Command::new("gzip").args(["-dc", STORED_RUNS]).stdout(unpacked).status().expect("gzip runs");
    assert!(gzip.success());
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).expect("allowed");
    store.display().to_string()
}

#[test]
fn runs_stored_long_ago_are_judged_as_they_were() {
    let lab = Lab::of_ordinary_user();
    let store = stored_runs(&lab);
    let show = |run: &str, format: &str| {
        lab.plimsoll(&["show", "--store", &store, run, "--format", format]).exits(0)
    };
    let mut reports = Vec::new();
    for (run, claim, outcome, estimate, holds) in ANSWERS {
        let report = show(run, "json").json();
        assert_eq!(report["schema"], "plimsoll.run/2");
        let [verdict] = &report["verdicts"].as_array().expect("verdicts")[..] else { panic!("{report}") };
        assert_eq!((verdict["claim"].as_str(), verdict["outcome"].as_str()), (Some(claim), Some(outcome)));
        let found = verdict["estimate"].as_f64().expect("an estimate");
        assert!((found / estimate - 1.0).abs() < 1e-9, "{run}: {found} and {estimate}");
        assert_eq!(verdict["holds"].as_bool(), holds, "{run}");
        assert_eq!(verdict["claim_number"], 1);
        show(run, "text").prints(report["question"].as_str().expect("a question"));
        show(run, "html").prints("</html>");
        reports.push(report);
    }
    let [recovery, limit, modes, knee] = &reports[..] else { panic!("four") };
    let details = |report: &serde_json::Value, list: &str| {
        report["verdicts"][0]["details"][list].as_array().map(Vec::len).expect(list)
    };
    assert_eq!(recovery["state_lives_in"], "service");
    assert_eq!(recovery["causes"][0]["id"], "service.state_grows");
    assert_eq!((details(recovery, "cycles"), details(limit, "probes")), (1, 27));
    assert_eq!((details(modes, "values"), details(knee, "points")), (100, 6));
    let kinds: Vec<&str> =
        modes["notes"].as_array().expect("notes").iter().filter_map(|note| note["kind"].as_str()).collect();
    assert!(kinds.contains(&"other_processes"), "{}", modes["notes"]);
}

#[test]
fn where_no_run_was_stored_there_is_none_to_read_and_no_file_is_made() {
    let lab = Lab::of_ordinary_user();
    lab.plimsoll(&["history"]).exits(0).prints_nothing();
    lab.plimsoll(&["show", "latest"]).exits(2).says("there is no run and no baseline `latest`");
    assert!(!lab.path("state").exists());
}

#[test]
fn a_run_that_is_still_going_is_not_resumed_and_one_that_was_killed_is() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("small.toml", &long_flood());
    let run = lab.start(&["run", &experiment]);
    lab.wait_for_the_flood();
    let holder = format!("is being carried out by process {}", run.id());
    lab.plimsoll(&["run", "--resume"]).exits(3).prints_nothing().says(&holder);
    assert!(
        lab.stored().is_some_and(|report| report["trials"][0]["phases"][0].is_object()),
        "it has all it had"
    );
    lab.plimsoll(&["history"]).exits(0).prints(" running ");
    lab.plimsoll(&["show"]).exits(0).prints("The run is still going on: 1 trial is stored so far.");
    run.signal(Signal::SIGKILL);
    run.ends();
    lab.plimsoll(&["history"]).exits(0).prints(" interrupted ");
    lab.plimsoll(&["show", "--format", "json"]).exits(0).prints("\"status\": \"interrupted\"");
    let again = lab.start(&["run", "--resume"]);
    // It claims the run before it sets up hosts. A second one that asked earlier would carry the run out itself.
    wait_until("the resumed run sets up its hosts", || again.has_started_processes());
    let holder = format!("is being carried out by process {}", again.id());
    lab.plimsoll(&["run", "--resume"]).exits(3).prints_nothing().says(&holder);
    again.signal(Signal::SIGINT);
    again.ends().exits(130);
}
