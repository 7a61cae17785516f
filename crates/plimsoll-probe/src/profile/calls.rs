//! Who makes files durable, who is killed because memory has run out, and who ends by a signal: by the kernel's tracepoints.
//!
//! The tracepoints are those of file systems and not of system calls: tracing even one system call makes every one of all processes go a longer
//! way.

use std::io;

use perf_event::data::Record;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use plimsoll_model::observation::TracedCall;

use super::failures::set_filter;
use super::kept::descriptors;
use super::tracefs::TraceFs;

/// Tracepoints, the most telling first: include/trace/events/oom.h, signal.h, ext4.h, fs/xfs/xfs_trace.h, include/trace/events/btrfs.h and f2fs.h.
const TRACED: [(TracedCall, &str); 12] = [
    (TracedCall::OomKill, "oom/mark_victim"),
    (TracedCall::Crash, SENT),
    (TracedCall::Crash, DELIVERED),
    (TracedCall::Signal, DELIVERED),
    (TracedCall::FileSync, "ext4/ext4_sync_file_enter"),
    (TracedCall::FileSync, "xfs/xfs_file_fsync"),
    (TracedCall::FileSync, "btrfs/btrfs_sync_file"),
    (TracedCall::FileSync, "f2fs/f2fs_sync_file_enter"),
    (TracedCall::FileSystemSync, "ext4/ext4_sync_fs"),
    (TracedCall::FileSystemSync, "xfs/xfs_fs_sync_fs"),
    (TracedCall::FileSystemSync, "btrfs/btrfs_sync_fs"),
    (TracedCall::FileSystemSync, "f2fs/f2fs_sync_fs"),
];
/// A signal is sent: SIGKILL counts here, because every other thread of a process that exits seems to get one when it ends.
const SENT: &str = "signal/signal_generate";
/// A signal arrives. Those that tell of a mistake count here, where nobody handles them: SIGILL, SIGABRT, SIGBUS, SIGFPE and SIGSEGV.
const DELIVERED: &str = "signal/signal_deliver";
/// Filters of tracepoints that report much else.
const FILTERS: [((TracedCall, &str), &str); 3] = [
    ((TracedCall::Crash, SENT), "sig == 9"),
    (
        (TracedCall::Crash, DELIVERED),
        "sa_handler == 0 && (sig == 4 || sig == 6 || sig == 7 || sig == 8 || sig == 11)",
    ),
    // SIG_DFL and SIG_IGN are 0 and 1.
    ((TracedCall::Signal, DELIVERED), "sa_handler > 1"),
];
/// Signals are counted by every sixteenth: a timer or a runtime may send thousands of them in a second.
const SIGNALS: u64 = 16;
/// The part of the descriptors that a process may have which is used: each tracepoint takes one on each CPU.
const PART_OF_DESCRIPTORS: usize = 2;
/// The size of a buffer in bytes, of which there is one for each tracepoint and CPU: room for some 200 calls between two looks.
const BUFFER: usize = 1 << 14;
/// Where the id of the victim stands in what `oom/mark_victim` writes: behind the fields that all tracepoints have (type, flags, preempt count and
/// process: 8 bytes).
const VICTIM: usize = 8;
/// Where the name and the id of whom a signal is sent to stand in what `signal/signal_generate` writes, and how long the name may be: behind the signal,
/// its errno and its code.
const SENT_TO: (usize, usize, usize) = (20, 36, 16);

/// Counters on tracepoints, on each CPU. There are none of those that this kernel does not have.
///
/// They count until they are dropped. Turning one on or off interrupts its CPU, at dozens of counters in each slice; the calls are rare.
pub(super) struct CallRings {
    samplers: Vec<(TracedCall, &'static str, Sampler)>,
    untraced: Vec<&'static str>,
}

impl CallRings {
    pub(super) fn open(cpus: &[usize]) -> Self {
        let files = TraceFs::open();
        let known = TRACED.iter().filter_map(|(call, name)| Some((*call, *name, files.id(name)?)));
        let mut traced: Vec<(TracedCall, &'static str, u64)> = known.collect();
        let without_room = traced.split_off(traced.len().min(room_for(descriptors(), cpus.len())));
        let each = traced.iter().flat_map(|(call, name, id)| {
            cpus.iter().map(move |cpu| (*call, *name, sampler((*call, name), *id, *cpu)))
        });
        // Without one of them the others tell less, not wrongly.
        let samplers = each.filter_map(|(call, name, sampler)| Some((call, name, sampler.ok()?))).collect();
        Self { samplers, untraced: without_room.into_iter().map(|(_, name, _)| name).collect() }
    }

    /// Tracepoints for which there were too few descriptors.
    pub(super) fn untraced(&self) -> &[&'static str] {
        &self.untraced
    }

    /// Drops the calls made so far.
    pub(super) fn discard(&mut self) {
        self.empty_into(|_, _, _| {});
    }

    /// Takes everything out of the buffers: when which call was made and how often, and by which process; with its name where the kernel gives it.
    pub(super) fn empty_into(&mut self, mut tell: impl FnMut(u64, (TracedCall, u64), (u32, Option<String>))) {
        for (call, tracepoint, sampler) in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let Ok(Record::Sample(sample)) = record.parse_record() else { continue };
                let (pid, name) = match (*call, *tracepoint) {
                    (TracedCall::OomKill, _) => (victim(sample.raw()), sample.raw().and_then(victims_name)),
                    (TracedCall::Crash, SENT) => sample.raw().and_then(sent_to).unzip(),
                    _ => (sample.pid(), None),
                };
                if let (Some(at), Some(pid)) = (sample.time(), pid) {
                    tell(at, (*call, period(*call)), (pid, name));
                }
            }
        }
    }
}

