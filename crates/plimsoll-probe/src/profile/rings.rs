//! The kernel's buffers of samples, one for each CPU.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use perf_event::data::Record;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use plimsoll_model::observation::{ProfileClock, TracedCall};

use super::ProfilerError;
use super::blocks::{BlockRings, Request};
use super::calls::CallRings;
use super::failures::Failures;
use super::jit;
use super::looks::Waiting;
use super::processes::{self, Identity, Mapping, ProcessKind, Processes};
use plimsoll_inventory::parse_cpu_list;

/// The size of a CPU's buffer in bytes.
const BUFFER: usize = 1 << 19;
/// The most frames of a stack, as the kernel has it by default (kernel.perf_event_max_stack).
const DEEPEST: u16 = 127;

// Marks in a list of frames, in front of those that they describe (PERF_CONTEXT_* in linux/perf_event.h).
const OF_KERNEL: u64 = -128_i64 as u64;
const OF_USER: u64 = -512_i64 as u64;
const LARGEST_MARK: u64 = -4095_i64 as u64;

/// The mark of a new name that comes with a new program (PERF_RECORD_MISC_COMM_EXEC).
const EXECUTED: u16 = 1 << 13;

/// Where a CPU was, without names yet. Frames go from the innermost to the outermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawStack {
    pub(super) process: Identity,
    pub(super) kernel: Vec<u64>,
    pub(super) user: Vec<(Arc<Path>, u64)>,
    /// Code whose address stands on the stack of a service, from its top on: calls that have not returned, and some that have.
    pub(super) maybe_callers: Vec<(Arc<Path>, u64)>,
}

/// Everything sampled in a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    pub(super) stacks: HashMap<RawStack, u64>,
    pub(super) lost: u64,
    /// Samples of each thread of programs.
    pub(super) threads: BTreeMap<(Identity, u32), u64>,
    /// Calls that were traced, by whom and how often.
    pub(super) calls: BTreeMap<(TracedCall, Identity), u64>,
    /// Requests of block devices, by the process, the device, and whether they write: how many, and how many bytes.
    pub(super) blocks: BTreeMap<(Identity, u32, bool), (u64, u64)>,
    /// Where threads waited.
    pub(super) waiting: Waiting,
    /// System calls that failed, by their number, the error and the process.
    pub(super) failures: BTreeMap<(i64, i32, Identity), u64>,
    /// For how long these were watched.
    pub(super) watched: Duration,
    /// For how long stacks were sampled.
    pub(super) lasted: Duration,
    /// For how long CPUs were idle meanwhile, all of them together.
    pub(super) idle: Duration,
}

impl Sampled {
    pub(super) fn merge(&mut self, other: Self) {
        for (stack, samples) in other.stacks {
            *self.stacks.entry(stack).or_default() += samples;
        }
        self.lost += other.lost;
        for (thread, samples) in other.threads {
            *self.threads.entry(thread).or_default() += samples;
        }
        for (call, count) in other.calls {
            *self.calls.entry(call).or_default() += count;
        }
        for (io, (requests, bytes)) in other.blocks {
            let known = self.blocks.entry(io).or_default();
            *known = (known.0 + requests, known.1 + bytes);
        }
        self.waiting.merge(other.waiting);
        for (failure, count) in other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        self.watched += other.watched;
        self.lasted += other.lasted;
        self.idle += other.idle;
    }
}

/// A counter on each CPU that writes samples into a buffer.
pub(super) struct Rings {
    samplers: Vec<Sampler>,
    calls: CallRings,
    blocks: BlockRings,
    clock: ProfileClock,
    pub(super) processes: Processes,
}

impl Rings {
    /// `commands` is the service that the children of this process are, where they are followed by the kernel's records. Interpreters without frame
    /// pointers end the list of frames before the function that they interpret, which is found in the first `stack_bytes` of the user stack.
    pub(super) fn open(
        cpus: &[usize],
        hertz: u32,
        stack_bytes: u32,
        commands: Option<&str>,
    ) -> Result<Self, ProfilerError> {
        let follows = commands.is_some();
        let (samplers, clock) = match sampling(&Hardware::CPU_CYCLES, cpus, (hertz, stack_bytes), follows) {
            Ok(samplers) => (samplers, ProfileClock::Cycles),
            // What a machine without such a counter says differs from one CPU and hypervisor to another.
            Err(error) if !is_denied(&error) => (
                sampling(&Software::CPU_CLOCK, cpus, (hertz, stack_bytes), follows).map_err(why)?,
                ProfileClock::CpuClock,
            ),
            Err(error) => return Err(why(error)),
        };
        Ok(Self {
            samplers,
            calls: CallRings::open(cpus),
            blocks: BlockRings::open(cpus),
            clock,
            processes: commands.map_or_else(Processes::default, Processes::of_commands),
        })
    }

