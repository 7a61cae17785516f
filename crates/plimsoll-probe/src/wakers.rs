//! Who wakes whom: the program whose action ends a sleep of another one, by the tracepoint `sched:sched_waking` (kernel/sched/core.c).
//!
//! A client asks and sleeps; on the same machine its server wakes it, in whatever way both communicate: unconnected UDP sockets, a network
//! namespace of the server's own, shared memory. Interrupts wake threads as well, while anybody's process runs on that CPU. So a
//! server counts only where both wake each other.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use perf_event::Sampler;
use perf_event::data::Record;

use crate::profile::{TraceFs, cpus, sampler, set_filter};

const TRACEPOINT: &str = "sched/sched_waking";
/// The size of a buffer in bytes, one for each CPU: room for some 500 wake-ups between two looks. What comes later is lost.
const BUFFER: usize = 1 << 15;
/// Where the flags of the interrupt and the id of the woken thread stand in a record: behind type, flags, preempt count and process, and a name of 16
/// bytes.
const FLAGS: usize = 2;
const WOKEN: usize = 24;
/// A hardware interrupt wakes, as that of a timer (TRACE_FLAG_HARDIRQ, include/linux/trace_events.h).
const HARDIRQ: u8 = 0x08;
/// The most names of threads that are looked for: a filter has room for some 4,000 letters.
const MOST_NAMES: usize = 24;

/// How often a process has woken a thread.
pub(crate) type Wakes = BTreeMap<(u32, u32), u64>;

/// Sees wake-ups of threads, and by threads, of some names.
pub(crate) struct Wakers {
    names: BTreeSet<String>,
    samplers: Vec<Sampler>,
}

impl Wakers {
    /// Opens the tracepoint on all CPUs, disabled and without names.
    ///
    /// # Errors
    /// The kernel has no such tracepoint, or does not allow it.
    pub(crate) fn open() -> io::Result<Self> {
        let id = TraceFs::open().id(TRACEPOINT).ok_or(io::ErrorKind::NotFound)?;
        let cpus = cpus().map_err(io::Error::other)?;
        let samplers = cpus.into_iter().map(|cpu| sampler(id, cpu, BUFFER)).collect::<io::Result<_>>()?;
        Ok(Self { names: BTreeSet::new(), samplers })
    }

    /// Looks for threads of these names from the next beginning on.
    pub(crate) fn look_for(&mut self, mut names: BTreeSet<String>) -> io::Result<()> {
        // A name with a quotation mark would end its text.
        names.retain(|name| !name.contains(['"', '\\']));
        while names.len() > MOST_NAMES {
            names.pop_last();
        }
        if names.is_empty() || names == self.names {
            return Ok(());
        }
        let tests = names.iter().map(|name| format!("comm == \"{name}\" || COMM == \"{name}\""));
        let filter = tests.collect::<Vec<_>>().join(" || ");
        self.samplers.iter().try_for_each(|sampler| set_filter(sampler, &filter))?;
        self.names = names;
        Ok(())
    }

    /// Begins to see wake-ups. Each one of the machine costs time as long as it goes on.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        let samplers = self.samplers.iter_mut().filter(|_| !self.names.is_empty());
        samplers.into_iter().try_for_each(|sampler| sampler.enable())
    }

    /// Ends it: which process woke which thread, as often as there was room for.
    pub(crate) fn end(&mut self) -> Wakes {
        let mut wakes = Wakes::new();
        for sampler in &mut self.samplers {
            // An event that could be opened can be disabled.
            let _ = sampler.disable();
            while let Some(record) = sampler.next_record() {
                let Ok(Record::Sample(sample)) = record.parse_record() else { continue };
                if let Some((waker, woken)) = sample.pid().zip(sample.raw().and_then(woken)) {
                    *wakes.entry((waker, woken)).or_default() += 1;
                }
            }
        }
        wakes
    }
}

/// The thread that was woken, unless by a hardware interrupt.
fn woken(raw: &[u8]) -> Option<u32> {
    let woken = u32::from_ne_bytes(*raw.get(WOKEN..)?.first_chunk()?);
    (raw[FLAGS] & HARDIRQ == 0).then_some(woken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_woken_thread_is_read_from_its_place_unless_an_interrupt_woke_it() {
        let record = |flags: u8| {
            let mut raw = vec![0, 0, flags, 0, 0, 0, 0, 0];
            raw.extend(b"dnsperf\0\0\0\0\0\0\0\0\0");
            raw.extend(42_u32.to_ne_bytes());
            raw
        };
        assert_eq!(woken(&record(0x10)), Some(42), "the softirq of who sends");
        assert_eq!(woken(&record(HARDIRQ)), None);
        assert_eq!(woken(&record(0)[..26]), None, "it is cut off");
    }
}