/// For how many tracepoints there is room, beside the samplers, of which there is one on each CPU as well.
fn room_for(descriptors: usize, cpus: usize) -> usize {
    (descriptors / PART_OF_DESCRIPTORS / cpus.max(1)).saturating_sub(1)
}

fn victim(raw: Option<&[u8]>) -> Option<u32> {
    let bytes = raw?.get(VICTIM..VICTIM + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// The name of the victim, which Linux tells since 6.8: behind its id stands where in the record the name does, and how long it is.
fn victims_name(raw: &[u8]) -> Option<String> {
    let place = u32::from_ne_bytes(*raw.get(VICTIM + 4..)?.first_chunk()?);
    let name = raw.get((place & 0xffff) as usize..)?.get(..(place >> 16) as usize)?;
    let name = name.split(|byte| *byte == 0).next()?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Whom a signal is sent to.
fn sent_to(raw: &[u8]) -> Option<(u32, String)> {
    let (name_at, id_at, length) = SENT_TO;
    let id = u32::from_ne_bytes(*raw.get(id_at..)?.first_chunk()?);
    let name = raw.get(name_at..name_at + length)?.split(|byte| *byte == 0).next()?;
    Some((id, String::from_utf8_lossy(name).into_owned()))
}

/// Of how many calls one is recorded.
fn period(call: TracedCall) -> u64 {
    if call == TracedCall::Signal { SIGNALS } else { 1 }
}

fn sampler(traced: (TracedCall, &str), tracepoint: u64, cpu: usize) -> io::Result<Sampler> {
    let mut sampler = Builder::new(Tracepoint::with_id(tracepoint))
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        // As the samples' clock, to be put into one order with them.
        .clockid(Clock::MONOTONIC)
        .sample_period(period(traced.0))
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW)
        .build()?
        .sampled(BUFFER)?;
    if let Some((_, filter)) = FILTERS.iter().find(|(of, _)| *of == traced) {
        set_filter(&sampler, filter)?;
    }
    sampler.enable()?;
    Ok(sampler)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_take_half_of_the_descriptors_at_most() {
        assert!(room_for(1024, 2) >= TRACED.len());
        assert_eq!(room_for(1024, 128), 3);
        assert_eq!(room_for(1024, 512), 0);
        assert!((room_for(1024, 100) + 1) * 100 <= 512);
    }

    #[test]
    fn whom_a_signal_is_sent_to_is_read_from_its_place() {
        let mut raw = vec![0_u8; 20];
        raw.extend(b"nginx\0\0\0\0\0\0\0\0\0\0\0");
        raw.extend(42_u32.to_ne_bytes());
        assert_eq!(sent_to(&raw), Some((42, "nginx".to_owned())));
        assert_eq!(sent_to(&raw[..38]), None, "it is cut off");
    }

    #[test]
    fn a_process_that_is_killed_and_one_that_aborts_are_told_and_one_that_exits_is_not() {
        let cpus = super::super::rings::cpus().unwrap();
        let mut rings = CallRings::open(&cpus);
        let end = |command: &str| {
            let mut child = std::process::Command::new("sh").args(["-c", command]).spawn().unwrap();
            child.wait().unwrap();
            child.id()
        };
        let ids = ["kill -9 $$", "kill -ABRT $$", "exit 1"].map(end);
        let mut told = Vec::new();
        rings.empty_into(|_, (call, _), (pid, _)| told.push((call, pid)));
        let crashed = ids.map(|id| told.contains(&(TracedCall::Crash, id)));
        assert_eq!(crashed, [true, true, false], "{told:?}");
    }

    #[test]
    fn signals_that_a_process_handles_are_counted_and_those_that_it_ignores_are_not() {
        let mut rings = CallRings::open(&super::super::rings::cpus().unwrap());
        let raise = |action: &str| {
            let script = format!(
                "trap '{action}' USR1; n=0; while [ $n -lt 960 ]; do kill -USR1 $$; n=$((n+1)); done"
            );
            let mut child = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
            child.wait().unwrap();
            child.id()
        };
        let [handled, ignored] = [":", ""].map(raise);
        let mut counts: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
        rings.empty_into(|_, (call, times), (pid, _)| {
            if call == TracedCall::Signal {
                *counts.entry(pid).or_default() += times;
            }
        });
        // One of sixteen is recorded on each CPU.
        assert!(counts.get(&handled).is_some_and(|count| (800..=960).contains(count)), "{counts:?}");
        assert_eq!(counts.get(&ignored), None);
    }

    #[test]
    fn the_name_of_a_victim_is_read_from_where_the_record_says_and_nowhere_else() {
        let record = |place: u32, rest: &[u8]| {
            let mut raw = vec![0_u8; VICTIM];
            raw.extend(42_u32.to_ne_bytes());
            raw.extend(place.to_ne_bytes());
            raw.extend(rest);
            raw
        };
        let named = record(16 | 8 << 16, b"python3\0");
        assert_eq!((victim(Some(&named)), victims_name(&named).as_deref()), (Some(42), Some("python3")));
        assert_eq!(victims_name(&record(16 | 9 << 16, b"python3\0")), None, "it would go beyond the record");
        assert_eq!(victims_name(&named[..VICTIM + 4]), None, "an older kernel");
        assert_eq!(victim(Some(&named[..VICTIM])), None);
    }
}
