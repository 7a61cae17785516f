//! Which process a sample belongs to, and which files its code comes from.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_model::experiment::service::SERVICE_MARK;

use super::jit;

/// Code that a process has mapped from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where in the file it begins.
    pub(super) offset: u64,
    pub(super) file: Arc<Path>,
}

/// Who a process is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Identity {
    pub(super) name: Arc<str>,
    /// The inode of its network namespace; none where the process was gone before it could be asked.
    pub(super) namespace: Option<u64>,
    pub(super) kind: ProcessKind,
    /// The service that it is part of.
    pub(super) service: Option<Arc<str>>,
}

/// What kind of process it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ProcessKind {
    /// A program.
    #[default]
    Program,
    /// A thread of the kernel, which has no memory of its own.
    KernelThread,
    /// A CPU that has nothing to do.
    Idle,
    /// A process of Plimsoll's, of this run or another, that is no load and no service.
    Plimsoll,
}

/// How far up the process tree a service is looked for: past the shells of a script to what started it.
const MOST_ANCESTORS: usize = 6;
/// How much of an environment is read, in bytes.
const MOST_OF_ENVIRONMENT: u64 = 1 << 16;

/// The services of processes that were asked before.
pub(super) type Services = HashMap<u32, Option<Arc<str>>>;

/// The service that a process is part of: its environment, or that of a process above it, says so. Some programs write over theirs.
pub(super) fn service_of(pid: u32, known: &mut Services) -> Option<Arc<str>> {
    let mut walked = Vec::new();
    let mut above = Some(pid);
    let mut service = None;
    while let Some(at) = above.filter(|_| walked.len() < MOST_ANCESTORS) {
        // The process itself may run another program since it was asked.
        if let Some(answer) = known.get(&at).filter(|_| at != pid) {
            service = answer.clone();
            break;
        }
        walked.push(at);
        service = marked(at);
        above = if service.is_some() { None } else { parent_of(at) };
    }
    known.extend(walked.into_iter().map(|pid| (pid, service.clone())));
    service
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent > 1).then_some(parent)
}

fn marked(pid: u32) -> Option<Arc<str>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(MOST_OF_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    let mut entries = environment.split(|byte| *byte == 0);
    let name = entries.find_map(|entry| entry.strip_prefix(SERVICE_MARK.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(name).into())
}

/// The name of the program, and of its processes that call themselves nothing else.
pub(super) const OWN_NAME: &str = "plimsoll";

/// Whether the program is Plimsoll: the same file, or a file of its name, as of a run of another version. What a process calls itself says nothing.
/// Nothing where it has ended.
fn is_own_program(pid: u32) -> Option<bool> {
    let link = format!("/proc/{pid}/exe");
    let file = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let path = fs::read_link(&link).ok()?;
    let name = path.file_name()?.to_str()?;
    let is_named_so = name.trim_end_matches(" (deleted)") == OWN_NAME;
    Some(is_named_so || file(&link).is_some_and(|its| file("/proc/self/exe") == Some(its)))
}

/// The name and the kind of a program: Plimsoll's own work, or a load, a service or a link of a run, or a program of somebody else.
fn identify(pid: u32, name: &str) -> (Arc<str>, ProcessKind) {
    match is_own_program(pid) {
        Some(true) => {}
        // It must not pass for one of ours.
        Some(false) if name == OWN_NAME => {
            return ("plimsoll (another program)".into(), ProcessKind::Program);
        }
        _ => return (name.into(), ProcessKind::Program),
    }
    let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split('\0').skip(1);
    let kind = match (arguments.next(), arguments.next()) {
        // What waits at the gate until the program ends.
        (Some("agent"), Some("exec")) => ProcessKind::Plimsoll,
        (Some("agent"), _) | (_, Some("emulator" | "pour")) => ProcessKind::Program,
        _ => ProcessKind::Plimsoll,
    };
    (name.into(), kind)
}

/// A process as it was when it was first sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) identity: Identity,
    /// Read when it is sampled for the first time; a program that was not sampled need not be asked.
    mappings: Option<Arc<Vec<Mapping>>>,
}

