//! The names of functions: those of the kernel from `/proc/kallsyms`, those of programs from their files.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blazesym::MaybeDefault;
use blazesym::helper::read_elf_build_id;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Builder, Input, Symbolized, Symbolizer};
use nix::errno::Errno;
use plimsoll_model::observation::{
    BlockIo, CallCount, CpuUse, FailedCalls, Frame, FrameKind, IoLimit, ProcessState, Profile,
    ProfileBuilder, Seen, ServiceMember, Throttled, Wait, WaitSite, is_helper,
};
use syscalls::Sysno;

use super::c_library::CLibrary;
use super::files::open_safely;
use super::jit::{self, JitMap};
use super::processes::{Identity, OWN_NAME, ProcessKind};
use super::rings::{RawStack, Sampled};
use super::{HostNamespaces, LineSamples, threads};

/// Where a function is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CodeLocation {
    /// An address in the kernel.
    Kernel(u64),
    /// An offset in a program's file.
    Program {
        file: Arc<Path>,
        offset: u64,
        /// Whether a process of the run's hosts has it in its memory.
        is_of_the_run: bool,
    },
}

/// A program whose names are read.
struct Program {
    source: Source<'static>,
    /// The opened program. Its descriptor stays on this file when somebody renames or replaces the path.
    file: File,
}

/// Where Debian and others keep symbols that were taken out of programs, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// The most programs whose names are read; each keeps a file open.
const MOST_PROGRAMS: usize = 200;
/// What the processes of no host belong to.
const MACHINE: &str = "machine";
/// What threads of the kernel, and interrupts of idle CPUs, belong to.
const KERNEL: &str = "kernel";
/// What a function is called that a program has compiled itself, and given no name to.
const COMPILED: &str = "[compiled]";
/// What softirqs belong to that follow an interrupt.
const SOFTIRQ: &str = "softirq";

/// Finds names, and remembers them.
pub(super) struct Symbols {
    symbolizer: Symbolizer,
    kernel: Source<'static>,
    /// The file that has the names of each program: itself, or one beside it.
    programs: HashMap<(Arc<Path>, bool), Option<Program>>,
    /// The names of what programs have compiled themselves, by the files that they write them to.
    compiled: HashMap<Arc<Path>, JitMap>,
    /// Functions of the C library without names in its file.
    c_library: LazyCell<CLibrary>,
    known: HashMap<CodeLocation, Frame>,
    /// Whether processes of hosts may bring their own files.
    trusts_hosts: bool,
    /// Whether lines of source are asked for.
    reads_lines: bool,
}

/// A program's file is open and never another one, so that it need not be asked at each address whether it has changed.
fn builder() -> Builder {
    Symbolizer::builder().enable_auto_reload(false)
}

impl Symbols {
    /// Reads debug information as well.
    pub(super) fn with_lines(self) -> Self {
        let symbolizer = builder().enable_code_info(true).enable_inlined_fns(true).build();
        Self { symbolizer, reads_lines: true, ..self }
    }

    pub(super) fn new(trusts_hosts: bool) -> Self {
        let kernel = Kernel {
            vmlinux: MaybeDefault::None,
            kaslr_offset: Some(0),
            debug_syms: false,
            ..Kernel::default()
        };
        Self {
            symbolizer: builder().enable_code_info(false).enable_inlined_fns(false).build(),
            kernel: Source::Kernel(kernel),
            programs: HashMap::new(),
            compiled: HashMap::new(),
            c_library: LazyCell::new(CLibrary::of_this_process),
            known: HashMap::new(),
            trusts_hosts,
            reads_lines: false,
        }
    }

    /// Lines of source that services were sampled in.
    pub(super) fn lines(&self, sampled: &Sampled) -> Vec<LineSamples> {
        let mut found: BTreeMap<(String, PathBuf, u32), u64> = BTreeMap::new();
        let in_service = |stack: &&RawStack| stack.kernel.is_empty() && stack.process.service.is_some();
        for stack in sampled.stacks.keys().filter(|_| self.reads_lines).filter(in_service) {
            let Some((file, offset)) = stack.user.first() else { continue };
            let Some(line) = self.line(file, *offset) else { continue };
            *found.entry(line).or_default() += sampled.stacks[stack];
        }
        let each = found.into_iter();
        each.map(|((function, file, line), samples)| LineSamples { function, file, line, samples }).collect()
    }

