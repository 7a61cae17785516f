//! Which process a sample belongs to, and which files its code comes from.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use plimsoll_model::experiment::service::SERVICE_MARK;

use super::{groups, jit};
use crate::small_file;
use crate::tree::parent_of;

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
    /// The inode of its network namespace; `None` if the process was gone before it could be asked.
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

/// A control group whose processes are a service.
#[derive(Clone, Debug)]
pub struct ServiceGroup {
    /// Its path from the root of its hierarchy, as `/proc/PID/cgroup` has it.
    pub path: String,
    /// The service.
    pub service: Arc<str>,
}

impl Services {
    /// These processes, and all that they start, are parts of services.
    pub(super) fn name(&mut self, parts: &BTreeMap<u32, Arc<str>>) {
        self.named.extend(parts.iter().map(|(pid, service)| (*pid, Arc::clone(service))));
        self.forget();
    }

    /// Forgets who was asked: numbers of processes may belong to others by now.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }
}

impl ServiceGroup {
    /// Whether the groups of a process are this one or one below it.
    fn has(&self, of_process: &str) -> bool {
        let mut paths = of_process.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let is_below = |path: &str| {
            path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        paths.any(is_below)
    }
}

/// The services of processes that were asked before.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    pub(super) known: HashMap<u32, Option<Arc<str>>>,
    pub(super) group: Option<ServiceGroup>,
    /// Whether environments stay unread. Reading one locks the memory of its process, and may reveal secrets.
    pub(super) is_off: bool,
    /// The mark that this run's processes have in their environment beside the name of the service. Where it is absent, any run's count.
    pub(super) run: Option<Arc<str>>,
    /// Processes that are known to be parts of services, with all that they start.
    pub(super) named: BTreeMap<u32, Arc<str>>,
}

/// The service that a process is part of: its environment, or that of a process above it, says so. Some programs write over theirs.
pub(super) fn service_of(pid: u32, services: &mut Services) -> Option<Arc<str>> {
    let Services { known, group, is_off, run, named } = services;
    if *is_off {
        return None;
    }
    let is_in = |group: &&ServiceGroup| groups::of_process(pid).is_some_and(|groups| group.has(&groups));
    if let Some(group) = group.as_ref().filter(is_in) {
        return Some(Arc::clone(&group.service));
    }
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
        service = marked(at, run.as_deref()).or_else(|| named.get(&at).cloned());
        above = if service.is_some() { None } else { parent_of(at) };
    }
    known.extend(walked.into_iter().map(|pid| (pid, service.clone())));
    service
}

/// The service that the environment of a process names, if the run's mark stands there as well: what another run left behind is a stranger.
fn marked(pid: u32, run: Option<&str>) -> Option<Arc<str>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(MOST_OF_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    let mut entries = environment.split(|byte| *byte == 0);
    let is_mark = |entry: &[u8]| {
        run.is_none_or(|run| entry.strip_suffix(run.as_bytes()).is_some_and(|name| name.ends_with(b"=")))
    };
    entries.clone().any(is_mark).then_some(())?;
    let name = entries.find_map(|entry| entry.strip_prefix(SERVICE_MARK.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(name).into())
}

/// The name of the program, and of its processes that call themselves nothing else.
pub(super) const OWN_NAME: &str = "plimsoll";

/// Whether the program is Plimsoll: the same file, or a file of its name, as of a run of another version. What a process calls itself says nothing.
/// `None` if it has ended.
fn is_own_program(pid: u32) -> Option<bool> {
    static OWN: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    let link = format!("/proc/{pid}/exe");
    let file = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let path = fs::read_link(&link).ok()?;
    let name = path.file_name()?.to_str()?;
    let is_named_so = name.trim_end_matches(" (deleted)") == OWN_NAME;
    let own = *OWN.get_or_init(|| file("/proc/self/exe"));
    Some(is_named_so || own.is_some() && file(&link) == own)
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
    /// What tells it from others that get its id; absent where it was not asked, as of one that is known by its parent.
    birth: Option<Birth>,
    /// The last window in which it was seen.
    window: u64,
    /// When it was asked last for what it has mapped.
    mapped_at: Option<Instant>,
    /// How many times in a row the answer did not explain an address.
    mapped_in_vain: u32,
}

impl Process {
    /// A place in its code as a file and an offset in it.
    fn locate(&self, address: u64) -> Option<(Arc<Path>, u64)> {
        let mapping = self.mappings.as_ref()?.iter().find(|it| (it.start..it.end).contains(&address))?;
        Some((Arc::clone(&mapping.file), address - mapping.start + mapping.offset))
    }
}

/// When a process began, what it is called, and where the code of its program begins, which is elsewhere in the next program that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Birth {
    name: String,
    started: u64,
    code: u64,
}

