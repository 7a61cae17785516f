//! Runs at the same time that change the same settings of the machine.

use std::fs;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::{Lab, Process, wait_until};

/// Settings that can be changed for a moment without harm.
const SYSCTLS: [&str; 2] = ["/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/extfrag_threshold"];

/// A loop device of a number of its own, so that no other test takes it; gone when this is dropped.
struct Device<'l> {
    lab: &'l Lab,
    number: u32,
}

impl<'l> Device<'l> {
    fn attach(lab: &'l Lab) -> Self {
        let image = lab.path("image");
        fs::write(&image, vec![1; 8 << 20]).expect("allowed");
        let device = Self { lab, number: 15_000 + std::process::id() % 10_000 };
        lab.script(&format!("losetup {} {}", device.path(), image.display())).exits(0);
        device
    }

    fn path(&self) -> String {
        format!("/dev/loop{}", self.number)
    }

    /// All settings that the runs change, as the kernel prints them.
    fn settings(&self) -> Vec<String> {
        let queue = format!("/sys/block/loop{}/queue", self.number);
        let queue = ["scheduler", "nr_requests", "read_ahead_kb"].map(|name| format!("{queue}/{name}"));
        let whole = SYSCTLS.into_iter().map(str::to_owned).chain(queue);
        let mut settings: Vec<String> =
            whole.map(|path| fs::read_to_string(path).expect("it is there")).collect();
        let throttles = fs::read_to_string("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device");
        let own = format!("7:{} ", self.number);
        settings.extend(
            throttles.unwrap_or_default().lines().filter(|line| line.starts_with(&own)).map(str::to_owned),
        );
        settings
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        let remove = format!("fcntl.ioctl(os.open('/dev/loop-control', os.O_RDWR), 0x4C81, {})", self.number);
        let remove = format!("sleep 0.1; python3 -c \"import fcntl, os; {remove}\"");
        self.lab.script(&format!("losetup --detach {}; {remove}", self.path()));
    }
}

/// An experiment that gives each setting a value of its own, and needs all of them at once.
fn experiment(device: &str, number: usize, duration: &str) -> String {
    let scheduler = ["bfq", "kyber", "mq-deadline"][number % 3];
    format!(
        r#"
question = "Does each run have the machine to itself?"
[hosts.machine]
sysctls = {{ "vm.dirty_background_ratio" = {}, "vm.extfrag_threshold" = {} }}
[volumes.disk]
on = "machine"
device = "{device}"
queue = {{ scheduler = "{scheduler}", depth = {}, read_ahead = "{}k" }}
limit = {{ iops = {} }}
[loads.some]
from = "machine"
to = "disk"
storage = {{ size = "4M", duration = "{duration}" }}
[[phases]]
name = "timed"
measure = "some"
slices = 2
[run]
max_trials = 1
"#,
        20 + number,
        400 + number,
        100 + number,
        64 + 4 * number,
        5000 + number,
    )
}

/// Starts `count` runs at once, and kills the first of them once it has changed the machine.
fn overlap(lab: &Lab, device: &Device<'_>, count: usize) {
    let before = device.settings();
    let long = lab.file("long.toml", &experiment(&device.path(), 0, "60s"));
    let killed = lab.start(&["run", &long]);
    // The limit comes last, where the root group has it; the scheduler before it.
    wait_until("the first run has its settings", || {
        device.settings().iter().zip(&before).take(3).all(|(now, before)| now != before)
    });
    let others: Vec<Process> = (1..count)
        .map(|number| {
            let name = format!("short-{number}.toml");
            lab.start(&["run", &lab.file(&name, &experiment(&device.path(), number, "100ms"))])
        })
        .collect();
    killed.signal(Signal::SIGKILL);
    killed.ends();
    for other in others {
        other.ends().exits(0);
    }
    wait_until("the machine is as before", || device.settings() == before);
}