    /// The function, the file and the line of a piece of code. Of a function that was put into another one, the line is its own.
    fn line(&self, file: &Arc<Path>, offset: u64) -> Option<(String, PathBuf, u32)> {
        let program = self.programs.get(&(Arc::clone(file), true))?.as_ref()?;
        let symbol =
            self.symbolizer.symbolize_single(&program.source, Input::FileOffset(offset)).ok()?.into_sym()?;
        let innermost = symbol.inlined.last().and_then(|inlined| inlined.code_info.as_ref());
        let code = innermost.or(symbol.code_info.as_deref())?;
        Some((symbol.name.into_owned(), code.to_path().into_owned(), code.line?))
    }

    /// Samples with names.
    pub(super) fn name(
        &mut self,
        sampled: &Sampled,
        hosts: &HostNamespaces,
        mut into: ProfileBuilder,
    ) -> Profile {
        let rare = if self.trusts_hosts { HashSet::new() } else { rare_programs(sampled) };
        for (stack, samples) in &sampled.stacks {
            let kernel: Vec<Frame> =
                stack.kernel.iter().rev().map(|address| self.frame(CodeLocation::Kernel(*address))).collect();
            let softirq = softirq(&kernel);
            if stack.process.kind == ProcessKind::Idle
                && softirq.is_none()
                && !kernel.iter().any(is_interrupt)
            {
                continue;
            }
            let mut whole = Vec::new();
            match softirq {
                Some(Softirq { at, interrupts: true }) => {
                    whole.push(Frame::new(FrameKind::Shared, SOFTIRQ));
                    whole.extend_from_slice(&kernel[at..]);
                }
                _ => {
                    let owner = owner(&stack.process, hosts);
                    let is_of_the_run = self.trusts_hosts && owner.kind == FrameKind::Host;
                    whole.push(owner);
                    whole.push(Frame::new(FrameKind::Process, role(&stack.process)));
                    let is_interpreted = stack.user.iter().any(|(file, _)| jit::is_map(file));
                    let user = stack.user.iter().rev().map(|(file, offset)| {
                        if rare.contains(file) {
                            return Frame::new(FrameKind::User, unnamed(file));
                        }
                        self.frame(CodeLocation::Program {
                            file: Arc::clone(file),
                            offset: *offset,
                            is_of_the_run,
                        })
                    });
                    let user = user.filter(|frame| !is_interpreted || !jit::interprets(&frame.name));
                    // A short command has ended before its libraries are asked for.
                    let user = user.map(|frame| match jit::compiled_in(&stack.process.name) {
                        Some(what) if frame.name == COMPILED => Frame::new(frame.kind, what),
                        _ => frame,
                    });
                    let user: Vec<Frame> = user.collect();
                    whole.extend(self.caller(&user, stack, is_of_the_run));
                    whole.extend(user);
                    whole.extend(kernel);
                }
            }
            into.add(&whole, *samples);
        }
        for ((call, process), count) in &sampled.calls {
            into.call(&CallCount {
                call: *call,
                owner: owner(process, hosts),
                process: name(process),
                count: *count,
            });
        }
        into.miss(sampled.lost, 0);
        into.see(&seen(sampled, hosts));
        let mut profile = into.build();
        profile.idle = (sampled.idle.as_secs_f64() * f64::from(profile.hertz)).round() as u64;
        profile
    }

    /// The nearest caller whose name says what is done, where no function of a program has such a name: without frame pointers its calls are found among
    /// the words of its stack.
    fn caller(&mut self, user: &[Frame], stack: &RawStack, is_of_the_run: bool) -> Option<Frame> {
        let says_nothing = |frame: &Frame| frame.name.starts_with('[') || is_helper(&frame.name);
        if user.is_empty() || !user.iter().all(says_nothing) {
            return None;
        }
        let mut callers = stack.maybe_callers.iter().map(|(file, offset)| {
            self.frame(CodeLocation::Program { file: Arc::clone(file), offset: *offset, is_of_the_run })
        });
        callers.find(|frame| !says_nothing(frame))
    }