impl Birth {
    fn of(pid: u32) -> Option<Self> {
        parse_birth(&small_file::text(Path::new(&format!("/proc/{pid}/stat"))).ok()?)
    }

    /// Whether what has its id now is something else. What has ended has no code any more, or cannot be asked, and is still what it was.
    fn is_gone(&self, pid: u32) -> bool {
        Self::of(pid).is_some_and(|now| {
            let ended = now.code == 0 && self.code != 0;
            now.started != self.started || !ended && now != *self
        })
    }
}

/// Fields 2, 22 and 26 of `/proc/PID/stat` (proc_pid_stat(5)).
fn parse_birth(stat: &str) -> Option<Birth> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let started = fields.nth(22 - 3)?.parse().ok()?;
    Some(Birth { name: name.to_owned(), started, code: fields.nth(26 - 22 - 1)?.parse().ok()? })
}

/// The most callers that are looked for on a stack.
const MOST_CALLERS: usize = 12;
/// How soon a process is asked again for what it has mapped. Each answer in vain doubles the pause, up to some number of times.
const MAPPED_EVERY: Duration = Duration::from_secs(1);
const MOST_DOUBLED: u32 = 5;
/// For how many windows a process is known that nothing was sampled of.
const KNOWN_FOR: u64 = 64;

/// The processes that were seen since sampling began. Processes fork and end between two looks, so that they come from
/// the kernel's fork events, and from `/proc` only if an event is missing.
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: HashMap<u32, Process>,
    pub(super) services: Services,
    /// The process whose children are the measured commands, and the service that they are; absent where `/proc` tells it.
    commands: Option<(u32, Arc<str>)>,
    window: u64,
}

impl Processes {
    /// Learns all of this process's children from the kernel's records, since commands may end before anybody can look at `/proc`.
    pub(super) fn of_commands(service: &str) -> Self {
        Self { commands: Some((std::process::id(), service.into())), ..Self::default() }
    }

    /// Begins a new window. What happened since the last one is unknown, so that each process is asked in it whether it still is the one that it was;
    /// those that cannot be asked are forgotten.
    pub(super) fn begin(&mut self) {
        self.window += 1;
        let since = self.window.saturating_sub(KNOWN_FOR);
        self.known.retain(|_, process| process.birth.is_some() && process.window >= since);
        self.services.forget();
    }

    /// These processes, and all that they start, are parts of services.
    pub(super) fn name(&mut self, parts: &BTreeMap<u32, Arc<str>>) {
        self.services.name(parts);
        self.known.clear();
    }

    pub(super) fn get(&mut self, pid: u32) -> &Process {
        self.get_mut(pid)
    }

    fn get_mut(&mut self, pid: u32) -> &mut Process {
        let Self { known, services, window, .. } = self;
        let before = known.get(&pid).filter(|known| known.window < *window);
        if before.and_then(|known| known.birth.as_ref()).is_some_and(|birth| birth.is_gone(pid)) {
            known.remove(&pid);
        }
        let process = known.entry(pid).or_insert_with(|| {
            let mut process = read(pid, services);
            process.mapped_at = Some(Instant::now());
            process
        });
        process.window = *window;
        process
    }

    /// The file that a process has mapped where this address is, and the offset in it. Where there is none it is asked again, but not often: many frames of
    /// programs without frame pointers are no code at all.
    pub(super) fn locate(&mut self, pid: u32, address: u64) -> Option<(Arc<Path>, u64)> {
        let follows = self.commands.is_some();
        let process = self.get_mut(pid);
        // All that a command has mapped was recorded.
        let follows = follows && process.birth.is_none();
        let place = process.locate(address);
        let pause = MAPPED_EVERY * (1 << process.mapped_in_vain.min(MOST_DOUBLED));
        let is_recent = process.mapped_at.is_some_and(|at| at.elapsed() < pause);
        if place.is_some() || follows || is_recent {
            return place;
        }
        process.mapped_at = Some(Instant::now());
        process.mappings = Some(mappings(pid));
        let place = process.locate(address);
        process.mapped_in_vain = if place.is_some() { 0 } else { process.mapped_in_vain + 1 };
        place
    }

