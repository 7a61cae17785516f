//! The kinds of tries.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rand::RngExt;
use rand::rngs::StdRng;

use super::aim::{self, Part};
use super::outside::{Machine, SETTING, Stored, limited_host, setting};
use crate::lab::{Lab, Printed, Process};
use crate::stores::SHORT;

/// Where the journals of undo processes of root are.
const JOURNALS: &str = "/run/plimsoll";
/// Time for a run's remains to go by themselves.
const BY_ITSELF: Duration = Duration::from_secs(2);
/// Time for them to go after the doctor has removed them.
const BY_DOCTOR: Duration = Duration::from_secs(10);
/// The latest moment at which something is done to a run, in milliseconds after its start. A trial takes about a second.
const LATEST_MS: u64 = 3000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    KillController,
    KillSupervisor,
    KillAgent,
    KillUndo,
    StopController,
    StopAgent,
    FullDisk,
    FewProcesses,
    FewDescriptors,
    CorruptStore,
    CutLog,
    SixWriters,
}

/// Sandbox of a try: a folder of its own for the program's runs and temporary files.
pub(super) struct Sandbox {
    lab: Lab,
    scratch: PathBuf,
    machine: Machine,
}

/// The findings after a try.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Stored rows that are gone or damaged.
    pub(super) lost: Vec<String>,
    /// Remains before the doctor ran.
    pub(super) undone: Vec<String>,
    /// Remains after the doctor.
    pub(super) left: Vec<String>,
    /// Panics, ends by a signal, silent ends and unexpected results.
    pub(super) unclear: Vec<String>,
}

impl Damage {
    /// The findings in one line.
    pub(super) fn summary(&self) -> String {
        let parts = [
            ("", &self.lost),
            ("undone by doctor: ", &self.undone),
            ("left: ", &self.left),
            ("", &self.unclear),
        ];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = parts.map(|(name, list)| format!("{name}{}", list.join(", "))).collect();
        if parts.is_empty() { "fine".to_owned() } else { parts.join("; ") }
    }

    fn expect(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.unclear.push(what());
        }
    }

    /// Checks that the program ended with one of these exit statuses, and gave a reason if that is not 0.
    fn clear(&mut self, output: &Printed, codes: &[i32]) {
        let is_known = output.code.is_some_and(|code| codes.contains(&code));
        let has_reason = output.code == Some(0) || !output.stderr.is_empty() || !output.stdout.is_empty();
        self.expect(is_known && has_reason, || format!("an unexpected end: {output:?}"));
        self.no_panic(output);
    }

    fn no_panic(&mut self, output: &Printed) {
        let panicked = ["panicked", "backtrace"].iter().any(|word| output.stderr.contains(word));
        self.expect(!panicked, || format!("a panic: {output:?}"));
    }
}

/// Trials of about a second each without end: two hosts, one of which has limited memory, a loop device and a setting of the machine.
fn endless() -> String {
    let (host, setting) = (limited_host(), setting() + 7);
    format!(
        r#"
question = "Is what was stored still there?"
[hosts.client]
[hosts.{host}]
memory = "256M"
sysctls = {{ "{SETTING}" = {setting} }}
[[links]]
between = ["client", "{host}"]
[volumes.disk]
on = "{host}"
loop = {{ size = "16M", filesystem = "ext4" }}
[services.web]
on = "{host}"
web = {{}}
[loads.few]
from = "client"
to = "web"
http = {{ connections = 20 }}
[[phases]]
name = "first"
measure = "few"
[[phases]]
name = "second"
measure = "few"
[run]
min_trials = 500
max_trials = 500
"#
    )
}

impl Sandbox {
    /// A sandbox for this copy of the program.
    pub(super) fn new(program: &Path) -> Self {
        let lab = Lab::of_root().allowing("machine");
        let scratch = lab.path("scratch");
        fs::create_dir(&scratch).expect("allowed");
        let temporary = format!("TMPDIR={}", scratch.display());
        let lab = lab.by(&["env".to_owned(), temporary], program);
        let machine = Machine::now(&scratch, Path::new(JOURNALS));
        Self { lab, scratch, machine }
    }

    fn store(&self) -> PathBuf {
        self.lab.path("state/plimsoll/runs.sqlite")
    }

    fn stored(&self) -> Stored {
        Stored::read(&self.store())
    }

