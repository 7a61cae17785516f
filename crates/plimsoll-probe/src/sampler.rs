//! Reads counters many times a second, on a schedule, in a thread of its own.

use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_model::observation::{Sample, SamplingCost};

use crate::counters::{Counters, Series};

/// How often samples are handed over.
const BATCH: Duration = Duration::from_secs(1);
/// How often the slower files are read.
const SLOW: Duration = Duration::from_secs(1);
/// The most samples per second.
pub const MOST_HZ: u32 = 100;

/// Why there is no sampling.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The rate is out of range.
    #[error("{hz} samples per second requested: expected 1 to {MOST_HZ}")]
    Rate {
        /// Requested rate in samples per second.
        hz: u32,
    },
    /// There is no thread to be had.
    #[error("can't start the sampling thread")]
    Thread {
        /// What the system said.
        #[from]
        source: io::Error,
    },
}

/// A thread that samples until it is stopped or dropped.
pub struct Sampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<SamplingCost>>,
}

impl Sampler {
    /// Starts sampling `hz` times a second (1 to 100). `deliver` gets the samples of about a second at a time, on the sampling thread,
    /// in order; it should hand them on and return. The schedule is absolute: a late sample does not put off the next, and one that
    /// was missed altogether is left out. Files that are dear are read once a second ([`crate::counters`] says which).
    ///
    /// # Errors
    /// The rate is out of range, or no thread can be started.
    pub fn start(
        mut counters: Counters,
        hz: u32,
        series: Series,
        mut deliver: impl FnMut(Vec<Sample>) + Send + 'static,
    ) -> Result<Self, SamplerError> {
        if !(1..=MOST_HZ).contains(&hz) {
            return Err(SamplerError::Rate { hz });
        }
        let (stop, stopped) = channel();
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(&mut counters, hz, series, &mut deliver, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Stops the sampler: takes a last sample, delivers the rest, and returns the cost. Takes no longer than one sample and its delivery.
    pub fn stop(mut self) -> SamplingCost {
        self.join()
    }

    fn join(&mut self) -> SamplingCost {
        drop(self.stop.take());
        // The cost of a sampler that panicked (in `deliver`) is unknown.
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}

fn sample(
    counters: &mut Counters,
    hz: u32,
    series: Series,
    deliver: &mut dyn FnMut(Vec<Sample>),
    stopped: &Receiver<()>,
) -> SamplingCost {
    let (start, cpu_before) = (Instant::now(), thread_cpu_us());
    let mut schedule = Schedule { start, hz, due: 0 };
    let mut batch = Batch::new(start);
    let mut slow_due = start;
    let mut samples = 0;
    counters.begin_series();
    let mut running = true;
    while running {
        running = schedule.wait(stopped);
        let now = Instant::now();
        // The last sample holds everything again, so that the series' ends bracket it.
        let slow = now >= slow_due || !running;
        if slow {
            slow_due = now + SLOW;
        }
        batch.samples.push(counters.read_series(series, slow));
        samples += 1;
        if !running || now.duration_since(batch.since) >= BATCH {
            deliver(batch.take(now));
        }
    }
    SamplingCost {
        samples,
        cpu_us: thread_cpu_us().saturating_sub(cpu_before),
        elapsed_us: u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX),
        ..SamplingCost::default()
    }
}

struct Batch {
    since: Instant,
    samples: Vec<Sample>,
}

impl Batch {
    fn new(since: Instant) -> Self {
        Self { since, samples: Vec::new() }
    }

    fn take(&mut self, now: Instant) -> Vec<Sample> {
        self.since = now;
        mem::take(&mut self.samples)
    }
}

/// The points in time `start + n / hz`.
struct Schedule {
    start: Instant,
    hz: u32,
    due: u64,
}

impl Schedule {
    /// Waits for the next point in time that is not over; false if it was stopped meanwhile.
    fn wait(&mut self, stopped: &Receiver<()>) -> bool {
        let at = self.at(self.due);
        let running = match stopped.recv_timeout(at.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => true,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => false,
        };
        let passed = self.start.elapsed().as_nanos() * u128::from(self.hz) / 1_000_000_000;
        self.due = u64::try_from(passed).unwrap_or(u64::MAX).max(self.due) + 1;
        running
    }

    fn at(&self, number: u64) -> Instant {
        self.start + Duration::from_nanos(number * 1_000_000_000 / u64::from(self.hz))
    }
}

/// CPU time of the calling thread, in microseconds.
fn thread_cpu_us() -> u64 {
    // RUSAGE_THREAD exists since Linux 2.6.26.
    getrusage(UsageWho::RUSAGE_THREAD)
        .map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds().unsigned_abs())
}
