//! Storage: volumes, the loads on them, and their remains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lab::{Lab, wait_until};

/// Reads of a volume for a while.
fn experiment(volume: &str, storage: &str, claims: &str) -> String {
    format!(
        r#"
question = "How fast is it?"

[hosts.machine]

[volumes.disk]
on = "machine"
{volume}

[loads.some]
from = "machine"
to = "disk"
storage = {storage}

[[phases]]
name = "timed"
measure = "some"
slices = 2

{claims}

[run]
max_trials = 1
"#
    )
}

const READS: &str = "{ size = \"4M\", operations = 400 }";
const OF_ITS_SOURCE: &str = "[[claims]]\nsource = { phase = \"timed\" }";

/// Every setting of every queue, and every attached loop device, except those on files of others: other runs attach and
/// set up theirs meanwhile.
fn queues(lab: &Lab) -> BTreeMap<String, String> {
    let disks = fs::read_dir("/sys/block").expect("there is /sys").flatten().map(|entry| entry.path());
    let is_others = |disk: &PathBuf| {
        let file = fs::read_to_string(disk.join(BACKING_FILE)).unwrap_or_default();
        !file.is_empty() && !Path::new(&file).starts_with(lab.folder())
    };
    let settings = ["queue/scheduler", "queue/nr_requests", "queue/read_ahead_kb", BACKING_FILE];
    let all =
        disks.filter(|disk| !is_others(disk)).flat_map(|disk| settings.map(|setting| disk.join(setting)));
    all.filter_map(|path| Some((path.display().to_string(), fs::read_to_string(&path).ok()?))).collect()
}

const BACKING_FILE: &str = "loop/backing_file";

/// The settings that hold before a run. Another run may be setting up or taking away a device at the first look.
fn settled_queues(lab: &Lab) -> BTreeMap<String, String> {
    loop {
        let first = queues(lab);
        thread::sleep(Duration::from_millis(300));
        if first == queues(lab) {
            return first;
        }
    }
}

/// Remains of a run: a loop device on a file of its own, or a changed setting of a device.
fn left(lab: &Lab, before: &BTreeMap<String, String>) -> Vec<String> {
    let is_left = |(path, text): &(String, String)| {
        path.ends_with(BACKING_FILE) || before.get(path).is_some_and(|before| before != text)
    };
    queues(lab).into_iter().filter(is_left).map(|(path, text)| format!("{path}: {text}")).collect()
}