    pub(super) fn clock(&self) -> ProfileClock {
        self.clock
    }

    pub(super) fn untraced(&self) -> &[&'static str] {
        self.calls.untraced()
    }

    /// Begins a window, without what was written since the last one: the kernel goes on sampling for a moment after each.
    pub(super) fn begin(&mut self, is_enabled: bool) {
        self.processes.begin();
        self.calls.discard();
        self.blocks.empty_into(|_, _, _, _| {});
        self.samplers.iter_mut().for_each(|sampler| while sampler.next_record().is_some() {});
        if !is_enabled {
            // An event that could be opened can be enabled.
            self.blocks.enable();
            self.samplers.iter_mut().for_each(|sampler| drop(sampler.enable()));
        }
    }

    pub(super) fn disable(&mut self) {
        self.blocks.disable();
        self.samplers.iter_mut().for_each(|sampler| drop(sampler.disable()));
    }

    /// Takes everything out of the buffers. What happened on several CPUs is put into its order first: a process is forked on one and runs another
    /// program on the next.
    pub(super) fn empty_into(&mut self, sampled: &mut Sampled) {
        let mut events = Vec::new();
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                sampled.lost += read(&record, &mut events);
            }
        }
        self.calls.empty_into(|at, (call, times), (pid, name)| {
            events.push((at, PerfEvent::Call { call, times, pid, name }));
        });
        self.blocks.empty_into(|at, requests, request, pid| {
            events.push((at, PerfEvent::Request { pid, requests, request }));
        });
        events.sort_by_key(|(at, _)| *at);
        for (_, event) in events {
            self.take(event, sampled);
        }
    }

    fn take(&mut self, event: PerfEvent, sampled: &mut Sampled) {
        match event {
            PerfEvent::Sample { pid, tid, chain, words } => {
                let stack = self.stack(pid, &chain, &words);
                if stack.process.kind == ProcessKind::Program {
                    *sampled.threads.entry((stack.process.clone(), tid)).or_default() += 1;
                }
                *sampled.stacks.entry(stack).or_default() += 1;
            }
            PerfEvent::Call { call, times, pid, name } => {
                let mut caller = self.processes.get(pid).identity.clone();
                if let Some(name) = name {
                    caller.name = name.into();
                }
                *sampled.calls.entry((call, caller)).or_default() += times;
            }
            PerfEvent::Request { pid, requests, request } => {
                let process = self.processes.get(pid).identity.clone();
                let known = sampled.blocks.entry((process, request.device, request.writes)).or_default();
                *known = (known.0 + requests, known.1 + requests * request.bytes);
            }
            PerfEvent::Fork { parent, child } => {
                if let Some(parent) = self.processes.part(parent).filter(|_| parent != child) {
                    *sampled.calls.entry((TracedCall::Fork, parent.clone())).or_default() += 1;
                }
                self.processes.forked(parent, child);
            }
            PerfEvent::Name { pid, name } => self.processes.renamed(pid, &name),
            PerfEvent::Program { pid } => self.processes.executed(pid),
            PerfEvent::Code { pid, code } => self.processes.mapped(pid, code),
        }
    }

    /// Whose calls failed. Processes are known by what was emptied out of the buffers before.
    pub(super) fn count(&mut self, failures: Failures, sampled: &mut Sampled) {
        for ((call, error, pid), count) in failures.counts {
            let process = self.processes.get(pid).identity.clone();
            *sampled.failures.entry((call, error, process)).or_default() += count;
        }
        sampled.watched += failures.watched;
        sampled.lost += failures.lost;
    }

    fn stack(&mut self, pid: u32, chain: &[u64], words: &[u64]) -> RawStack {
        let process = self.processes.sampled(pid).identity.clone();
        let is_part = process.service.is_some();
        let mut stack = RawStack { process, kernel: Vec::new(), user: Vec::new(), maybe_callers: Vec::new() };
        let mut context = 0;
        for &address in chain {
            match address {
                mark if mark >= LARGEST_MARK => context = mark,
                address if context == OF_KERNEL => stack.kernel.push(address),
                address if context == OF_USER => stack.user.extend(self.processes.locate(pid, address)),
                _ => {}
            }
        }
        // Without frame pointers, what follows the innermost frame is there by chance.
        let is_compiled = stack.user.iter().any(|(file, _)| jit::is_map(file));
        if let Some(function) = self.processes.compiled(pid, words).filter(|_| !is_compiled) {
            stack.user.truncate(1);
            stack.user.push(function);
        } else if is_part && !is_compiled {
            stack.maybe_callers = self.processes.return_addresses(pid, words);
        }
        stack
    }
}