    /// The innermost function on a stack that the process has compiled and written a map of. A trampoline of CPython keeps one word between the address that
    /// its interpreter returns to and the one that it returns to itself (Python/asm_trampoline.S); its address alone may be left over from another call.
    pub(super) fn compiled(&self, pid: u32, stack: &[u64]) -> Option<(Arc<Path>, u64)> {
        let process = self.known.get(&pid)?;
        let map = &process.mappings.as_ref()?.iter().find(|it| jit::is_map(&it.file))?.file;
        map.exists().then_some(())?;
        stack.windows(3).find_map(|words| {
            let function = process.locate(words[0]).filter(|(file, _)| file == map)?;
            process.locate(words[2]).filter(|(file, _)| file != map)?;
            Some(function)
        })
    }

    /// Calls whose return addresses are among these words of a stack, and others that are left over, the topmost first.
    pub(super) fn return_addresses(&self, pid: u32, stack: &[u64]) -> Vec<(Arc<Path>, u64)> {
        let Some(process) = self.known.get(&pid) else { return Vec::new() };
        // The call ends where it returns to.
        let calls = stack.iter().filter_map(|word| process.locate(word.checked_sub(1)?));
        calls.filter(|(file, _)| !jit::is_map(file)).take(MOST_CALLERS).collect()
    }

    /// A process that code was sampled of.
    pub(super) fn sampled(&mut self, pid: u32) -> &Process {
        let process = self.get_mut(pid);
        process.mappings.get_or_insert_with(|| mappings(pid));
        process
    }

    /// A process that is known as part of a service, or of a measured command.
    pub(super) fn part(&self, pid: u32) -> Option<&Identity> {
        self.known.get(&pid).map(|known| &known.identity).filter(|identity| identity.service.is_some())
    }

    /// A process has forked: the child is as its parent.
    pub(super) fn forked(&mut self, parent: u32, child: u32) {
        if parent != child {
            let mut copy = Process { birth: None, ..self.get(parent).clone() };
            if let Some((_, service)) = self.commands.as_ref().filter(|(own, _)| *own == parent) {
                copy.identity.service = Some(Arc::clone(service));
            }
            self.known.insert(child, copy);
        }
    }

    /// A process runs another program now, and has nothing of the old one in its memory.
    pub(super) fn executed(&mut self, pid: u32) {
        if self.commands.is_some() {
            self.get_mut(pid).mappings = Some(Arc::default());
        }
    }

    /// A process has mapped code.
    pub(super) fn mapped(&mut self, pid: u32, mapping: Mapping) {
        let mappings = &mut self.get_mut(pid).mappings;
        // The newest is in force where two overlap.
        Arc::make_mut(mappings.get_or_insert_default()).insert(0, mapping);
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
            if self.commands.is_none() {
                process.mappings = None;
                process.mapped_in_vain = 0;
                process.birth = None;
            }
        }
    }
}

/// The code that a process has mapped; none where it has ended.
fn mappings(pid: u32) -> Arc<Vec<Mapping>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    Arc::new(parse(&maps, || jit::map_of(pid)))
}

fn read(pid: u32, services: &mut Services) -> Process {
    // Idle CPUs, and softirqs on them, run as process 0, which is not in /proc.
    if pid == 0 {
        let identity = Identity { name: "idle".into(), kind: ProcessKind::Idle, ..Identity::default() };
        return Process { identity, ..Process::default() };
    }
    let birth = Birth::of(pid);
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
    let is_of_kernel = maps.as_ref().is_ok_and(String::is_empty);
    let name = birth.as_ref().map_or("unknown", |birth| &birth.name);
    let (name, kind) =
        if is_of_kernel { (name.into(), ProcessKind::KernelThread) } else { identify(pid, name) };
    let namespace = fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|inode| inode.ino());
    let service = if is_of_kernel { None } else { service_of(pid, services) };
    let identity = Identity { name, namespace, kind, service };
    let mappings = maps.ok().map(|maps| Arc::new(parse(&maps, || jit::map_of(pid))));
    Process { identity, mappings, birth, ..Process::default() }
}

