//! Which system calls fail, and with which error: by the tracepoint at which all of them return.
//!
//! As long as anybody traces it, every system call of every process goes a longer way through the kernel, which is dear where there are many. So
//! it is traced for a small part of the time only, in windows that are spread over what is measured; a filter in the kernel keeps those that
//! succeeded from being written down.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime};

use perf_event::data::Record;
use perf_event::events::Tracepoint;
use perf_event::{Builder, SampleFlag, Sampler};

use super::tracefs::TraceFs;

const TRACEPOINT: &str = "raw_syscalls/sys_exit";
/// Errors are the negative numbers from -4095 on (include/linux/err.h, MAX_ERRNO). Of those that nothing is wrong with, EAGAIN (11) and EINPROGRESS
/// (115) are as frequent as calls that succeed.
const FILTER: &str = "ret < 0 && ret > -4096 && ret != -11 && ret != -115";
/// How long a window is, and how much time that is sampled there is from one to the next, on average.
///
/// Opening and closing one changes the kernel's code, which interrupts all CPUs and costs far more than the window itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    pub(super) window: Duration,
    pub(super) every: Duration,
}

/// The size of a buffer in bytes, one for each CPU: room for some 4,000 calls.
const BUFFER: usize = 1 << 18;
/// Where the number of the call and what it returned stand in the record, behind the fields that all tracepoints have (include/trace/events/syscalls.h).
const CALL: usize = 8;
const RETURNED: usize = 16;

/// PERF_EVENT_IOC_SET_FILTER where a pointer has 8 bytes: _IOW('$', 6, char *) (include/uapi/linux/perf_event.h).
const SET_FILTER: libc::Ioctl = 0x4008_2406;

/// A system call by its number, the error as a positive number, and the process.
pub(super) type Failure = (i64, i32, u32);

/// System calls that failed, as far as they were watched.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) counts: BTreeMap<Failure, u64>,
    pub(super) watched: Duration,
    pub(super) lost: u64,
}

/// Opens windows in which calls that fail are seen.
pub(super) struct FailureWindows {
    cpus: Vec<usize>,
    rhythm: Rhythm,
    id: Option<u64>,
    open: Option<(Instant, Vec<Sampler>)>,
    next: Instant,
    /// How long it still was until the next window when sampling ended.
    left: Duration,
}

impl FailureWindows {
    pub(super) fn new(cpus: &[usize], rhythm: Rhythm) -> Self {
        let id = TraceFs::open().id(TRACEPOINT);
        let left = at_random(rhythm.every) / 2;
        Self { cpus: cpus.to_vec(), rhythm, id, open: None, next: Instant::now(), left }
    }

    /// Sampling begins: what is left until the next window runs on.
    pub(super) fn begin(&mut self) {
        self.next = Instant::now() + self.left;
    }

    /// Sampling ends, and with it a window that is open.
    pub(super) fn end(&mut self, failures: &mut Failures) {
        self.close(failures);
        self.left = self.next.saturating_duration_since(Instant::now());
    }