/// One story, since its parts change the same settings.
#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn runs_at_once_take_turns_with_settings_and_leave_the_machine_as_it_was() {
    let lab = Lab::of_root().allowing("machine");
    let device = Device::attach(&lab);
    a_run_that_waits_names_the_setting_and_its_holder_and_can_be_interrupted(&lab, &device);
    the_value_of_a_run_whose_undo_process_was_killed_too_is_no_original(&lab, &device);
    a_value_that_the_kernel_no_longer_accepts_is_reported_once(&lab, &device);
    let repetitions = std::env::var("PLIMSOLL_OVERLAPS").map_or(1, |count| count.parse().expect("a number"));
    for _ in 0..repetitions {
        for count in [2, 4, 8] {
            overlap(&lab, &device, count);
        }
    }
}

fn a_run_that_waits_names_the_setting_and_its_holder_and_can_be_interrupted(lab: &Lab, device: &Device<'_>) {
    let before = device.settings();
    let long = lab.file("long.toml", &experiment(&device.path(), 0, "60s"));
    let first = lab.start(&["run", &long]);
    wait_until("the first run has its settings", || device.settings()[0].trim() == "20");
    let short = lab.file("short.toml", &experiment(&device.path(), 1, "100ms"));
    let second = lab.start(&["run", &short]);
    wait_until("the second run waits", || second.has_started_processes());
    std::thread::sleep(std::time::Duration::from_millis(500));
    let first_id = first.id();
    second.signal(Signal::SIGINT);
    second.ends().says(&format!("vm.dirty_background_ratio is held by process {first_id} ("));
    first.signal(Signal::SIGINT);
    first.ends();
    wait_until("the machine is as before", || device.settings() == before);
}

fn the_value_of_a_run_whose_undo_process_was_killed_too_is_no_original(lab: &Lab, device: &Device<'_>) {
    let before = device.settings();
    let long = lab.file("long.toml", &experiment(&device.path(), 0, "60s"));
    let run = lab.start(&["run", &long]);
    wait_until("the run has its settings", || device.settings()[0].trim() == "20");
    for undo in undo_processes_of(run.id()) {
        kill(undo, Signal::SIGKILL).expect("it is root's own");
    }
    run.signal(Signal::SIGKILL);
    run.ends();
    assert_eq!(device.settings()[0].trim(), "20", "nobody has put it back");
    let short = lab.file("short.toml", &experiment(&device.path(), 1, "100ms"));
    lab.plimsoll(&["run", &short]).exits(0);
    assert_eq!(device.settings(), before);
    lab.plimsoll(&["doctor"]).exits(0);
    assert_eq!(device.settings(), before);
    lab.plimsoll(&["doctor", "--dry-run"]).exits(0).prints("leftovers none");
}

/// Deep queues belong to a scheduler: without it, the kernel refuses the depth that a dead run wrote down.
fn a_value_that_the_kernel_no_longer_accepts_is_reported_once(lab: &Lab, device: &Device<'_>) {
    let before = device.settings();
    let setting = format!("/sys/devices/virtual/block/loop{}/queue/nr_requests", device.number);
    lab.script(&format!(
        "umask 077 && echo '{{\"setting\":{{\"path\":\"{setting}\",\"before\":\"1000000\",\"namespace\":null}}}}' \
             >/run/plimsoll/8388608:1:$(stat -Lc %i /proc/self/ns/pid)"
    ))
    .exits(0);
    lab.plimsoll(&["doctor"])
        .exits(0)
        .says(&format!("setting {setting}: it was 1000000; the kernel no longer accepts that"));
    lab.plimsoll(&["doctor", "--dry-run"]).exits(0).prints("leftovers none");
    assert_eq!(device.settings(), before);
}

fn undo_processes_of(run: u32) -> Vec<Pid> {
    let output =
        Command::new("ps").args(["-o", "pid=,args=", "--ppid", &run.to_string()]).output().expect("ps");
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let undo = listed.lines().filter(|line| line.contains("__plimsoll-host undo"));
    undo.filter_map(|line| line.split_whitespace().next()?.parse().ok().map(Pid::from_raw)).collect()
}