/// Waits until nothing is left, and fails if anything stays: devices of other runs come and go meanwhile.
fn nothing_is_left(lab: &Lab, before: &BTreeMap<String, String>, of: &str) {
    let give_up = Instant::now() + Duration::from_secs(10);
    loop {
        let left = left(lab, before);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < give_up, "{of}: {left:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Setting that puts the file of a loop device into the lab's own folder.
fn in_folder_of(lab: &Lab) -> String {
    format!("in = \"{}\"", lab.folder().display())
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|n| n.starts_with("plimsoll-"))
        .collect()
}

fn phase(report: &Value) -> &Value {
    &report["trials"][0]["phases"][0]
}

#[test]
fn a_user_measures_a_folder_that_is_gone_afterwards_and_learns_what_was_measured() {
    let lab = Lab::of_ordinary_user();
    let parent = lab.path("parent");
    fs::create_dir(&parent).expect("allowed");
    nix::unistd::chown(&parent, Some(65534.into()), Some(65534.into())).ok();
    for (cache, expected) in [("warmed", "the speed of memory"), ("dropped", "copy through the page cache")] {
        let folder = format!("folder = {{ in = \"{}\" }}", parent.display());
        let storage = format!("{{ size = \"4M\", block = \"64k\", operations = 128, cache = \"{cache}\" }}");
        let file = lab.file("folder.toml", &experiment(&folder, &storage, OF_ITS_SOURCE));
        let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
        let verdict = &report["verdicts"][0];
        assert_eq!(verdict["outcome"], "estimated");
        assert!(verdict["reason"].as_str().is_some_and(|reason| reason.contains(expected)), "{verdict}");
        assert_eq!(phase(&report)["storage"]["reads"], 128);
        assert_eq!(entries(&parent), [] as [String; 0]);
    }
    lab.plimsoll(&["show", "latest", "--details"])
        .prints("Storage, all trials of a phase together")
        .prints("MB/s");
    lab.plimsoll(&["compare", "latest", "latest"]).prints("The machine was the same in both runs");
}

#[test]
fn what_needs_root_says_so_by_name_before_anything_is_measured() {
    let lab = Lab::of_ordinary_user().allowing("machine");
    let file = lab.file("loop.toml", &experiment("loop = { size = \"16M\" }", READS, ""));
    lab.plimsoll(&["run", &file]).exits(3).says("volume disk: a loop device needs root");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn loop_devices_file_systems_and_settings_are_gone_or_as_before() {
    let lab = Lab::of_root().allowing("machine");
    let before = settled_queues(&lab);
    let volumes = [
        "loop = { size = \"16M\", in = \".\" }\nqueue = { scheduler = \"bfq\", read_ahead = \"64k\" }",
        "loop = { size = \"64M\", in = \".\", filesystem = \"ext4\", options = \"noatime,data=journal\" }",
        "loop = { size = \"320M\", in = \".\", filesystem = \"xfs\" }",
    ];
    for volume in volumes.map(|volume| volume.replace("in = \".\"", &in_folder_of(&lab))) {
        let file = lab.file("loop.toml", &experiment(&volume, READS, OF_ITS_SOURCE));
        // A hypervisor that takes the CPUs away makes the claim invalid, without an effect on this.
        let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits_as_it_judges().json();
        assert_eq!(phase(&report)["storage"]["reads"], 400, "{volume}");
        nothing_is_left(&lab, &before, &volume);
    }
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn of_a_killed_run_no_loop_device_no_mount_and_no_setting_is_left() {
    let lab = Lab::of_root().allowing("machine");
    let before = settled_queues(&lab);
    let own = in_folder_of(&lab);
    let volume = format!(
        "loop = {{ size = \"64M\", {own}, filesystem = \"ext4\" }}\nqueue = {{ scheduler = \"kyber\" }}"
    );
    let storage = "{ size = \"4M\", duration = \"120s\" }";
    let file = lab.file("long.toml", &experiment(&volume, storage, ""));
    let run = lab.start(&["run", &file]);
    wait_until("a scheduler is set", || {
        let now = queues(&lab);
        let own = now.keys().filter_map(|path| path.strip_suffix(BACKING_FILE)).collect::<Vec<_>>();
        own.iter().any(|disk| now[&format!("{disk}queue/scheduler")].contains("[kyber]"))
    });
    run.signal(Signal::SIGKILL);
    run.ends();
    wait_until("everything is as before", || left(&lab, &before).is_empty());
    wait_until("the doctor finds nothing", || {
        lab.plimsoll(&["doctor", "--dry-run"]).exits(0).stdout.contains("leftovers        none")
    });
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn what_goes_wrong_with_a_volume_is_reported_in_a_sentence_and_undone() {
    let lab = Lab::of_root().allowing("machine");
    let cases = [
        (
            "loop = { size = \"16M\" }\nqueue = { scheduler = \"fastest\" }",
            READS,
            "the kernel knows no `fastest` here, but none",
        ),
        (
            "loop = { size = \"8M\", filesystem = \"ext4\" }",
            "{ size = \"32M\", operations = 10 }",
            "the volume `disk`: it is full",
        ),
        ("loop = { size = \"8M\" }", "{ size = \"32M\", operations = 10 }", "and the device has 8388608"),
        ("device = \"/dev/null\"", READS, "this is no block device"),
        ("device = \"/dev/no-such-device\"", READS, "looking at /dev/no-such-device"),
        (
            "loop = { size = \"8M\", filesystem = \"ext4\", options = \"no_such_option\" }",
            READS,
            "mounting the volume at /dev/shm/volume-disk",
        ),
    ];
    for (volume, storage, expected) in cases {
        let volume = volume.replace("loop = {", &format!("loop = {{ {},", in_folder_of(&lab)));
        let file = lab.file("wrong.toml", &experiment(&volume, storage, ""));
        let before = settled_queues(&lab);
        lab.plimsoll(&["run", &file]).exits(3).says(expected);
        nothing_is_left(&lab, &before, &volume);
    }
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_device_is_written_to_only_where_the_user_has_named_it_and_nobody_uses_it() {
    let lab = Lab::of_root().allowing("machine");
    let image = lab.path("image");
    fs::File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("allowed");
    // Not the first free device: the next run on this machine would take it once it is detached, and its data would be read.
    let number = 4000 + std::process::id() % 10_000;
    let device = format!("/dev/loop{number}");
    let _removed = Remove(&lab, number);
    lab.script(&format!("losetup {device} {}", image.display())).exits(0);
    let detached = Detach(&lab, &device);
    let volume = format!("device = \"{device}\"");
    let writes = "{ reads = 0, size = \"4M\", operations = 100 }";
    let writing = lab.file("writing.toml", &experiment(&volume, writes, ""));
    lab.plimsoll(&["run", &writing]).exits(2).says(&format!("`--destroy {device}` allows that"));
    let reading = lab.file("reading.toml", &experiment(&volume, READS, ""));
    lab.plimsoll(&["run", &reading]).exits(0);
    assert!(fs::read(&image).expect("it is there").iter().all(|byte| *byte == 0), "reading wrote to it");
    lab.plimsoll(&["run", &writing, "--destroy", &device]).exits(0);
    assert!(fs::read(&image).expect("it is there")[..4 << 20].iter().any(|byte| *byte != 0));

    lab.script(&format!("mkfs.ext4 -q -F {device} && mkdir at && mount {device} at")).exits(0);
    let refused = lab.plimsoll(&["run", &writing, "--destroy", &device]);
    lab.script("umount at").exits(0);
    refused.exits(3).says("must not be written to").says("is mounted at");
    drop(detached);
    // Another process that has it open at that moment, such as a scan of all devices, delays the detachment.
    let attached = format!("/sys/block/loop{number}/{BACKING_FILE}");
    wait_until("it is detached", || !Path::new(&attached).exists());
    lab.plimsoll(&["run", &reading]).exits(3).says("the volume `disk`: its device has gone");
}

/// Removes a loop device of a number of its own when it is dropped (LOOP_CTL_REMOVE, linux/loop.h).
struct Remove<'l>(&'l Lab, u32);

impl Drop for Remove<'_> {
    fn drop(&mut self) {
        let remove = format!("fcntl.ioctl(os.open('/dev/loop-control', os.O_RDWR), 0x4C81, {})", self.1);
        self.0.script(&format!("python3 -c \"import fcntl, os; {remove}\""));
    }
}

/// Detaches a loop device when it is dropped, also by a test that fails.
struct Detach<'l>(&'l Lab, &'l str);

impl Drop for Detach<'_> {
    fn drop(&mut self) {
        self.0.script(&format!("umount at 2>/dev/null; losetup --detach {}", self.1));
    }
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_device_that_fails_under_a_load_is_an_input_output_error() {
    let lab = Lab::of_root().allowing("machine");
    let image = lab.path("image");
    fs::write(&image, vec![1; 8 << 20]).expect("allowed");
    let attached = lab.script(&format!("losetup --find --show {}", image.display())).exits(0);
    let device = attached.stdout.trim().to_owned();
    let _detached = Detach(&lab, &device);
    let volume = format!("device = \"{device}\"");
    let storage = "{ size = \"8M\", direct = true, access = \"random\", duration = \"60s\" }";
    let file = lab.file("short.toml", &experiment(&volume, storage, ""));
    let expected = "the volume `disk`: its device cannot read or write (input/output error)";
    let run = lab.start(&["run", &file]);
    let stat = format!("/sys/block/{}/stat", device.trim_start_matches("/dev/"));
    let reads = || fs::read_to_string(&stat).ok()?.split_whitespace().next()?.parse::<u64>().ok();
    wait_until("the load is under way", || reads().is_some_and(|reads| reads > 500));
    // The backing file becomes shorter than the loop device, under the load and before the next.
    fs::OpenOptions::new().write(true).open(&image).and_then(|file| file.set_len(4096)).expect("allowed");
    run.ends().exits(3).says(expected);
    lab.plimsoll(&["run", &file]).exits(3).says(expected);
}

/// A background load that is there for every other stretch of measurements.
#[test]
fn a_background_load_comes_and_goes_and_each_measurement_knows_whether_it_was_there() {
    let lab = Lab::of_ordinary_user();
    let background = r#"
[background.reader]
load = "some"
every = "1s"
stays = "500ms"

[[claims]]
modes = { phase = "timed" }
"#;
    let text = experiment("folder = {}", "{ size = \"1M\", block = \"64k\", duration = \"3s\" }", background);
    let file = lab.file("beside.toml", &text.replace("slices = 2", "slices = 40"));
    lab.plimsoll(&["run", &file]);
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).exits(0).json();
    let modes = &report["verdicts"][0]["details"];
    let there = modes["background"]["reader"].as_array().expect("it came and went");
    let present = there.iter().filter(|there| **there == Value::Bool(true)).count();
    // A measurement in which a busy machine read nothing at all has no figure.
    let all = there.len();
    assert_eq!(all, modes["values"].as_array().expect("a list").len());
    assert!((35..=40).contains(&all) && (5..=all - 5).contains(&present), "{present} of {all}");
    let page = lab.plimsoll(&["show", "latest", "--format", "html"]).exits(0).stdout;
    assert!(page.contains("id=\"modes-histogram-1\"") && page.contains("id=\"modes-order-1\""));
}
