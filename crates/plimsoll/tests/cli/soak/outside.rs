//! The state of the machine and of a store, according to other programs than the one under test: the kernel's files,
//! `lsns`, and Python's SQLite.
//!
//! Every process that is seen is the soak's own, since it has process ids, mounts and journals of its own (`in_own_places`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::machine;

/// A setting of the whole machine that can be changed for a moment without harm: how often dirty pages are looked for, in 1/100 s.
pub(super) const SETTING: &str = "vm.dirty_writeback_centisecs";
const SETTING_FILE: &str = "/proc/sys/vm/dirty_writeback_centisecs";

/// Opens a store for reading alone, and prints a line for each trial and phase in it, with a hash of its record.
const READ: &str = r#"
import hashlib, sqlite3, sys
def rows(query):
    try:
        return store.execute(query).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise
try:
    store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=30)
    print("integrity", "; ".join(row[0].replace("\n", " ") for row in store.execute("pragma integrity_check")))
    for run, trial, record in rows("select run, number, record from trials where record is not null"):
        print("trial", run, trial, hashlib.sha256(record).hexdigest())
    for run, trial, place, record in rows("select run, trial, ordinal, record from phases"):
        print("phase", run, trial, place, hashlib.sha256(record).hexdigest())
except sqlite3.Error as error:
    print("integrity", error)
"#;

/// Contents of a store, as SQLite in another process reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    /// The damage to the file; `None` if it is sound or missing.
    pub(super) damage: Option<String>,
    /// A line for each trial and each phase.
    rows: BTreeSet<String>,
}