    fn frame(&mut self, place: CodeLocation) -> Frame {
        if let Some(frame) = self.known.get(&place) {
            return frame.clone();
        }
        let frame = match &place {
            CodeLocation::Kernel(address) => {
                let found = self.symbolizer.symbolize_single(&self.kernel, Input::AbsAddr(*address));
                let name = found.ok().and_then(Symbolized::into_sym).map(|it| it.name.into_owned());
                Frame::new(FrameKind::Kernel, name.as_deref().map_or("[kernel]", as_in_the_source))
            }
            CodeLocation::Program { file, offset, is_of_the_run } if jit::is_map(file) => {
                let map = self.compiled.entry(Arc::clone(file)).or_default();
                match map.name(file, *offset, *is_of_the_run) {
                    Some(name) => Frame::new(FrameKind::User, name),
                    // It may get a name later.
                    None => return Frame::new(FrameKind::User, map.nameless(file).unwrap_or(COMPILED)),
                }
            }
            CodeLocation::Program { file, offset, is_of_the_run } => {
                let known = self.programs.len();
                let reads_lines = self.reads_lines;
                let program = self.programs.entry((Arc::clone(file), *is_of_the_run)).or_insert_with(|| {
                    if known < MOST_PROGRAMS { program(file, *is_of_the_run, reads_lines) } else { None }
                });
                let found = program.as_ref().and_then(|program| {
                    self.symbolizer.symbolize_single(&program.source, Input::FileOffset(*offset)).ok()
                });
                let name = found.and_then(Symbolized::into_sym).map(|it| it.name.into_owned());
                let chosen = || {
                    program.as_ref().and_then(|it| self.c_library.name(&it.file, *offset)).map(str::to_owned)
                };
                let name = name.or_else(chosen);
                Frame::new(FrameKind::User, name.unwrap_or_else(|| unnamed(file)))
            }
        };
        self.known.insert(place, frame.clone());
        frame
    }
}

/// Programs in a smaller share of a window's busy samples, or in fewer samples, give no names on a machine in use: reading a large symbol table takes 0.1 s.
const RARE: (f64, f64) = (0.01, 3.0);

/// Files of programs that few samples were in. Plimsoll's own processes do not count.
fn rare_programs(sampled: &Sampled) -> HashSet<Arc<Path>> {
    let mut in_file: HashMap<Arc<Path>, u64> = HashMap::new();
    for (stack, samples) in &sampled.stacks {
        let samples = if stack.process.kind == ProcessKind::Plimsoll { 0 } else { *samples };
        let files: HashSet<&Arc<Path>> = stack.user.iter().map(|(file, _)| file).collect();
        for file in files {
            *in_file.entry(Arc::clone(file)).or_default() += samples;
        }
    }
    let busy = sampled.stacks.iter().filter(|(stack, _)| stack.process.kind != ProcessKind::Idle);
    let least = (RARE.0 * busy.map(|(_, samples)| *samples).sum::<u64>() as f64).max(RARE.1);
    in_file.into_iter().filter(|(_, samples)| (*samples as f64) < least).map(|(file, _)| file).collect()
}

/// The name of a function of the kernel, without what the compiler adds to parts and copies of it (`.part.0`, `.constprop.0`, `.isra.0`).
fn as_in_the_source(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| name)
}

/// The file itself, or the one that was split off from it and has more names. `None` if it is not to be read: what any process of the machine has
/// mapped may be a pipe, or be cut short while it is read, which ends the reader. Processes of the run may bring their own files; of others only
/// what nobody but their owner can write is read, and that owner is root or whoever runs this.
fn program(file: &Path, is_of_the_run: bool, reads_lines: bool) -> Option<Program> {
    let (opened, _) = open_safely(file, is_of_the_run)?;
    let itself = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    let split_off =
        read_elf_build_id(&itself).ok().flatten().map(|id| split_off(&id)).filter(|path| path.exists());
    let mut elf = Elf::new(split_off.unwrap_or(itself));
    elf.debug_syms = reads_lines;
    Some(Program { source: Source::Elf(elf), file: opened })
}

fn split_off(build_id: &[u8]) -> PathBuf {
    let hex = build_id.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string works");
        hex
    });
    let (folder, name) = hex.split_at(hex.len().min(2));
    Path::new(DEBUG_FILES).join(folder).join(format!("{name}.debug"))
}

