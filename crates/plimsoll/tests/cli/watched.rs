//! What `watch` tells of the machine, as lines, as JSON, from a recording, and on a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lab::{Lab, wait_until};
use crate::live::Terminal;

/// A process that keeps a CPU busy until it is dropped.
pub(crate) struct Busy(Child);

impl Busy {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("sh");
        Self(
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().expect("a shell starts"),
        )
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn lines_name_who_uses_the_cpus_and_a_recording_replays_them() {
    let lab = Lab::new();
    let busy = Busy::start();
    let file = lab.path("it.jsonl").display().to_string();
    let json = ["watch", "--format", "json", "--every", "250ms", "--count", "12", "--record", &file];
    let output = lab.plimsoll(&json).exits(0);
    let states: Vec<serde_json::Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(states.len(), 12);
    let last = &states[11];
    assert_eq!(last["schema"], "plimsoll.watch/1");
    let cpus = last["cpus"].as_f64().unwrap();
    assert!(last["cpu_busy"].as_f64().unwrap() > 0.3 / cpus, "{last}");
    let pid = u64::from(busy.0.id());
    let is_named = |state: &serde_json::Value| {
        let used = state["processes"].as_array().unwrap().iter().find(|it| it["pid"] == pid);
        used.is_some_and(|it| it["name"] == "sh" && it["cpus"].as_f64() > Some(0.05))
    };
    assert!(states.iter().any(is_named), "{last}");
    drop(busy);

    let replayed = lab.plimsoll(&["watch", "--replay", &file, "--format", "json"]).exits(0);
    assert_eq!(replayed.stdout, output.stdout, "all is worked out from what was read");
    let lines = lab.plimsoll(&["watch", "--replay", &file, "--count", "3"]).exits(0);
    assert_eq!(lines.stdout.lines().filter(|line| line.contains("  CPU ")).count(), 3, "{}", lines.stdout);
    let size = fs::metadata(&file).unwrap().len();
    assert!(size < 2_000_000, "{size} bytes for a dozen moments: only what moved is written");
}

/// The last of the printed states.
fn last_state(lab: &Lab, of: &[&str]) -> serde_json::Value {
    let words = [&["watch", "--format", "json", "--every", "500ms", "--count", "8"], of].concat();
    let output = lab.plimsoll(&words).exits(0);
    serde_json::from_str(output.stdout.lines().last().expect("states")).expect("JSON")
}

#[test]
fn a_process_is_followed_with_the_children_that_do_its_work() {
    let lab = Lab::new();
    // Its work is done by a child of a child, beside a stranger who does as much.
    let stranger = Busy::start();
    let script = "sh -c 'sh -c \"while :; do :; done\" & wait' & wait";
    let mut command = Command::new("setsid");
    let parent = command.args(["sh", "-c", script]).stdin(Stdio::null()).spawn().expect("a shell starts");
    let parent = Busy(parent);
    let pid = parent.0.id().to_string();
    let state = last_state(&lab, &["--pid", &pid]);
    let followed = &state["followed"];
    assert_eq!(followed["processes"], 3.0, "{state}");
    assert!(followed["cpus"].as_f64().is_some_and(|cpus| (0.02..=1.1).contains(&cpus)), "{state}");
    assert!(followed["memory"].as_f64().is_some_and(|bytes| bytes > 1e5), "{state}");
    let pids: Vec<_> = state["processes"].as_array().expect("a list").iter().map(|it| &it["pid"]).collect();
    assert!(!pids.iter().any(|it| **it == stranger.0.id()), "{state}");
    let line = lab.plimsoll(&["watch", "--pid", &pid, "--every", "500ms", "--count", "3"]).exits(0).stdout;
    assert!(line.contains("process and children 0.") || line.contains("process and children 1"), "{line}");
    // The whole session goes, whose leader it is.
    let group = format!("-{pid}");
    Command::new("kill").args(["-9", "--", &group]).status().expect("kill starts");
}

#[test]
#[ignore = "needs root, to make a control group"]
fn a_control_group_of_either_version_tells_what_its_processes_use() {
    let lab = Lab::of_root();
    let busy = Busy::start();
    let name = format!("plimsoll-watched-{}", std::process::id());
    let base = Path::new("/sys/fs/cgroup");
    // Version 2 has the whole place, or the controllers of version 1 each have a part.
    let hierarchies: &[&str] =
        if base.join("cgroup.procs").exists() { &[""] } else { &["cpuacct", "memory"] };
    let groups: Vec<PathBuf> = hierarchies.iter().map(|it| base.join(it).join(&name)).collect();
    for group in &groups {
        fs::create_dir(group).expect("root may make a group");
        fs::write(group.join("cgroup.procs"), busy.0.id().to_string()).expect("and move a process into it");
    }
    let state = last_state(&lab, &["--cgroup", &name]);
    let of_process = last_state(&lab, &["--pid", &busy.0.id().to_string()]);
    drop(busy);
    for group in &groups {
        // The process may be just about to go.
        wait_until("the group is empty", || fs::remove_dir(group).is_ok());
    }
    for state in [state, of_process] {
        let group = &state["group"];
        assert!(group["cpus"].as_f64().is_some_and(|cpus| (0.02..=1.1).contains(&cpus)), "{state}");
        // Memory that it had before stays that of the group before in version 1.
        assert!(group["memory"].as_f64().is_some(), "{state}");
    }
}

#[test]
fn watching_costs_little_of_a_cpu() {
    let lab = Lab::new();
    // What a start costs is in both.
    let cost = |seconds: &str| {
        let script = format!(
            "LC_ALL=C; export LC_ALL; \"$PLIMSOLL\" watch --count {seconds} >/dev/null; cut -d' ' -f16,17 /proc/$$/stat"
        );
        let output = lab.script(&script).exits(0).stdout;
        output.split_ascii_whitespace().map(|ticks| ticks.parse::<f64>().expect("ticks") / 100.0).sum::<f64>()
    };
    // Beside other work on the same core, each instruction takes longer: the least of three counts.
    let shares: Vec<f64> = (0..3).map(|_| (cost("22") - cost("2")) / 20.0).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    // This build is not optimised, and takes up to 1.2 % on a busy machine; the benchmarks have the released one.
    assert!(least <= 0.02, "parts of a CPU: {shares:?}");
}

#[test]
fn what_cannot_be_watched_is_refused_with_what_was_expected() {
    let lab = Lab::new();
    lab.plimsoll(&["watch", "--cgroup", "no/such/group"])
        .exits(2)
        .says("expected the folder of a control group");
    lab.plimsoll(&["watch", "--pid", "4194999"]).exits(2).says("no such process");
    lab.plimsoll(&["watch", "--netns", "nowhere"]).exits(3).says("/run/netns/nowhere");
    lab.plimsoll(&["watch", "--every", "1ms"]).exits(2).says("expected 100ms or more");
    let text = lab.file("text", "not a recording\n");
    lab.plimsoll(&["watch", "--replay", &text]).exits(2).says("is no recording");
}

#[test]
#[ignore = "needs root"]
fn a_network_namespace_is_named_of_by_its_own_counters() {
    let lab = Lab::of_root();
    let talk = "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nwhile 1: s.sendto(b\"x\",(\"127.0.0.1\",9)); time.sleep(0.01)";
    let script = format!(
        "unshare --net sh -c 'ip link set lo up && exec timeout 60 python3 -c \"$0\"' '{talk}' & \
         sleep 2; $PLIMSOLL watch --netns $! --every 500ms --count 2 --format json; code=$?; kill $!; exit $code"
    );
    let output = lab.script(&script).exits(0);
    let last: serde_json::Value =
        output.stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok()).expect("a state");
    let names: Vec<&str> =
        last["interfaces"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["lo"], "{last}");
}

