//! The states of one connection over time, in bounded number.

use std::os::fd::AsFd;

use plimsoll_model::observation::TcpState;

use crate::transfer::tcp_state;

/// The most states that are kept of a connection.
const MOST: usize = 400;

/// The states of a connection. When there are too many, every other is dropped, and from then on only every other is kept.
pub(super) struct States {
    kept: Vec<TcpState>,
    /// Keeps one in this many readings.
    stride: u32,
    skipped: u32,
    last: Option<TcpState>,
}

impl Default for States {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, skipped: 0, last: None }
    }
}

impl States {
    /// Reads the state at `at_ns`, unless it is not its turn.
    pub(super) fn read(&mut self, socket: &impl AsFd, at_ns: u64) {
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        // A connection that is gone has no state any more; its own thread reports its end.
        let Ok(state) = tcp_state::read(socket, at_ns) else { return };
        if self.kept.len() == MOST {
            let mut odd = false;
            self.kept.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride *= 2;
        }
        self.kept.push(state);
    }

    /// The state at the end, as one of the connection's threads has seen it.
    pub(super) fn keep(&mut self, last: Option<TcpState>) {
        if let Some(state) = last
            && self.last.is_none_or(|other| other.at_ns <= state.at_ns)
        {
            self.last = Some(state);
        }
    }

    /// All states in order of time, the last as of the connection's end.
    pub(super) fn finish(mut self) -> Vec<TcpState> {
        if let Some(last) = self.last {
            self.kept.retain(|state| state.at_ns < last.at_ns);
            self.kept.push(last);
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_long_connection_keeps_a_bounded_number_of_states_evenly_spread() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut states = States::default();
        (0..5 * MOST as u64).for_each(|at| states.read(&stream, at));
        states.keep(Some(TcpState { at_ns: 1_000_000, ..TcpState::default() }));
        let found = states.finish();
        assert!((MOST / 2..=MOST + 1).contains(&found.len()), "{}", found.len());
        assert!(found.is_sorted_by_key(|state| state.at_ns));
        assert_eq!(found.last().unwrap().at_ns, 1_000_000);
    }
}