/// What else was seen of processes, with names.
pub(super) fn seen(sampled: &Sampled, hosts: &HostNamespaces) -> Seen {
    let mut seen = Seen { looks: sampled.waiting.looks, members: members(sampled), ..Seen::default() };
    for ((process, site), waited) in &sampled.waiting.sites {
        let site = match site {
            threads::WaitSite::Cpu => WaitSite::Cpu,
            threads::WaitSite::Sleep { frames, call } => WaitSite::Sleep {
                functions: frames.iter().map(ToString::to_string).collect(),
                call: call.as_ref().map(ToString::to_string),
            },
        };
        let (owner, process) = (owner(process, hosts), name(process));
        seen.wait(Wait { owner, process, site, found: waited.found, us: waited.us });
    }
    for ((call, error, process), count) in &sampled.failures {
        seen.failure(FailedCalls {
            owner: owner(process, hosts),
            process: name(process),
            call: system_call(*call),
            error: format!("{:?}", Errno::from_raw(*error)),
            count: *count,
        });
    }
    for (process, samples) in busiest_threads(sampled) {
        let owner = owner(process, hosts);
        if owner.kind == FrameKind::Host {
            seen.thread(CpuUse { owner, process: name(process), samples });
        }
    }
    for ((process, device, writes), (requests, bytes)) in &sampled.blocks {
        seen.block(BlockIo {
            owner: owner(process, hosts),
            process: role(process),
            device: block_device(*device),
            writes: *writes,
            requests: *requests,
            bytes: *bytes,
        });
    }
    for ((namespace, group), throttled) in &sampled.waiting.groups {
        let Some(host) = hosts.get(namespace) else { continue };
        seen.throttle(Throttled {
            owner: Frame::new(FrameKind::Host, host),
            group: group.clone(),
            periods: throttled.periods,
            throttled: throttled.throttled,
            us: throttled.us,
        });
    }
    for ((namespace, group, device, what), most) in &sampled.waiting.io_limits {
        let Some(host) = hosts.get(namespace) else { continue };
        let number = device.split_once(':').and_then(|(major, minor)| {
            Some(major.parse::<u32>().ok()? << MINOR_BITS | minor.parse::<u32>().ok()?)
        });
        seen.io_limit(IoLimit {
            owner: Frame::new(FrameKind::Host, host),
            group: group.clone(),
            device: number.map_or_else(|| device.clone(), block_device),
            what: (*what).to_owned(),
            most: *most,
        });
    }
    for ((process, kind), most) in &sampled.waiting.states {
        seen.state(ProcessState {
            owner: owner(process, hosts),
            process: name(process),
            kind: *kind,
            most: *most,
        });
    }
    seen.watched_us = u64::try_from(sampled.watched.as_micros()).unwrap_or(u64::MAX);
    seen.sampled_us = u64::try_from(sampled.lasted.as_micros()).unwrap_or(u64::MAX);
    seen
}

/// The name of a process. Parts of a service carry its name, so that no stranger passes for one of them.
fn name(process: &Identity) -> String {
    match &process.service {
        Some(service) if process.kind == ProcessKind::Program => format!("{} ({service})", process.name),
        _ => process.name.to_string(),
    }
}

/// The name of a process; of a thread of the kernel without the CPU and the work of the moment: `kworker/u8:3+flush-254:0`.
fn role(process: &Identity) -> String {
    match process.kind {
        ProcessKind::KernelThread => {
            process.name.split(['/', ':']).next().unwrap_or(&process.name).to_owned()
        }
        _ => name(process),
    }
}

/// The parts of services that were seen.
fn members(sampled: &Sampled) -> Vec<ServiceMember> {
    let identities = (sampled.stacks.keys().map(|stack| &stack.process))
        .chain(sampled.waiting.sites.keys().map(|(identity, _)| identity))
        .chain(sampled.calls.keys().map(|(_, identity)| identity))
        .chain(sampled.blocks.keys().map(|(identity, ..)| identity))
        .chain(sampled.failures.keys().map(|(.., identity)| identity));
    let members = identities.filter(|it| it.kind == ProcessKind::Program).filter_map(|it| {
        let service = it.service.as_deref()?.to_owned();
        Some(ServiceMember { service, process: name(it) })
    });
    members.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The name of a system call of this machine's own architecture.
fn system_call(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {number}"), |call| call.name().to_owned())
}

/// The bits of a device number that are the minor part (include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// The name of a block device by its number.
fn block_device(number: u32) -> String {
    let (major, minor) = (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}"));
    let name = link.ok().and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| format!("{major}:{minor}"))
}