    /// Starts the endless run, and waits until a random moment; `None` if it has ended before.
    fn start(&self, random: &mut StdRng, found: &mut Damage) -> Option<Process> {
        let experiment = self.lab.file("endless.toml", &endless());
        let mut run = self.lab.start(&["run", &experiment]);
        pause(random, LATEST_MS);
        if run.has_ended() {
            found.unclear.push(format!("the run ended before anything was done to it: {:?}", run.ends()));
            return None;
        }
        Some(run)
    }

    /// Checks every command on the store, lost rows since `before`, and remains.
    fn look(&self, before: &Stored, found: &mut Damage) {
        let after = self.stored();
        found.lost.extend(after.lost_since(before));
        self.read(&after, found);
        self.doctor(found);
    }

    fn read(&self, after: &Stored, found: &mut Damage) {
        found.clear(&self.lab.plimsoll(&["show", "latest"]), &[0, 2, 3]);
        for (run, stored) in after.trials() {
            let shown = self.lab.plimsoll(&["show", run, "--format", "json"]);
            // 3: the run failed, and keeps what it had measured.
            found.clear(&shown, &[0, 3]);
            if !shown.stdout.is_empty() {
                let trials = shown.json()["trials"].as_array().map_or(0, Vec::len);
                found.expect(trials >= stored, || format!("{trials} of {stored} trials are shown of {run}"));
            }
        }
        // Nothing is claimed.
        found.clear(&self.lab.plimsoll(&["gate", "latest"]), &[0, 2, 3, 4]);
        found.clear(&self.lab.plimsoll(&["history"]), &[0]);
    }

    fn doctor(&self, found: &mut Damage) {
        found.undone.extend(self.machine.left_after(BY_ITSELF));
        found.clear(&self.lab.plimsoll(&["doctor"]), &[0]);
        found.left.extend(self.machine.left_after(BY_DOCTOR));
    }
}

fn pause(random: &mut StdRng, most_ms: u64) {
    thread::sleep(Duration::from_millis(random.random_range(0..=most_ms)));
}

impl Kind {
    pub(super) const ALL: [Self; 12] = [
        Self::KillController,
        Self::KillSupervisor,
        Self::KillAgent,
        Self::KillUndo,
        Self::StopController,
        Self::StopAgent,
        Self::FullDisk,
        Self::FewProcesses,
        Self::FewDescriptors,
        Self::CorruptStore,
        Self::CutLog,
        Self::SixWriters,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::KillController => "kill -9 of the controller",
            Self::KillSupervisor => "kill -9 of a supervisor",
            Self::KillAgent => "kill -9 of an agent",
            Self::KillUndo => "kill -9 of the undo processes, then of the controller",
            Self::StopController => "SIGSTOP of the controller, SIGCONT later",
            Self::StopAgent => "SIGSTOP of an agent, SIGCONT later",
            Self::FullDisk => "a full disk under the store",
            Self::FewProcesses => "a limit of 5 to 60 processes",
            Self::FewDescriptors => "a limit of 5 to 60 open files",
            Self::CorruptStore => "a store with changed bytes",
            Self::CutLog => "kill -9, and the store's log cut short",
            Self::SixWriters => "six writers of one store, one of them killed",
        }
    }

    pub(super) fn attempt(self, place: &Sandbox, random: &mut StdRng) -> Damage {
        let mut found = Damage::default();
        match self {
            Self::KillController => kill_controller(place, random, &mut found),
            Self::KillSupervisor => kill_part(place, Part::Supervisor, random, &mut found),
            Self::KillAgent => kill_part(place, Part::Agent, random, &mut found),
            Self::KillUndo => kill_undo(place, random, &mut found),
            Self::StopController => stop(place, None, random, &mut found),
            Self::StopAgent => stop(place, Some(Part::Agent), random, &mut found),
            Self::FullDisk => full_disk(place, random, &mut found),
            Self::FewProcesses => few(place, "nproc", random, &mut found),
            Self::FewDescriptors => few(place, "nofile", random, &mut found),
            Self::CorruptStore => corrupt(place, random, &mut found),
            Self::CutLog => cut_log(place, random, &mut found),
            Self::SixWriters => six_writers(place, random, &mut found),
        }
        found
    }
}

fn kill_controller(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let Some(run) = place.start(random, found) else { return };
    let before = place.stored();
    run.signal(Signal::SIGKILL);
    found.no_panic(&run.ends());
    place.look(&before, found);
}

