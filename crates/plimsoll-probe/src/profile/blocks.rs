//! Who reads and writes block devices: by the tracepoint at which a request enters the block layer.
//!
//! That is where the process that asks is still known (`block_bio_queue`); requests are handed to a device later, mostly by a thread of the kernel
//! (`block_rq_issue`). What a program has only written to memory is written to the device by the kernel, and belongs to nobody then.
//!
//! Where there are many, the kernel takes every so manieth and says how many each stands for.

use std::io;

use perf_event::data::Record;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use super::tracefs::TraceFs;

const TRACEPOINT: &str = "block/block_bio_queue";
/// The approximate number of requests per second and CPU that are recorded.
const HERTZ: u64 = 500;
/// The size of a buffer in bytes, one for each CPU: room for 200 ms of them several times over.
const BUFFER: usize = 1 << 15;
/// Where the device, the length and the kind stand in the record (include/trace/events/block.h).
const DEVICE: usize = 8;
const SECTORS: usize = 24;
const KIND: usize = 28;
/// The unit of lengths, whatever the device has.
const SECTOR_BYTES: u64 = 512;

/// A request that a process made of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The number of the device, as the kernel has it inside: 12 bits and 20.
    pub(super) device: u32,
    pub(super) writes: bool,
    pub(super) bytes: u64,
}

/// Counters on the tracepoint, on each CPU. There are none where this is not allowed.
pub(super) struct BlockRings {
    samplers: Vec<Sampler>,
}

impl BlockRings {
    pub(super) fn open(cpus: &[usize]) -> Self {
        let id = TraceFs::open().id(TRACEPOINT);
        let samplers: Option<Vec<Sampler>> =
            id.and_then(|id| cpus.iter().map(|cpu| sampler(id, *cpu).ok()).collect());
        Self { samplers: samplers.unwrap_or_default() }
    }

    pub(super) fn enable(&mut self) {
        self.samplers.iter_mut().for_each(|sampler| drop(sampler.enable()));
    }

    pub(super) fn disable(&mut self) {
        self.samplers.iter_mut().for_each(|sampler| drop(sampler.disable()));
    }

    /// Takes everything out of the buffers: when, how many requests, which, and by which process.
    pub(super) fn empty_into(&mut self, mut tell: impl FnMut(u64, u64, Request, u32)) {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let Ok(Record::Sample(sample)) = record.parse_record() else { continue };
                let request = sample.raw().and_then(request);
                if let (Some(at), Some(request), Some(pid)) = (sample.time(), request, sample.pid()) {
                    tell(at, sample.period().unwrap_or(1).max(1), request, pid);
                }
            }
        }
    }
}

/// Request of a record. Only reads and writes move data: flushes, discards and zeroing of ranges do not (`blk_fill_rwbs` in kernel/trace/blktrace.c).
fn request(raw: &[u8]) -> Option<Request> {
    let number = |at: usize| Some(u32::from_ne_bytes(*raw.get(at..)?.first_chunk()?));
    let kind = raw.get(KIND..)?;
    // A flush in front of a request comes first in its kind: "FWS".
    let letter = kind.iter().copied().find(|letter| *letter != b'F')?;
    let writes = match letter {
        b'R' => false,
        b'W' => true,
        _ => return None,
    };
    Some(Request { device: number(DEVICE)?, writes, bytes: u64::from(number(SECTORS)?) * SECTOR_BYTES })
}

fn sampler(tracepoint: u64, cpu: usize) -> io::Result<Sampler> {
    Builder::new(Tracepoint::with_id(tracepoint))
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .clockid(Clock::MONOTONIC)
        .sample_frequency(HERTZ)
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::PERIOD | SampleFlag::RAW)
        .build()?
        .sampled(BUFFER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(device: u32, sectors: u32, kind: &str) -> Vec<u8> {
        let mut raw = vec![0_u8; DEVICE];
        raw.extend(device.to_ne_bytes());
        raw.extend([0; 12]);
        raw.extend(sectors.to_ne_bytes());
        raw.extend(kind.as_bytes());
        raw.push(0);
        raw
    }

    #[test]
    fn a_request_is_read_from_its_fields_and_only_data_counts() {
        let device = 253 << 20;
        let of = |sectors, kind| request(&record(device, sectors, kind));
        assert_eq!(of(8, "RA"), Some(Request { device, writes: false, bytes: 4096 }));
        assert_eq!(of(16, "FWS"), Some(Request { device, writes: true, bytes: 8192 }));
        assert_eq!(of(0, "FF"), None);
        assert_eq!(of(4 << 20, "D"), None, "a discard of 2 GiB");
        assert_eq!(of(4 << 20, "DE"), None);
        assert_eq!(of(4 << 20, "N"), None, "zeroes that no one sends");
        assert_eq!(request(&record(device, 8, "W")[..20]), None, "it is cut off");
    }
}