/// The bytes of a stack as words, of which some are return addresses.
fn words(stack: &[u8]) -> Vec<u64> {
    let (words, _) = stack.as_chunks();
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// The CPUs that are on line.
pub(crate) fn cpus() -> Result<Vec<usize>, ProfilerError> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online")
        .map_err(|source| ProfilerError::Absent { source })?;
    Ok(parse_cpu_list(&list).into_iter().map(|cpu| cpu as usize).collect())
}

/// Event that the kernel reports.
enum PerfEvent {
    Sample { pid: u32, tid: u32, chain: Vec<u64>, words: Vec<u64> },
    Call { call: TracedCall, times: u64, pid: u32, name: Option<String> },
    Request { pid: u32, requests: u64, request: Request },
    Fork { parent: u32, child: u32 },
    Name { pid: u32, name: String },
    Program { pid: u32 },
    Code { pid: u32, code: Mapping },
}

/// Adds the events of a record, each with its time. Returns the number of lost samples.
fn read(record: &perf_event::Record<'_>, events: &mut Vec<(u64, PerfEvent)>) -> u64 {
    let at = time(record);
    match record.parse_record() {
        Ok(Record::Sample(sample)) => {
            if let (Some(pid), Some(chain)) = (sample.pid(), sample.callchain()) {
                let tid = sample.tid().unwrap_or(pid);
                let (chain, words) = (chain.to_vec(), words(sample.stack_user().unwrap_or_default()));
                events.push((sample.time().unwrap_or(at), PerfEvent::Sample { pid, tid, chain, words }));
            }
        }
        Ok(Record::Fork(fork)) => {
            events.push((fork.time, PerfEvent::Fork { parent: fork.ppid, child: fork.pid }));
        }
        Ok(Record::Comm(comm)) if comm.pid == comm.tid => {
            let name = comm.comm_os().to_string_lossy().into_owned();
            events.push((at, PerfEvent::Name { pid: comm.pid, name }));
            if record.misc() & EXECUTED != 0 {
                events.push((at, PerfEvent::Program { pid: comm.pid }));
            }
        }
        Ok(Record::Mmap2(map)) => {
            let mapping = processes::mapping(map.pid, map.addr, map.len, map.pgoff, map.filename_os());
            events.extend(mapping.map(|code| (at, PerfEvent::Code { pid: map.pid, code })));
        }
        Ok(Record::Lost(lost)) => return lost.lost,
        Ok(Record::LostSamples(lost)) => return lost.lost,
        // Others were not asked for.
        Ok(_) => {}
        Err(_) => return 1,
    }
    0
}

/// When a record was written that is no sample: what all of them end with (`sample_id` in perf_event_open(2)), of which the time is the last.
fn time(record: &perf_event::Record<'_>) -> u64 {
    let bytes = record.to_contiguous();
    bytes.last_chunk().map_or(0, |last| u64::from_ne_bytes(*last))
}

/// A sampler on each CPU. One that cannot be made, because the CPU went off line meanwhile, fails them all.
fn sampling<E: Event + Clone>(
    event: &E,
    cpus: &[usize],
    (hertz, stack_bytes): (u32, u32),
    with_code: bool,
) -> std::io::Result<Vec<Sampler>> {
    let mut parts = SampleFlag::TID | SampleFlag::TIME | SampleFlag::CALLCHAIN;
    // Samples of idle CPUs and of the kernel's threads have an empty user stack, which the parser cannot read at the end of a record. This field follows it.
    parts.set(SampleFlag::STACK_USER | SampleFlag::TRANSACTION, stack_bytes > 0);
    let sampler = |&cpu: &usize| {
        Builder::new(event.clone())
            .any_pid()
            .one_cpu(cpu)
            .include_kernel()
            .sample_frequency(hertz.into())
            // All CPUs' records are put into one order.
            .clockid(Clock::MONOTONIC)
            .sample_id_all(true)
            .sample(parts)
            .sample_max_stack(DEEPEST)
            .sample_stack_user(stack_bytes)
            .task(true)
            .comm(true)
            .comm_exec(with_code)
            .mmap(with_code)
            .mmap2(with_code)
            .build()?
            .sampled(BUFFER)
    };
    cpus.iter().map(sampler).collect()
}

fn is_denied(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied || error.raw_os_error() == Some(Errno::EPERM as i32)
}

fn why(error: std::io::Error) -> ProfilerError {
    if is_denied(&error) {
        let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
        return ProfilerError::Denied { paranoid: level.and_then(|level| level.trim().parse().ok()) };
    }
    ProfilerError::Absent { source: error }
}