impl Process {
    /// A place in its code as a file and an offset in it.
    pub(super) fn locate(&self, address: u64) -> Option<(Arc<Path>, u64)> {
        let mapping = self.mappings.as_ref()?.iter().find(|it| (it.start..it.end).contains(&address))?;
        Some((Arc::clone(&mapping.file), address - mapping.start + mapping.offset))
    }
}

/// The processes that were seen since sampling began. Processes fork and end between two looks, so that they come from
/// the kernel's fork events, and from `/proc` only if an event is missing.
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: HashMap<u32, Process>,
    services: Services,
}

impl Processes {
    /// Forgets all: their ids may belong to others by now.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.services.clear();
    }

    pub(super) fn get(&mut self, pid: u32) -> &Process {
        self.get_mut(pid)
    }

    fn get_mut(&mut self, pid: u32) -> &mut Process {
        let Self { known, services } = self;
        known.entry(pid).or_insert_with(|| read(pid, services))
    }

    /// A process that code was sampled of.
    pub(super) fn sampled(&mut self, pid: u32) -> &Process {
        let process = self.get_mut(pid);
        process.mappings.get_or_insert_with(|| {
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            Arc::new(parse(&maps, || jit::map_of(pid)))
        });
        process
    }

    /// A process has forked: the child is as its parent.
    pub(super) fn forked(&mut self, parent: u32, child: u32) {
        if parent != child {
            let copy = self.get(parent).clone();
            self.known.insert(child, copy);
        }
    }

    /// A process has another name, mostly because it runs another program now.
    pub(super) fn renamed(&mut self, pid: u32, name: &str) {
        self.get(pid);
        if let Some(process) = self.known.get_mut(&pid) {
            let (name, kind) = identify(pid, name);
            process.identity.name = name;
            if process.identity.kind != ProcessKind::KernelThread {
                process.identity.kind = kind;
            }
            if process.identity.service.is_none() {
                process.identity.service = service_of(pid, &mut self.services);
            }
            process.mappings = None;
        }
    }
}

fn read(pid: u32, services: &mut Services) -> Process {
    // Idle CPUs, and softirqs on them, run as process 0, which is not in /proc.
    if pid == 0 {
        let identity = Identity { name: "idle".into(), kind: ProcessKind::Idle, ..Identity::default() };
        return Process { identity, ..Process::default() };
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
    let is_of_kernel = maps.as_ref().is_ok_and(String::is_empty);
    let name = name.as_deref().map_or("unknown", str::trim_end);
    let (name, kind) =
        if is_of_kernel { (name.into(), ProcessKind::KernelThread) } else { identify(pid, name) };
    let namespace = fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|inode| inode.ino());
    let service = if is_of_kernel { None } else { service_of(pid, services) };
    let identity = Identity { name, namespace, kind, service };
    Process { identity, mappings: maps.ok().map(|maps| Arc::new(parse(&maps, || jit::map_of(pid)))) }
}

