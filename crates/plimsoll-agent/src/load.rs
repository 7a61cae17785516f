//! Loads: each in a thread of the agent, until it is done or the agent ends. One that forks runs in a process of its own, which is small and
//! has one thread.

mod apart;
mod program;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use plimsoll_load::Control;
use plimsoll_model::experiment::Carrier;
use plimsoll_model::frame::{Failure, FromAgent, Id, LoadSpec};
use plimsoll_model::observation::LoadResult;

use crate::ById;
use crate::outbox::Outbox;

pub(crate) use apart::kind_of;
pub use apart::main;

/// How often the agent reports a load's progress to the controller.
const PROGRESS: Duration = Duration::from_millis(200);

/// With a virtual clock loads begin at multiples of this, in nanoseconds of CLOCK_MONOTONIC: a multiple of the periods of the kernel's tick and of its
/// housekeeping, such as the folding of counters each second (mm/vmstat.c). Where all sleep the clock leaps, so that waiting costs little.
const GRID_NS: i64 = 1_000_000_000;

/// How long the last step of the wait for a given time is.
const LAST_STEP: Duration = Duration::from_millis(1);

/// The loads of a host.
pub(crate) struct Loads {
    outbox: Outbox,
    /// Whether every event of a load must come at the same time in each run.
    pub(crate) exactly: bool,
    running: ById<Arc<AtomicBool>>,
}

impl Loads {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, exactly: false, running: ById::new() }
    }

    /// Runs a load, from this time on (CLOCK_MONOTONIC_RAW) where it is given.
    pub(crate) fn run(&mut self, id: Id, spec: LoadSpec, at_ns: Option<u64>) -> io::Result<()> {
        // Only a running load's flag is held by its thread as well.
        self.running.retain(|_, abort| Arc::strong_count(abort) > 1);
        let abort = Arc::new(AtomicBool::new(false));
        let outbox = self.outbox.clone();
        let flag = Arc::clone(&abort);
        let exactly = self.exactly;
        thread::Builder::new().name("load".into()).spawn(move || {
            // A report interrupts the guest at a time that differs from run to run.
            let report = |progress| {
                if !exactly {
                    outbox.send_or_drop(&FromAgent::Progress { id, progress });
                }
            };
            if exactly {
                wait_for_grid();
            }
            at_ns.into_iter().for_each(wait_until);
            let control = Control { abort: &flag, progress: &report, every: PROGRESS };
            let answer = match carry_out(&spec, &control) {
                Ok(result) => FromAgent::Finished { id, result: Box::new(result) },
                Err(why) => FromAgent::Failed { id: Some(id), why },
            };
            outbox.send_or_drop(&answer);
        })?;
        self.running.insert(id, abort);
        Ok(())
    }

    /// Ends a load early. It still sends its result.
    pub(crate) fn end(&mut self, id: Id) {
        if let Some(abort) = self.running.remove(&id) {
            abort.store(true, Ordering::Release);
        }
    }
}

/// Sleeps until the next point of the grid.
fn wait_for_grid() {
    let clock = ClockId::CLOCK_MONOTONIC;
    let Ok(now) = clock_gettime(clock) else { return };
    let now_ns = now.tv_sec() * 1_000_000_000 + now.tv_nsec();
    let at = (now_ns / GRID_NS + 1) * GRID_NS;
    let at = TimeSpec::new(at / 1_000_000_000, at % 1_000_000_000);
    // A signal that ends the sleep early ends nothing else: the load is then as far from the grid as it would be anyway.
    clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &at).ok();
}

/// Waits until a time of CLOCK_MONOTONIC_RAW, on which nobody can sleep (clock_nanosleep(2)). Asleep, since others that wait for the same moment
/// may have no other CPU; in two steps, since the clock of sleep is corrected and goes up to 500 ppm faster or slower.
fn wait_until(at_ns: u64) {
    let left = || Duration::from_nanos(at_ns.saturating_sub(plimsoll_probe::clock::raw_now_ns()));
    // Otherwise the kernel may wake it 50 µs later, to wake others with it (prctl(2)). One that refuses wakes it as it always does.
    prctl::set_timerslack(1).ok();
    thread::sleep(left().saturating_sub(LAST_STEP));
    thread::sleep(left());
}

fn carry_out(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
    match spec.kind.carrier() {
        Carrier::Process => apart::run(spec, control),
        Carrier::Program => program::run(spec, control),
        Carrier::Threads => plimsoll_load::run(spec, control),
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        for abort in self.running.values() {
            abort.store(true, Ordering::Release);
        }
    }
}