    /// How long until a window opens or closes.
    pub(super) fn due_in(&self) -> Option<Duration> {
        self.id?;
        let due = self.open.as_ref().map_or(self.next, |(since, _)| *since + self.rhythm.window);
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Opens or closes a window, if it is time to.
    pub(super) fn turn_if_due(&mut self, failures: &mut Failures) {
        if self.due_in().is_none_or(|due| !due.is_zero()) {
            return;
        }
        match self.open {
            Some(_) => self.close(failures),
            None => self.open(),
        }
    }

    fn open(&mut self) {
        let Some(id) = self.id else { return };
        let each = self.cpus.iter().map(|cpu| {
            let sampler = sampler(id, *cpu, BUFFER)?;
            set_filter(&sampler, FILTER)?;
            Ok(sampler)
        });
        let samplers: io::Result<Vec<Sampler>> = each.collect();
        match samplers {
            Ok(mut samplers) => {
                // An event that could be opened can be enabled.
                samplers.iter_mut().for_each(|sampler| drop(sampler.enable()));
                self.open = Some((Instant::now(), samplers));
            }
            // It is not allowed, or this kernel has no filters: not again.
            Err(_) => self.id = None,
        }
    }

    /// Closes the window that is open, if one is.
    fn close(&mut self, failures: &mut Failures) {
        let Some((since, mut samplers)) = self.open.take() else { return };
        samplers.iter_mut().for_each(|sampler| drop(sampler.disable()));
        let lasted = since.elapsed();
        failures.watched += lasted;
        self.next = since + lasted + at_random(self.rhythm.every);
        for sampler in &mut samplers {
            while let Some(record) = sampler.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        let failed = sample.raw().and_then(failed).zip(sample.pid());
                        if let Some(((call, error), pid)) = failed {
                            *failures.counts.entry((call, error, pid)).or_default() += 1;
                        }
                    }
                    Ok(Record::Lost(lost)) => failures.lost += lost.lost,
                    Ok(Record::LostSamples(lost)) => failures.lost += lost.lost,
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }
}

/// Half of a time to one and a half of it. Slices of two sides alternate, and windows must not fall in step with them.
fn at_random(every: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.subsec_nanos());
    every / 2 + every.mul_f64(f64::from(now % 9973) / 9973.0)
}

fn failed(raw: &[u8]) -> Option<(i64, i32)> {
    let number = |at: usize| Some(i64::from_ne_bytes(*raw.get(at..)?.first_chunk()?));
    let error = i32::try_from(-number(RETURNED)?).ok()?;
    Some((number(CALL)?, error))
}

/// Each event of a tracepoint on one CPU, with its process and its record, disabled at first. The buffer has a size in bytes.
pub(crate) fn sampler(tracepoint: u64, cpu: usize, buffer: usize) -> io::Result<Sampler> {
    Builder::new(Tracepoint::with_id(tracepoint))
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .sample_period(1)
        .sample(SampleFlag::TID | SampleFlag::RAW)
        .build()?
        .sampled(buffer)
}

/// Lets through what the kernel finds this to be true of.
pub(crate) fn set_filter(event: &impl AsRawFd, filter: &str) -> io::Result<()> {
    let filter = CString::new(filter)?;
    #[expect(unsafe_code, reason = "ioctl(2) has no safe form")]
    // SAFETY: the descriptor is that of a perf event, and the filter a string that ends with a zero and outlives the call, which copies it.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) };
    nix::errno::Errno::result(done).map(drop).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_and_its_error_are_read_from_their_places() {
        let mut raw = vec![0_u8; 8];
        raw.extend(257_i64.to_ne_bytes());
        raw.extend((-24_i64).to_ne_bytes());
        assert_eq!(failed(&raw), Some((257, 24)));
        assert_eq!(failed(&raw[..20]), None, "it is cut off");
    }

    #[test]
    fn calls_that_fail_are_seen_while_a_window_is_open_and_those_that_succeed_never_are() {
        let mut windows = FailureWindows::new(&[0, 1], crate::profile::OF_A_RUN.failures);
        let mut failures = Failures::default();
        windows.open();
        assert!(windows.open.is_some(), "root may trace system calls");
        for _ in 0..50 {
            assert!(std::fs::metadata("/no/such/file").is_err());
            assert!(std::fs::metadata("/proc").is_ok());
        }
        windows.end(&mut failures);
        let own = failures.counts.iter().filter(|((_, _, pid), _)| *pid == std::process::id());
        let (absent, others): (Vec<_>, Vec<_>) = own.partition(|((_, error, _), _)| *error == libc::ENOENT);
        let absent: u64 = absent.iter().map(|(_, count)| **count).sum();
        assert!(absent >= 50, "{:?}", failures.counts);
        assert!(others.iter().all(|((_, error, _), _)| *error > 0 && *error < 4096));
        assert!(!failures.watched.is_zero());
    }
}
