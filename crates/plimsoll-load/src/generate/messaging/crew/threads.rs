//! Workers that are threads of this process.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use nix::errno::Errno;
use plimsoll_model::experiment::MessagingLoad;
use plimsoll_model::frame::Failure;

use super::super::gate::Gate;
use super::super::worker;
use super::{Crew, OTHER_DESCRIPTORS, broken, group, not_started};
use crate::descriptors;

/// The stack of a worker in bytes: it calls next to nothing.
const STACK: usize = 64 << 10;

/// Threads, none of which was waited for. A receiver owns the end that it reads from, and the senders of a group own what they write to
/// together; so when one of them fails, the others meet a closed end, and end as well.
pub(in crate::generate::messaging) struct Threads {
    left: Vec<JoinHandle<nix::Result<()>>>,
    gate: Arc<Gate>,
}

impl Threads {
    /// Makes all of them: group by group, receivers before senders.
    pub(in crate::generate::messaging) fn assemble(
        load: &MessagingLoad,
        gate: &Arc<Gate>,
    ) -> Result<Self, Failure> {
        descriptors::make_room(load.workers() + OTHER_DESCRIPTORS)?;
        let mut crew = Self { left: Vec::new(), gate: Arc::clone(gate) };
        for _ in 0..load.groups {
            let mut receivers = Vec::new();
            for ends in group(load)? {
                crew.add(load, move |load, gate| worker::receive(load, gate, &ends.own))?;
                receivers.push(ends.senders);
            }
            let receivers = Arc::new(receivers);
            for _ in 0..load.pairs {
                let receivers = Arc::clone(&receivers);
                crew.add(load, move |load, gate| worker::send(load, gate, &receivers))?;
            }
        }
        Ok(crew)
    }

    fn add(
        &mut self,
        load: &MessagingLoad,
        work: impl FnOnce(&MessagingLoad, &Gate) -> nix::Result<()> + Send + 'static,
    ) -> Result<(), Failure> {
        let (own, gate) = (load.clone(), Arc::clone(&self.gate));
        let worker = Builder::new()
            .stack_size(STACK)
            .spawn(move || work(&own, &gate))
            .map_err(|error| not_started(self.left.len() + 1, load, &error))?;
        self.left.push(worker);
        Ok(())
    }

    fn join(&mut self) -> Result<(), Failure> {
        let mut first = None;
        for worker in self.left.drain(..) {
            let ended = worker.join().unwrap_or(Err(Errno::ENOTRECOVERABLE));
            first = first.or(ended.err());
        }
        first.map_or(Ok(()), |error| Err(broken(error.desc())))
    }
}

impl Crew for Threads {
    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    fn has_lost_one(&self) -> bool {
        self.left.iter().any(JoinHandle::is_finished)
    }

    fn wait(mut self) -> Result<(), Failure> {
        self.join()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if !self.left.is_empty() {
            self.gate.call_off();
            // Why they end is known.
            self.join().ok();
        }
    }
}