/// Code that the kernel says a process has mapped; `None` if it is of no file and was not compiled by the program.
pub(super) fn mapping(pid: u32, start: u64, length: u64, offset: u64, name: &OsStr) -> Option<Mapping> {
    let end = start.checked_add(length)?;
    match name.as_encoded_bytes() {
        b"//anon" => Some(Mapping { start, end, offset: start, file: jit::map_of(pid).into() }),
        [b'/', ..] => Some(Mapping { start, end, offset, file: Path::new(name).into() }),
        _ => None,
    }
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
    fn the_innermost_address_in_compiled_code_is_found_where_it_has_names() {
        let folder = tempfile::tempdir().unwrap();
        let file: Arc<Path> = folder.path().join("perf-7.map").into();
        let mapping = |start, file: &Arc<Path>| Mapping {
            start,
            end: start + 0x1000,
            offset: start,
            file: Arc::clone(file),
        };
        let program = mapping(0x1000, &Path::new("/usr/bin/python3").into());
        let mappings = Some(Arc::new(vec![program, mapping(0x8000, &file)]));
        let mut processes = Processes::default();
        processes.known.insert(7, Process { mappings, ..Process::default() });
        // The second is a pointer that an earlier call has left.
        let stack = [0x1010, 0x8000, 0, 7, 0x8106, 0, 0x1020, 0x8206, 0, 0x1020];
        assert_eq!(processes.compiled(7, &stack), None, "it wrote no map");
        fs::write(&file, "").unwrap();
        assert_eq!(processes.compiled(7, &stack), Some((file, 0x8106)));
        assert_eq!(processes.compiled(7, &stack[..4]), None);
        assert_eq!(processes.compiled(8, &stack), None);
    }

    #[test]
    fn our_own_processes_are_known_by_their_program_and_not_by_what_they_call_themselves() {
        use std::os::unix::process::CommandExt;
        use std::process::{Command, Stdio};
        // This test is the program that is asked.
        assert_eq!(read(std::process::id(), &mut Services::default()).identity.kind, ProcessKind::Plimsoll);
        let mut stranger =
            Command::new("/bin/sleep").arg0(OWN_NAME).arg("30").stdout(Stdio::null()).spawn().unwrap();
        let (name, kind) = identify(stranger.id(), OWN_NAME);
        assert_eq!((&*name, kind), ("plimsoll (another program)", ProcessKind::Program));
        let folder = tempfile::tempdir().unwrap();
        let other_version = folder.path().join(OWN_NAME);
        fs::copy("/bin/sleep", &other_version).unwrap();
        let mut neighbour = Command::new(other_version).arg0("x").arg("30").spawn().unwrap();
        assert_eq!(read(neighbour.id(), &mut Services::default()).identity.kind, ProcessKind::Plimsoll);
        for child in [&mut stranger, &mut neighbour] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn members_of_a_group_and_of_those_below_it_are_the_service_and_neighbours_are_not() {
        let group = ServiceGroup { path: "/app".into(), service: "command".into() };
        let of = |path: &str| group.has(&format!("4:memory:/\n1:cpu,cpuacct:{path}\n0::/\n"));
        assert_eq!(["/app", "/app/worker", "/apple", "/"].map(of), [true, true, false, false]);
        let text = groups::of_process(std::process::id()).unwrap();
        let path = text.lines().find_map(|line| line.splitn(3, ':').nth(2)).unwrap().to_owned();
        let mut own = Services { group: Some(ServiceGroup { path, ..group }), ..Services::default() };
        assert_eq!(service_of(std::process::id(), &mut own).as_deref(), Some("command"));
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
            assert_eq!(service_of(child, &mut Services::default()).as_deref(), expected);
            assert_eq!(read(shell.id(), &mut Services::default()).identity.service.as_deref(), expected);
            nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(child as i32),
                nix::sys::signal::Signal::SIGKILL,
            )
            .unwrap();
            shell.wait().unwrap();
        }
    }

    #[test]
    fn what_another_run_left_behind_is_no_part_of_the_service_and_what_serves_is() {
        let sleeper = |run: &str| {
            let mut command = std::process::Command::new("sleep");
            command.arg("30").env(SERVICE_MARK, "command").env("PLIMSOLL_COMMAND_OF", run).spawn().unwrap()
        };
        let mut children = [sleeper("7:8:9"), sleeper("17:8:9")];
        let [own, other] = children.each_ref().map(std::process::Child::id);
        let of_run = || Services { run: Some("7:8:9".into()), ..Services::default() };
        assert_eq!(service_of(own, &mut of_run()).as_deref(), Some("command"));
        assert_eq!(service_of(other, &mut of_run()), None);
        let mut serving = of_run();
        serving.name(&[(own, "served".into()), (other, "served".into())].into());
        assert_eq!(service_of(other, &mut serving).as_deref(), Some("served"));
        assert_eq!(service_of(own, &mut serving).as_deref(), Some("command"));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_command_is_known_by_its_parent_and_its_code_by_what_it_mapped_last() {
        let mut processes = Processes::of_commands("command");
        processes.services.is_off = true;
        let (child, stranger) = (5_000_000, 5_000_001);
        processes.forked(std::process::id(), child);
        processes.forked(stranger, stranger + 1);
        assert_eq!(processes.get(child).identity.service.as_deref(), Some("command"));
        assert_eq!(processes.get(stranger + 1).identity.service, None);
        let mapping = |file: &str| Mapping { start: 16, end: 32, offset: 0, file: Path::new(file).into() };
        processes.mapped(child, mapping("/old"));
        processes.renamed(child, "program");
        processes.executed(child);
        assert_eq!(processes.sampled(child).locate(20), None);
        processes.mapped(child, mapping("/first"));
        processes.mapped(child, mapping("/second"));
        assert_eq!(processes.sampled(child).locate(20), Some((Path::new("/second").into(), 4)));
        assert_eq!(processes.get(child).identity.service.as_deref(), Some("command"));
        let mut beside =
            std::process::Command::new("sleep").arg("30").env(SERVICE_MARK, "command").spawn().unwrap();
        assert_eq!(processes.get(beside.id()).identity.service, None, "another Plimsoll's");
        beside.kill().unwrap();
        beside.wait().unwrap();
    }

    #[test]
    fn a_process_is_asked_again_in_a_new_window_only_where_it_runs_another_program() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read x; exec sh -c 'read y; exec sleep 30'"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Its name changes before its code does.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (pid, mut input) = (child.id(), child.stdin.take().unwrap());
        let until = |is_it: &dyn Fn(&Birth) -> bool| {
            let patience = Instant::now() + Duration::from_secs(10);
            while !Birth::of(pid).is_some_and(|birth| is_it(&birth)) {
                assert!(Instant::now() < patience, "{:?}", Birth::of(pid));
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let mut processes = Processes::default();
        let first = processes.get(pid).birth.clone().unwrap();
        let mark = |processes: &mut Processes| {
            processes.known.get_mut(&pid).unwrap().identity.service = Some("kept".into());
        };
        let is_kept =
            |processes: &mut Processes| processes.get(pid).identity.service.as_deref() == Some("kept");
        mark(&mut processes);
        processes.begin();
        assert!(is_kept(&mut processes));
        // Another program of the same name has its code elsewhere.
        input.write_all(b"1\n").unwrap();
        until(&|birth| birth.code != first.code);
        processes.begin();
        assert!(!is_kept(&mut processes));
        mark(&mut processes);
        input.write_all(b"2\n").unwrap();
        until(&|birth| birth.name == "sleep");
        processes.begin();
        assert_eq!(&*processes.get(pid).identity.name, "sleep");
        // Samples from before its end keep its name.
        mark(&mut processes);
        child.kill().unwrap();
        until(&|birth| birth.code == 0);
        processes.begin();
        assert!(is_kept(&mut processes));
        child.wait().unwrap();
        processes.begin();
        assert!(is_kept(&mut processes));
    }

    #[test]
    fn code_that_was_mapped_later_is_found() {
        let mut processes = Processes::default();
        let pid = std::process::id();
        let address = code_that_was_mapped_later_is_found as *const () as u64;
        processes.sampled(pid);
        processes.known.get_mut(&pid).unwrap().mappings = Some(Arc::default());
        assert_eq!(processes.locate(pid, address), None, "it was asked just now");
        processes.known.get_mut(&pid).unwrap().mapped_at = None;
        let (file, _) = processes.locate(pid, address).unwrap();
        assert_eq!(&*file, std::env::current_exe().unwrap());
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