#[test]
fn a_terminal_shows_the_host_and_a_recording_can_be_gone_through() {
    let lab = Lab::new();
    let file = lab.path("it.jsonl").display().to_string();
    for columns in [60, 120] {
        let command = format!("{} watch --every 300ms --record {file}", env!("CARGO_BIN_EXE_plimsoll"));
        let terminal = Terminal::start(&lab, columns, &command);
        let screen = terminal.wait_for("What holds it down");
        let wide = screen.lines().filter(|line| line.chars().count() > columns as usize).count();
        assert!(wide == 0 && screen.contains("CPU") && screen.contains("of a CPU"), "{screen}");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        terminal.press("q");
        terminal.wait_for("exit status 0");
        assert!(terminal.is_given_back());
        drop(terminal);
        let terminal = Terminal::start(
            &lab,
            columns,
            &format!("{} watch --replay {file}", env!("CARGO_BIN_EXE_plimsoll")),
        );
        terminal.wait_for("●");
        terminal.press("End");
        terminal.wait_for("● ");
        terminal.press("Home");
        terminal.wait_for(" 1/");
        terminal.press("Right");
        terminal.wait_for(" 2/");
        terminal.press("C-c");
        terminal.wait_for("exit status 130");
        assert!(terminal.is_given_back());
    }
}

#[test]
fn what_a_machine_does_is_kept_within_its_bound_and_printed() {
    let lab = Lab::of_ordinary_user();
    let weeks = lab.path("weeks.sqlite").display().to_string();
    for _ in 0..2 {
        lab.plimsoll(&["watch", "--keep", "400d", "--into", &weeks, "--count", "2"])
            .exits(0)
            .says("keeping what");
    }
    lab.plimsoll(&["watch", "--kept", &weeks]).exits(0).prints("series from").prints("no change was found");
    lab.plimsoll(&["watch", "--keep", "400", "--into", &weeks]).exits(2).says("1d to 4000d was expected");
    let small = ["watch", "--keep", "4d", "--bound", "1M", "--into", &weeks];
    lab.plimsoll(&small).exits(2).says("expected 10M or more");
    let other = lab.file("other.sqlite", &"no file of weeks, whatever its name says ".repeat(10));
    lab.plimsoll(&["watch", "--kept", &other]).exits(3);
    let unit = lab.plimsoll(&["watch", "--unit", "--keep", "30d"]).exits(0).stdout;
    assert!(unit.contains("watch --keep 30d --bound 95M --into /var/lib/plimsoll/weeks.sqlite"), "{unit}");
}
