//! Killed `plimsoll compare` and `plimsoll bisect` take down their commands.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::{Lab, Process, wait_until};

/// Deadline for all processes to disappear after the program's death.
const NOTHING_LEFT_AFTER: Duration = Duration::from_secs(5);

/// A time to sleep that only this test uses, by which its processes are known.
fn own_sleep(of_test: u32) -> String {
    format!("{}.{of_test}", 1_000_000 + std::process::id())
}

/// The processes that sleep for this time.
fn sleepers(time: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("readable").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let sleeps = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
            line.starts_with(b"sleep\0") && line.split(|byte| *byte == 0).any(|word| word == time.as_bytes())
        })
    };
    pids.filter(sleeps).collect()
}

/// A script with a sleeper in a session of its own, an orphan, and one without any environment.
fn family(time: &str) -> String {
    format!("setsid sleep {time} & (sleep {time} &) ; exec env -i sleep {time}")
}

fn nothing_is_left(time: &str) {
    let died = Instant::now();
    while died.elapsed() < NOTHING_LEFT_AFTER && !sleepers(time).is_empty() {
        thread::sleep(Duration::from_millis(20));
    }
    let left = sleepers(time);
    for pid in &left {
        kill(Pid::from_raw(*pid), Signal::SIGKILL).ok();
    }
    assert_eq!(left, [] as [i32; 0], "processes are left");
}

fn compared(lab: &Lab, line: &str) -> Process {
    lab.start(&["compare", "--a", line, "--b", line, "--warm-up", "0"])
}

#[test]
fn of_a_comparison_that_is_killed_no_command_is_left_wherever_it_went() {
    let (lab, time) = (Lab::new(), own_sleep(1));
    let running = compared(&lab, &family(&time));
    wait_until("the commands run", || sleepers(&time).len() == 3);
    running.signal(Signal::SIGKILL);
    assert_eq!(running.ends().code, None, "a signal ended it");
    nothing_is_left(&time);
}

#[test]
fn of_a_bisection_that_is_killed_no_command_is_left() {
    let (lab, time) = (Lab::new(), own_sleep(2));
    lab.file("versions", "1\n2\n3\n4\n");
    let running =
        lab.start(&["bisect", "--versions", "versions", "--", &format!("echo {{}}; {}", family(&time))]);
    wait_until("the commands run", || sleepers(&time).len() == 3);
    running.signal(Signal::SIGKILL);
    assert_eq!(running.ends().code, None, "a signal ended it");
    nothing_is_left(&time);
}

#[test]
fn a_comparison_that_is_asked_to_end_ends_commands_that_will_not() {
    for (test, signal) in [(3, Signal::SIGTERM), (4, Signal::SIGINT), (5, Signal::SIGHUP)] {
        let (lab, time) = (Lab::new(), own_sleep(test));
        let deaf = format!("trap '' TERM INT HUP; setsid sleep {time} & while true; do sleep {time}; done");
        let running = compared(&lab, &deaf);
        wait_until("the commands run", || sleepers(&time).len() == 2);
        running.signal(signal);
        running.ends().exits(130);
        nothing_is_left(&time);
    }
}

#[test]
fn what_a_command_leaves_running_outlives_a_comparison_that_ends_by_itself() {
    let (lab, time) = (Lab::new(), own_sleep(6));
    let server = format!("sleep {time} > /dev/null 2>&1 &");
    let same = ["compare", "--figure", "([0-9])", "--a", "echo 5", "--b", "echo 5", "--max-pairs", "8"];
    lab.plimsoll(&[&same[..], &["--setup", &server]].concat()).exits(0);
    let left = sleepers(&time);
    assert_eq!(left.len(), 1, "the server is none of the program's to end");
    left.iter().for_each(|pid| kill(Pid::from_raw(*pid), Signal::SIGKILL).expect("it runs"));
}
