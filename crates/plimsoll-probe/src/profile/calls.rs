//! Who makes files durable, and who is killed because memory has run out: by the kernel's tracepoints.
//!
//! The tracepoints are those of file systems and not of system calls: tracing even one system call makes every one of all processes go a longer
//! way.

use std::io;

use nix::sys::resource::{Resource, getrlimit};
use perf_event::data::Record;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use plimsoll_model::observation::TracedCall;

use super::tracefs::TraceFs;

/// What is traced, the most telling first: include/trace/events/oom.h, ext4.h, fs/xfs/xfs_trace.h, include/trace/events/btrfs.h and f2fs.h.
const TRACED: [(TracedCall, &str); 9] = [
    (TracedCall::OomKill, "oom/mark_victim"),
    (TracedCall::FileSync, "ext4/ext4_sync_file_enter"),
    (TracedCall::FileSync, "xfs/xfs_file_fsync"),
    (TracedCall::FileSync, "btrfs/btrfs_sync_file"),
    (TracedCall::FileSync, "f2fs/f2fs_sync_file_enter"),
    (TracedCall::FileSystemSync, "ext4/ext4_sync_fs"),
    (TracedCall::FileSystemSync, "xfs/xfs_fs_sync_fs"),
    (TracedCall::FileSystemSync, "btrfs/btrfs_sync_fs"),
    (TracedCall::FileSystemSync, "f2fs/f2fs_sync_fs"),
];
/// The part of the descriptors that a process may have which is used: each tracepoint takes one on each CPU.
const PART_OF_DESCRIPTORS: usize = 2;
/// The size of a buffer in bytes, of which there is one for each tracepoint and CPU: room for some hundred calls between two looks.
const BUFFER: usize = 1 << 13;
/// Where the id of the victim stands in what `oom/mark_victim` writes: behind the fields that all tracepoints have (type, flags, preempt count and
/// process: 8 bytes).
const VICTIM: usize = 8;

/// Counters on tracepoints, on each CPU. There are none of those that this kernel does not have.
pub(super) struct CallRings {
    samplers: Vec<(TracedCall, Sampler)>,
    untraced: Vec<&'static str>,
}

impl CallRings {
    pub(super) fn open(cpus: &[usize]) -> Self {
        let files = TraceFs::open();
        let known = TRACED.iter().filter_map(|(call, name)| Some((*call, *name, files.id(name)?)));
        let mut traced: Vec<(TracedCall, &'static str, u64)> = known.collect();
        let without_room = traced.split_off(traced.len().min(room_for(descriptors(), cpus.len())));
        let each =
            traced.iter().flat_map(|(call, _, id)| cpus.iter().map(move |cpu| (*call, sampler(*id, *cpu))));
        // Without one of them the others tell less, not wrongly.
        let samplers = each.filter_map(|(call, sampler)| Some((call, sampler.ok()?))).collect();
        Self { samplers, untraced: without_room.into_iter().map(|(_, name, _)| name).collect() }
    }

    /// Tracepoints for which there were too few descriptors.
    pub(super) fn untraced(&self) -> &[&'static str] {
        &self.untraced
    }

    pub(super) fn enable(&mut self) {
        for (_, sampler) in &mut self.samplers {
            let _ = sampler.enable();
        }
    }

    pub(super) fn disable(&mut self) {
        for (_, sampler) in &mut self.samplers {
            let _ = sampler.disable();
        }
    }

    /// Takes everything out of the buffers: when which call was made, and by which process; with its name where the kernel gives it.
    pub(super) fn empty_into(&mut self, mut tell: impl FnMut(u64, TracedCall, u32, Option<String>)) {
        for (call, sampler) in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let Ok(Record::Sample(sample)) = record.parse_record() else { continue };
                let pid = match call {
                    TracedCall::OomKill => victim(sample.raw()),
                    TracedCall::FileSync | TracedCall::FileSystemSync => sample.pid(),
                };
                let name = sample.raw().filter(|_| *call == TracedCall::OomKill).and_then(victims_name);
                if let (Some(at), Some(pid)) = (sample.time(), pid) {
                    tell(at, *call, pid, name);
                }
            }
        }
    }
}

/// The descriptors that this process may have.
fn descriptors() -> usize {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    usize::try_from(soft).unwrap_or(usize::MAX)
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

fn sampler(tracepoint: u64, cpu: usize) -> io::Result<Sampler> {
    Builder::new(Tracepoint::with_id(tracepoint))
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        // As the samples' clock, to be put into one order with them.
        .clockid(Clock::MONOTONIC)
        .sample_period(1)
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW)
        .build()?
        .sampled(BUFFER)
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
