//! State that connections of the service leave for one another: final states of streams, and counts of received datagrams.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_model::observation::TcpState;

use crate::transfer::opening::State;
use crate::transfer::packet::{Arrivals, Counts, Label};

/// The most final states that are kept; the oldest go first.
const MOST_STATES: usize = 4096;
/// The most flows of datagrams at a time.
pub(super) const MOST_FLOWS: usize = 1024;
/// How long a state is waited for whose stream has just ended.
const STATE_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(5);

/// The desk.
#[derive(Default)]
pub(super) struct Desk {
    states: Mutex<VecDeque<(u64, TcpState)>>,
    flows: Mutex<Flows>,
}

/// The flows that are announced.
#[derive(Default)]
pub(super) struct Flows {
    by_number: BTreeMap<u64, Arrivals>,
    /// When the last datagram arrived.
    last: Option<Instant>,
    /// CPU time of the receiving threads so far.
    pub(super) cpu_us: u64,
}

impl Flows {
    /// Datagrams of one call arrived at `now_ns`.
    pub(super) fn arrive(&mut self, datagrams: impl Iterator<Item = Label>, now_ns: u64) {
        self.last = Some(Instant::now());
        for label in datagrams {
            if let Some(flow) = self.by_number.get_mut(&label.flow) {
                flow.arrive(label, now_ns);
            }
        }
    }
}

impl Desk {
    /// The state of a stream at its end.
    pub(super) fn leave(&self, id: u64, state: TcpState) {
        let mut states = lock(&self.states);
        if states.len() == MOST_STATES {
            states.pop_front();
        }
        states.push_back((id, state));
    }

    /// The states that were left under these numbers; those of streams that have not quite ended are waited for a little.
    pub(super) fn states(&self, ids: &[u64]) -> Vec<State> {
        let asked = Instant::now();
        loop {
            let found: Vec<State> = {
                let states = lock(&self.states);
                ids.iter().map(|id| states.iter().find(|(of, _)| of == id).map(|(_, state)| *state)).collect()
            };
            if found.iter().all(Option::is_some) || asked.elapsed() >= STATE_WITHIN {
                return found;
            }
            sleep(LOOK);
        }
    }

    /// The flows, for one turn.
    pub(super) fn flows(&self) -> MutexGuard<'_, Flows> {
        lock(&self.flows)
    }

    /// Begins to count a flow. False when there are too many.
    pub(super) fn begin(&self, flow: u64) -> bool {
        let mut flows = self.flows();
        let room = flows.by_number.len() < MOST_FLOWS;
        if room {
            flows.by_number.insert(flow, Arrivals::default());
        }
        room
    }

    /// Ends a flow once nothing has arrived for `quiet`, or `at_most` has passed, and gives what was counted.
    pub(super) fn end(&self, flow: u64, quiet: Duration, at_most: Duration) -> Counts {
        let asked = Instant::now();
        loop {
            let mut flows = self.flows();
            let silent = flows.last.is_none_or(|last| last.elapsed() >= quiet);
            if (silent && asked.elapsed() >= quiet) || asked.elapsed() >= at_most {
                let cpu_us = flows.cpu_us;
                return flows.by_number.remove(&flow).unwrap_or_default().counts(cpu_us);
            }
            drop(flows);
            sleep(LOOK);
        }
    }

    /// Reports a connection that ended with an error on the service's standard error.
    pub(super) fn failed(&self, error: &io::Error) {
        tracing::error!("bulk: a connection ended early: {error}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