/// Kills a part of a run. The run goes on until Ctrl-C, or ends with a message.
fn kill_part(place: &Sandbox, part: Part, random: &mut StdRng, found: &mut Damage) {
    let Some(run) = place.start(random, found) else { return };
    let Some(victim) = one_of(&run, part, random, found) else { return };
    let before = place.stored();
    aim::hit(victim, Signal::SIGKILL);
    pause(random, 2 * LATEST_MS);
    end(run, found);
    place.look(&before, found);
}

/// Kills the undo process. Changes to the machine then stay until the doctor runs.
fn kill_undo(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let Some(run) = place.start(random, found) else { return };
    found
        .expect(!aim::wait_for(run.id(), Part::Undo).is_empty(), || "the run had no undo process".to_owned());
    let before = place.stored();
    for victim in aim::parts(run.id(), Part::Undo) {
        aim::hit(victim, Signal::SIGKILL);
    }
    if random.random_bool(0.5) {
        pause(random, LATEST_MS);
    }
    run.signal(Signal::SIGKILL);
    found.no_panic(&run.ends());
    place.look(&before, found);
}

/// Stops the controller or one of its agents for a while; the run goes on afterwards.
fn stop(place: &Sandbox, part: Option<Part>, random: &mut StdRng, found: &mut Damage) {
    let Some(run) = place.start(random, found) else { return };
    let victim = match part {
        None => run.id(),
        Some(part) => match one_of(&run, part, random, found) {
            Some(victim) => victim,
            None => return,
        },
    };
    let before = place.stored();
    aim::hit(victim, Signal::SIGSTOP);
    pause(random, LATEST_MS);
    aim::hit(victim, Signal::SIGCONT);
    let give_up = Instant::now() + Duration::from_secs(60);
    while place.stored() == before && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(50));
    }
    found.expect(place.stored() != before, || "the run has not gone on for a minute".to_owned());
    end(run, found);
    place.look(&before, found);
}

/// A process of this part of a run, at random.
fn one_of(run: &Process, part: Part, random: &mut StdRng, found: &mut Damage) -> Option<u32> {
    let parts = aim::wait_for(run.id(), part);
    found.expect(!parts.is_empty(), || format!("the run had no {part:?}"));
    (!parts.is_empty()).then(|| parts[random.random_range(0..parts.len())])
}

/// Ends a run by Ctrl-C, if it still runs.
fn end(mut run: Process, found: &mut Damage) {
    if !run.has_ended() {
        run.signal(Signal::SIGINT);
    }
    let give_up = Instant::now() + Duration::from_secs(60);
    while !run.has_ended() {
        if Instant::now() > give_up {
            found.unclear.push("the run has not ended within a minute of Ctrl-C".to_owned());
            run.signal(Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(30));
    }
    found.clear(&run.ends(), &[3, 4, 130]);
}

fn full_disk(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let disk = place.lab.path("state");
    fs::create_dir(&disk).expect("allowed");
    let mount = |options: &str| {
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&disk).status();
        assert!(status.expect("mount starts").success());
    };
    mount(&format!("size={}k", random.random_range(100..900)));
    let experiment = place.lab.file("endless.toml", &endless());
    let mut run = place.lab.start(&["run", &experiment]);
    let mut before = Stored::default();
    let give_up = Instant::now() + Duration::from_secs(120);
    while !run.has_ended() && Instant::now() < give_up {
        before = place.stored();
        thread::sleep(Duration::from_millis(50));
    }
    found.expect(run.has_ended(), || "the run has not ended on the full disk".to_owned());
    if !run.has_ended() {
        run.signal(Signal::SIGKILL);
    }
    found.clear(&run.ends(), &[3]);
    let shown = place.lab.plimsoll(&["show", "latest"]);
    found.clear(&shown, &[0, 2, 3]);
    mount("remount,size=64m");
    let after = place.stored();
    found.lost.extend(after.lost_since(&before));
    place.read(&after, found);
    let unmounted = Command::new("umount").arg(&disk).status().expect("umount starts");
    found.expect(unmounted.success(), || "somebody still uses the disk".to_owned());
    place.doctor(found);
}

