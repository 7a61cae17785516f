//! Loads: each in a thread of the agent, until it is done or the agent ends. One that forks runs in a process of its own, which is small and
//! has one thread.

mod apart;
mod program;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_load::Control;
use plimsoll_model::experiment::Carrier;
use plimsoll_model::frame::{Failure, FromAgent, Id, LoadSpec};
use plimsoll_model::observation::LoadResult;

use crate::ById;
use crate::outbox::Outbox;

pub use apart::main;

/// How often the controller is told where a load stands.
const PROGRESS: Duration = Duration::from_millis(200);

/// The loads of a host.
pub(crate) struct Loads {
    outbox: Outbox,
    running: ById<Arc<AtomicBool>>,
}

impl Loads {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, running: ById::new() }
    }

    pub(crate) fn run(&mut self, id: Id, spec: LoadSpec) -> io::Result<()> {
        // Only a running load's flag is held by its thread as well.
        self.running.retain(|_, abort| Arc::strong_count(abort) > 1);
        let abort = Arc::new(AtomicBool::new(false));
        let outbox = self.outbox.clone();
        let flag = Arc::clone(&abort);
        thread::Builder::new().name("load".into()).spawn(move || {
            let tell = |progress| outbox.send_or_drop(&FromAgent::Progress { id, progress });
            let control = Control { abort: &flag, progress: &tell, every: PROGRESS };
            let answer = match carry_out(&spec, &control) {
                Ok(result) => FromAgent::Finished { id, result: Box::new(result) },
                Err(why) => FromAgent::Failed { id: Some(id), why },
            };
            outbox.send_or_drop(&answer);
        })?;
        self.running.insert(id, abort);
        Ok(())
    }

    /// Ends a load before its time. It tells what it has found by itself; one that has ended has done so already.
    pub(crate) fn end(&mut self, id: Id) {
        if let Some(abort) = self.running.remove(&id) {
            abort.store(true, Ordering::Release);
        }
    }
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