impl Stored {
    pub(super) fn read(store: &Path) -> Self {
        if !store.exists() {
            return Self::default();
        }
        let output = Command::new("python3").args(["-c", READ]).arg(store).output().expect("python3 starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (checks, rows): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("integrity"));
        let damage = (checks != ["integrity ok"]).then(|| checks.join("; "));
        Self { damage, rows: rows.into_iter().map(str::to_owned).collect() }
    }

    /// The trials of each run that have ended; a run of which only phases are stored has none.
    pub(super) fn trials(&self) -> BTreeMap<&str, usize> {
        let mut trials = BTreeMap::new();
        for row in &self.rows {
            let mut words = row.split(' ');
            let (Some(what), Some(run)) = (words.next(), words.next()) else { continue };
            *trials.entry(run).or_default() += usize::from(what == "trial");
        }
        trials
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that were there before and are gone or changed.
    pub(super) fn lost_since(&self, before: &Self) -> Vec<String> {
        let gone = before.rows.difference(&self.rows).map(|row| format!("lost: {row}"));
        gone.chain(self.damage.iter().map(|damage| format!("damaged: {damage}"))).collect()
    }
}

/// State of the machine that a run could leave behind.
#[derive(Debug)]
pub(super) struct Machine {
    /// The folder for temporary files of the runs.
    scratch: PathBuf,
    /// Folder of their undo processes' journals.
    journals: PathBuf,
    found: BTreeSet<String>,
}

impl Machine {
    /// State before a try.
    pub(super) fn now(scratch: &Path, journals: &Path) -> Self {
        let mut machine =
            Self { scratch: scratch.into(), journals: journals.into(), found: BTreeSet::default() };
        machine.found = machine.look();
        machine
    }

    /// The remains on the machine, after they had `patience` to go by themselves.
    pub(super) fn left_after(&self, patience: Duration) -> Vec<String> {
        let give_up = Instant::now() + patience;
        loop {
            let left: Vec<String> = self.look().difference(&self.found).cloned().collect();
            if left.is_empty() || Instant::now() > give_up {
                return left;
            }
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Everything found, each with its kind in front.
    fn look(&self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> =
            processes().map(|it| format!("process {}: {}", it.pid, it.command)).collect();
        found.extend(namespaces().into_iter().map(|it| format!("namespace {it}")));
        found.extend(machine::interfaces().into_iter().map(|it| format!("interface {it}")));
        found.extend(mounts().into_iter().map(|it| format!("mount {it}")));
        found.extend(
            groups(Path::new("/sys/fs/cgroup"), &limited_host())
                .into_iter()
                .map(|it| format!("control group {it}")),
        );
        found.extend(loops(&self.scratch).into_iter().map(|it| format!("loop device {it}")));
        found.extend(files(&self.scratch).into_iter().map(|it| format!("file {it}")));
        // Beside the journals stands the folder of locks, which stays.
        let journals = files(&self.journals).into_iter().filter(|it| Path::new(it).is_file());
        found.extend(journals.map(|it| format!("journal {it}")));
        found.insert(format!("{SETTING} = {}", setting()));
        found
    }
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// Its arguments, with blanks between.
    pub(super) command: String,
}

/// All processes but those that have ended and wait to be reaped.
pub(super) fn processes() -> impl Iterator<Item = Process> {
    let pids = files_in(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
    pids.filter_map(|pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let said = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let has_ended = said("State:")?.starts_with(['Z', 'X']);
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
        (!has_ended).then_some(Process { pid, parent: said("PPid:")?.parse().ok()?, command })
    })
}

pub(super) fn setting() -> u32 {
    let text = fs::read_to_string(SETTING_FILE).expect("every kernel has it");
    text.trim().parse().expect("a number")
}

/// Namespaces in which a process is, or that something keeps.
fn namespaces() -> Vec<String> {
    let output =
        Command::new("lsns").args(["--noheadings", "--output", "NS,TYPE"]).output().expect("lsns starts");
    let text = String::from_utf8_lossy(&output.stdout);
    // The program itself and ending namespaces do not matter: lasting ones are seen again.
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn mounts() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("readable");
    mounts.lines().map(str::to_owned).collect()
}

/// Name of the host with limited memory, which its control groups have. Other hosts on the machine have other names.
pub(super) fn limited_host() -> String {
    let namespace = fs::metadata("/proc/self/ns/pid").expect("it is in one").ino();
    format!("s{namespace}")
}

/// Control groups of hosts of that name, at any depth.
fn groups(folder: &Path, host: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in files_in(folder) {
        let path = folder.join(&name);
        if path.is_dir() && !path.is_symlink() {
            if name.starts_with("plimsoll-") && name.contains(host) {
                found.push(path.display().to_string());
            }
            found.extend(groups(&path, host));
        }
    }
    found
}

/// Loop devices whose file is, or was, in this folder.
fn loops(folder: &Path) -> Vec<String> {
    let devices = files_in(Path::new("/sys/block")).into_iter();
    let file_of = |device: &String| fs::read_to_string(format!("/sys/block/{device}/loop/backing_file"));
    devices.filter(|device| file_of(device).is_ok_and(|file| Path::new(&file).starts_with(folder))).collect()
}

fn files(folder: &Path) -> Vec<String> {
    files_in(folder).into_iter().map(|name| folder.join(name).display().to_string()).collect()
}

/// The names in a folder; empty if it is not there.
fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[test]
fn what_is_lost_or_damaged_in_a_store_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("runs.sqlite");
    let change = |statements: &str| {
        let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])";
        let status = Command::new("python3").args(["-c", script]).arg(&store).arg(statements).status();
        assert!(status.expect("python3 starts").success());
    };
    assert_eq!(Stored::read(&store), Stored::default());
    change(
        "create table trials (run, number, record); create table phases (run, trial, ordinal, record);
         insert into trials values ('a', 1, x'01'), ('a', 2, null);
         insert into phases values ('a', 1, 0, x'01'), ('a', 1, 1, x'02');",
    );
    let before = Stored::read(&store);
    assert_eq!((before.trials(), before.rows.len()), (BTreeMap::from([("a", 1)]), 3));
    assert_eq!(Stored::read(&store).lost_since(&before), [] as [String; 0]);
    change("insert into phases values ('a', 2, 0, x'01')");
    assert_eq!(Stored::read(&store).lost_since(&before), [] as [String; 0], "more is no loss");
    change("delete from trials; update phases set record = x'03' where ordinal = 1");
    let lost = Stored::read(&store).lost_since(&before);
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost[0].starts_with("lost: phase a 1 1 ") && lost[1].starts_with("lost: trial a 1 "), "{lost:?}");
    let mut bytes = fs::read(&store).expect("readable");
    bytes.truncate(5000);
    fs::write(&store, bytes).expect("writable");
    let lost = Stored::read(&store).lost_since(&before);
    assert!(lost.iter().any(|lost| lost.starts_with("damaged: integrity ")), "{lost:?}");
}

#[test]
fn what_is_left_on_the_machine_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (scratch, journals) = (folder.path().join("scratch"), folder.path().join("journals"));
    fs::create_dir(&scratch).expect("allowed");
    let before = Machine::now(&scratch, &journals);
    fs::write(scratch.join("forgotten"), "").expect("allowed");
    fs::create_dir(&journals).expect("allowed");
    fs::write(journals.join("1:2:3"), "").expect("allowed");
    fs::create_dir(journals.join("locks")).expect("allowed");
    let mut sleeper = Command::new("sleep").arg("61.5").spawn().expect("it starts");
    let seen = |what: &str| {
        let give_up = Instant::now() + Duration::from_secs(10);
        // A child that has just been forked has not become the program yet.
        while Instant::now() < give_up {
            if before.left_after(Duration::ZERO).iter().any(|left| left == what) {
                return true;
            }
        }
        false
    };
    assert!(seen(&format!("file {}", scratch.join("forgotten").display())));
    assert!(seen(&format!("journal {}", journals.join("1:2:3").display())));
    let left = before.left_after(Duration::ZERO);
    assert!(!left.iter().any(|left| left.ends_with("/locks")), "{left:?}");
    let process = format!("process {}: sleep 61.5", sleeper.id());
    assert!(seen(&process));
    sleeper.kill().expect("it lives");
    sleeper.wait().expect("it ends");
    assert!(!before.left_after(Duration::ZERO).contains(&process));
}