/// What a function without a name is called: by its file.
fn unnamed(file: &Path) -> String {
    format!("[{}]", file.file_name().unwrap_or(file.as_os_str()).to_string_lossy())
}

/// The samples of the busiest thread of each program.
fn busiest_threads(sampled: &Sampled) -> BTreeMap<&Identity, u64> {
    let mut busiest = BTreeMap::new();
    for ((process, _), samples) in &sampled.threads {
        let most: &mut u64 = busiest.entry(process).or_default();
        *most = (*most).max(*samples);
    }
    busiest
}

/// What a process belongs to.
fn owner(process: &Identity, hosts: &HostNamespaces) -> Frame {
    match process.namespace.and_then(|inode| hosts.get(&inode)) {
        _ if process.kind == ProcessKind::Plimsoll => Frame::new(FrameKind::Plimsoll, OWN_NAME),
        // The kernel's threads live in the machine's own namespace, which may be one that is looked at.
        _ if process.kind != ProcessKind::Program => Frame::new(FrameKind::Shared, KERNEL),
        Some(host) => Frame::new(FrameKind::Host, host),
        None => Frame::new(FrameKind::Others, MACHINE),
    }
}

struct Softirq {
    /// The place of its first frame.
    at: usize,
    /// Whether it interrupts whatever runs; else that has called it.
    interrupts: bool,
}

/// The softirq that a kernel stack is in, from the outermost frame on. It is called in `kernel/softirq.c`: at the end of an interrupt
/// (`irq_exit`), by the thread `ksoftirqd`, or by a process that lets softirqs run again (`do_softirq` below `__local_bh_enable_ip`).
fn softirq(kernel: &[Frame]) -> Option<Softirq> {
    let at =
        kernel.iter().position(|frame| matches!(frame.name.as_str(), "handle_softirqs" | "__do_softirq"))?;
    let is_called =
        kernel[..at].iter().any(|frame| matches!(frame.name.as_str(), "do_softirq" | "__local_bh_enable_ip"));
    Some(Softirq { at, interrupts: !is_called })
}

/// The outermost function of an interrupt, on x86 and on Arm.
fn is_interrupt(frame: &Frame) -> bool {
    let name = frame.name.as_str();
    ["common_interrupt", "sysvec_", "el1_interrupt"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_part_of_a_service_is_told_from_a_stranger_of_its_name() {
        let of = |service: Option<&str>| Identity {
            name: "sh".into(),
            service: service.map(Into::into),
            ..Identity::default()
        };
        let mut sampled = Sampled::default();
        for (who, error) in [(of(Some("app")), 1), (of(Some("beside")), 2), (of(None), 3)] {
            sampled.failures.insert((0, error, who), 1);
        }
        let seen = seen(&sampled, &HostNamespaces::new());
        let names: Vec<&str> = seen.failures.iter().map(|it| it.process.as_str()).collect();
        assert_eq!(names, ["sh (app)", "sh (beside)", "sh"]);
        let services: Vec<&str> = seen.members.iter().map(|it| it.service.as_str()).collect();
        assert_eq!(services, ["app", "beside"]);
    }

    #[test]
    fn a_pipe_is_never_read_and_what_others_can_write_only_for_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert!(program(&pipe, true, false).is_none() && program(&pipe, false, false).is_none());
        let file = folder.path().join("program");
        fs::copy("/proc/self/exe", &file).unwrap();
        for (mode, for_all) in [(0o755, true), (0o775, false), (0o757, false)] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                (program(&file, true, false).is_some(), program(&file, false, false).is_some()),
                (true, for_all),
                "{mode:o}"
            );
        }
        assert!(program(&folder.path().join("gone"), true, false).is_none());
    }
}