/// The code among the mappings of `/proc/PID/maps`. What belongs to no file the program has compiled itself: its names stand in `compiled`, by their
/// addresses.
fn parse(maps: &str, compiled: impl FnOnce() -> PathBuf) -> Vec<Mapping> {
    let compiled: LazyCell<Arc<Path>, _> = LazyCell::new(|| compiled().into());
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let runs = words.next()?.contains('x');
        let offset = words.next()?;
        let number = |hex| u64::from_str_radix(hex, 16).ok();
        let (start, end) = (number(start)?, number(end)?);
        let is_nameless = words.nth(2).is_none();
        let (file, offset) = match line.find('/').map(|at| &line[at..]) {
            Some(file) => (Path::new(file).into(), number(offset)?),
            None if is_nameless && runs => (Arc::clone(&compiled), start),
            None => return None,
        };
        runs.then_some(Mapping { start, end, offset, file })
    };
    maps.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_by_its_file_and_data_is_not() {
        let maps = "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n\
                    00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus daemon\n\
                    7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n\
                    7f0000001000-7f0000002000 rw-p 00000000 00:00 0\n\
                    7ffd5a000000-7ffd5a001000 r-xp 00000000 00:00 0   [vdso]\n";
        let map = Path::new("/tmp/perf-1.map");
        let process =
            Process { mappings: Some(Arc::new(parse(maps, || map.to_owned()))), ..Process::default() };
        let (file, offset) = process.locate(0x0040_0123).expect("it is mapped");
        assert_eq!((&*file, offset), (Path::new("/usr/bin/dbus daemon"), 0x1123));
        let compiled = process.locate(0x7f00_0000_0010).expect("it is mapped");
        assert_eq!((&*compiled.0, compiled.1), (map, 0x7f00_0000_0010));
        assert!(process.locate(0x7f00_0000_1010).is_none() && process.locate(0x7ffd_5a00_0010).is_none());
        assert!(process.locate(0x0045_2000).is_none() && process.locate(0x0065_1000).is_none());
    }

    #[test]
    fn our_own_processes_are_known_by_their_program_and_not_by_what_they_call_themselves() {
        use std::os::unix::process::CommandExt;
        use std::process::{Command, Stdio};
        // This test is the program that is asked.
        assert_eq!(read(std::process::id(), &mut Services::new()).identity.kind, ProcessKind::Plimsoll);
        let mut stranger =
            Command::new("/bin/sleep").arg0(OWN_NAME).arg("30").stdout(Stdio::null()).spawn().unwrap();
        let (name, kind) = identify(stranger.id(), OWN_NAME);
        assert_eq!((&*name, kind), ("plimsoll (another program)", ProcessKind::Program));
        let folder = tempfile::tempdir().unwrap();
        let other_version = folder.path().join(OWN_NAME);
        fs::copy("/bin/sleep", &other_version).unwrap();
        let mut neighbour = Command::new(other_version).arg0("x").arg("30").spawn().unwrap();
        assert_eq!(read(neighbour.id(), &mut Services::new()).identity.kind, ProcessKind::Plimsoll);
        for child in [&mut stranger, &mut neighbour] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn what_a_service_starts_is_part_of_it_whatever_it_is_called_and_whatever_it_forgets() {
        use std::process::{Command, Stdio};
        let sleeper = |script: &str, mark: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped());
            if mark {
                command.env(SERVICE_MARK, "app");
            }
            command.spawn().unwrap()
        };
        let script = "env -i sleep 30 & echo $!; wait";
        for (mark, expected) in [(true, Some("app")), (false, None)] {
            let mut shell = sleeper(script, mark);
            let mut line = String::new();
            let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
            std::io::BufRead::read_line(&mut output, &mut line).unwrap();
            let child = line.trim().parse().unwrap();
            assert_eq!(service_of(child, &mut Services::new()).as_deref(), expected);
            assert_eq!(read(shell.id(), &mut Services::new()).identity.service.as_deref(), expected);
            nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(child as i32),
                nix::sys::signal::Signal::SIGKILL,
            )
            .unwrap();
            shell.wait().unwrap();
        }
    }

    #[test]
    fn a_child_is_as_its_parent_until_it_runs_something_else() {
        let mut processes = Processes::default();
        let me = processes.get(std::process::id()).clone();
        // No process has this id: the largest that Linux gives is 4,194,304.
        let child = 5_000_000;
        processes.forked(std::process::id(), child);
        assert_eq!(processes.get(child).identity, me.identity);
        processes.renamed(child, "other");
        assert_eq!(&*processes.get(child).identity.name, "other");
        assert_eq!(processes.get(std::process::id()).identity, me.identity);
        assert_eq!(&*processes.get(child + 1).identity.name, "unknown");
    }
}
