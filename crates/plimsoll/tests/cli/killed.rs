//! `kill -9`: only stored results of the run are left on the machine.

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use plimsoll_host::MARKER;

use crate::experiments::long_flood;
use crate::lab::{Lab, baseline_of, verdict_of, wait_until};
use crate::machine;
use crate::stores::SHORT;

/// Deadline for all remains to disappear after the controller's death.
const NOTHING_LEFT_AFTER: Duration = Duration::from_secs(2);

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn of_a_run_of_root_that_is_killed_nothing_is_left_but_what_it_stored() {
    killed_in_a_flood(&Lab::of_root(), 6);
}

#[test]
fn of_a_users_run_that_is_killed_nothing_is_left_but_what_it_stored() {
    killed_in_a_flood(&Lab::of_ordinary_user(), 6);
}

#[test]
fn of_a_run_on_local_hosts_that_is_killed_nothing_is_left_but_what_it_stored() {
    killed_in_a_flood(&Lab::of_ordinary_user().without_user_namespaces(), 0);
}

/// Kills a run while its relays fork. Two rigs of three hosts each have `networks` networks of their own.
fn killed_in_a_flood(lab: &Lab, networks: usize) {
    let interfaces = machine::interfaces();
    let experiment = lab.file("small.toml", &long_flood());
    let run = lab.start(&["run", &experiment]);
    let baseline = lab.wait_for_the_flood();
    let before = machine::processes_of(run.id());
    assert!(before.len() > 40, "two rigs of three agents and their services: {}", before.len());
    let inside = machine::networks_of(run.id());
    assert_eq!(inside.len(), networks);

    let controller = run.id();
    run.signal(Signal::SIGKILL);
    let killed = Instant::now();
    assert_eq!(run.ends().code, None, "a signal ended it");
    while killed.elapsed() < NOTHING_LEFT_AFTER && !machine::processes_of(controller).is_empty() {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(machine::processes_of(controller), [] as [u32; 0], "processes are left");
    wait_until("what is being taken apart is gone", || machine::processes_in(&inside).is_empty());
    let more: Vec<String> = machine::interfaces().difference(&interfaces).cloned().collect();
    assert_eq!(more, [] as [String; 0], "links are left");
    assert_eq!(machine::control_groups_of(controller), [] as [String; 0], "control groups are left");
    wait_until("the doctor finds nothing", || {
        let output = lab.plimsoll(&["doctor", "--dry-run"]).exits(0);
        output.stdout.contains("leftovers        none")
    });

    let shown = lab.plimsoll(&["show", "--format", "json"]).exits(0).json();
    assert_eq!(shown["status"], "interrupted");
    assert_eq!(verdict_of(&shown)["outcome"], "undecided");
    assert_eq!(baseline_of(&shown), baseline, "what had ended is stored");
    let finished = lab.plimsoll(&["run", "--resume", "--format", "json"]).exits(0).json();
    assert_eq!(finished["run"], shown["run"]);
    assert_eq!(verdict_of(&finished)["outcome"], "recovered");
}

#[test]
fn the_doctor_names_a_process_that_was_left_and_removes_it_except_in_a_dry_run() {
    let lab = Lab::new();
    let mut orphan = orphan();
    let line = format!("process {}: sleep 60", orphan.id());
    lab.plimsoll(&["doctor", "--dry-run"]).exits(0).prints(&line);
    assert!(orphan.try_wait().expect("asked").is_none(), "it was left alone");
    lab.plimsoll(&["doctor"]).exits(0).prints(&line);
    let status = orphan.wait().expect("it ends");
    assert!(!status.success(), "it was killed: {status}");
}

/// Changes bytes of the store, as a broken disk does.
const DAMAGE: &str = r#"
import sqlite3
store = sqlite3.connect("state/plimsoll/runs.sqlite")
store.execute("update runs set status = 'nonsense'")
store.commit()
"#;

#[test]
fn a_damaged_store_does_not_keep_the_doctor_from_what_was_left() {
    let lab = Lab::new();
    let experiment = lab.file("short.toml", SHORT);
    lab.plimsoll(&["run", &experiment]).exits(0);
    lab.file("damage.py", DAMAGE);
    lab.script("python3 damage.py").exits(0);
    lab.plimsoll(&["history"]).exits(3).says("unknown variant `nonsense`");
    let mut orphan = orphan();
    let line = format!("process {}: sleep 60", orphan.id());
    lab.plimsoll(&["doctor"]).exits(0).prints("cannot be read:").prints(&line);
    assert!(!orphan.wait().expect("it ends").success(), "it was killed");
}

/// A process with the mark of an ended controller.
fn orphan() -> Child {
    let mut controller = Command::new("true").spawn().expect("it starts");
    controller.wait().expect("it ends");
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("readable");
    let namespace = namespace.to_str().and_then(|text| text.strip_prefix("pid:[")?.strip_suffix(']'));
    let mark = format!("{}:1:{}", controller.id(), namespace.expect("pid:[NUMBER]"));
    Command::new("sleep").arg("60").env(MARKER, mark).spawn().expect("it starts")
}