/// Runs within a limit. A failed run gives the reason.
fn few(place: &Sandbox, limit: &str, random: &mut StdRng, found: &mut Damage) {
    // A user id that no other process has, so only the run's processes count.
    let user: u32 = random.random_range(61_000..65_000);
    let number = random.random_range(5..=60);
    let experiment = place.lab.file("short.toml", SHORT);
    let open = |name: &str, mode| {
        let folder = place.lab.path(name);
        fs::create_dir_all(&folder).expect("allowed");
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("allowed");
    };
    open(".", 0o755);
    ["state", "journals", "scratch"].into_iter().for_each(|name| open(name, 0o777));
    let as_user = |limit: &str, command: &str| {
        place.lab.script(&format!(
            "export XDG_RUNTIME_DIR=\"$PWD/journals\"
             exec setpriv --reuid={user} --regid={user} --clear-groups {limit} \"$PLIMSOLL\" {command}"
        ))
    };
    let machine = Machine::now(&place.scratch, &place.lab.path("journals/plimsoll"));
    let limit = format!("prlimit --{limit}={number}:{number}");
    found.clear(&as_user(&limit, &format!("run {experiment}")), &[0, 3, 4]);
    let after = place.stored();
    found.lost.extend(after.damage.clone());
    let shown = as_user("", "show latest");
    found.clear(&shown, if after.is_empty() { &[0, 2, 3] } else { &[0, 3] });
    found.undone.extend(machine.left_after(BY_ITSELF));
    found.clear(&as_user("", "doctor"), &[0]);
    found.left.extend(machine.left_after(BY_DOCTOR));
}

/// Changes bytes of a store. It is read, or refused with a message; and so is the next run in it.
fn corrupt(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let experiment = place.lab.file("short.toml", SHORT);
    found.clear(&place.lab.plimsoll(&["run", &experiment]), &[0, 4]);
    let mut file = File::options().read(true).write(true).open(place.store()).expect("a store");
    let length = file.metadata().expect("a file").len();
    for _ in 0..random.random_range(1..=16) {
        let at = random.random_range(0..length);
        file.seek(SeekFrom::Start(at)).expect("within the file");
        let mut bytes = vec![0; random.random_range(1..=64)];
        random.fill(&mut bytes[..]);
        bytes.truncate(usize::try_from(length - at).unwrap_or(usize::MAX));
        file.write_all(&bytes).expect("writable");
    }
    drop(file);
    let read =
        [&["show", "latest"][..], &["show", "latest", "--format", "json"], &["gate", "latest"], &["history"]];
    for args in read {
        found.clear(&place.lab.plimsoll(args), &[0, 2, 3, 4]);
    }
    found.clear(&place.lab.plimsoll(&["run", &experiment]), &[0, 3, 4]);
    place.doctor(found);
}

/// Truncates the log, as after a crash of a disk that lost acknowledged writes: the remaining file has to be sound.
fn cut_log(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let Some(run) = place.start(random, found) else { return };
    let give_up = Instant::now() + Duration::from_secs(30);
    while place.stored().is_empty() && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(30));
    }
    run.signal(Signal::SIGKILL);
    found.no_panic(&run.ends());
    let before = place.stored();
    let log = place.lab.path("state/plimsoll/runs.sqlite-wal");
    let mut bytes = Vec::new();
    File::open(&log)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .expect("a store that was killed has a log");
    bytes.truncate(random.random_range(0..=bytes.len()));
    fs::write(&log, bytes).expect("writable");
    let after = place.stored();
    // Missing rows were cut off; remaining rows have to be the stored ones.
    found.lost.extend(before.lost_since(&after));
    found.lost.extend(after.damage.clone());
    place.look(&after, found);
}

fn six_writers(place: &Sandbox, random: &mut StdRng, found: &mut Damage) {
    let experiment = place.lab.file("short.toml", SHORT);
    let mut runs: Vec<Process> = (0..6).map(|_| place.lab.start(&["run", &experiment])).collect();
    pause(random, LATEST_MS);
    let victim = runs.swap_remove(random.random_range(0..runs.len()));
    let before = place.stored();
    victim.signal(Signal::SIGKILL);
    found.no_panic(&victim.ends());
    let ends: Vec<Printed> = runs.into_iter().map(Process::ends).collect();
    for output in &ends {
        found.clear(output, &[0, 4]);
    }
    let after = place.stored();
    let trials: usize = after.trials().values().sum();
    found.expect(trials >= ends.len(), || format!("{trials} of {} trials are stored", ends.len()));
    place.look(&before, found);
}
