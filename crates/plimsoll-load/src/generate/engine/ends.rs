//! How connections end: by their own leave, by the server's, at rest, or because they took too long.

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use plimsoll_model::observation::ErrorKind;

use super::{Engine, HUNG_UP, Outcome};
use crate::generate::connection::{Connection, Phase};
use crate::generate::error_kind::kind_of;
use crate::generate::protocol::Protocol;

impl<P: Protocol> Engine<'_, P> {
    /// Ends a connection that could carry another request: in the words of the protocol, where it has any. They fit into a send buffer
    /// that is empty; where they do not go out, the connection has ended, and that is seen next.
    pub(super) fn take_leave(&mut self, key: usize) -> Outcome {
        let connection = &mut self.connections[key];
        connection.say_goodbye(P::GOODBYE);
        if P::GOODBYE.is_empty() {
            return Outcome::Done;
        }
        connection.phase = Phase::Closing;
        self.listen_to_the_end(key)
    }

    /// Takes what a server says until it closes the connection, whatever it is.
    pub(super) fn listen_to_the_end(&mut self, key: usize) -> Outcome {
        loop {
            match self.connections[key].receive(&mut self.inbox) {
                Ok(1..) => {}
                Err(Errno::EAGAIN) => return Outcome::Waits,
                Ok(0) | Err(_) => return Outcome::ServerClosed,
            }
        }
    }

    /// Finds out what there is to read after the last answer.
    pub(super) fn look_after_the_end(&mut self, key: usize) -> Outcome {
        match self.connections[key].receive(&mut self.inbox) {
            Ok(0) => Outcome::ServerClosed,
            // More than the answer had announced.
            Ok(_) => Outcome::Failed(ErrorKind::Garbage),
            Err(Errno::EAGAIN) => Outcome::Waits,
            Err(error) => Outcome::Failed(kind_of(error, true)),
        }
    }

    /// Takes an event on a connection that rests: most often the server's close.
    pub(super) fn disturbed(&mut self, key: usize, now: u64) {
        let why = loop {
            let connection = &mut self.connections[key];
            match connection.receive(&mut self.inbox) {
                Err(Errno::EAGAIN) => return,
                Err(error) => break Some(kind_of(error, true)),
                Ok(0) => break None,
                Ok(length) => match self.protocol.unasked(&mut connection.answer, &self.inbox[..length]) {
                    Ok(()) => {}
                    Err(kind) => break Some(kind),
                },
            }
        };
        self.resting.retain(|&resting| resting != key);
        let connection = self.connections.remove(key);
        match why {
            None => self.count(connection.faulty, now),
            Some(kind) => self.tally.error(kind, now),
        }
    }

    /// Closes the connections that rest: nothing will be due any more.
    pub(super) fn close_resting(&mut self, now: u64) {
        for key in std::mem::take(&mut self.resting) {
            let mut connection = self.connections.remove(key);
            connection.say_goodbye(P::GOODBYE);
            self.count(connection.faulty, now);
        }
    }

    /// Gives up what has taken too long.
    pub(super) fn expire(&mut self, now: u64) {
        while let Some(key) = self.awaited.expired(now) {
            self.await_no_more(key, false);
        }
        while let Some(key) = self.deadlines.expired(now) {
            let connection = self.remove(key);
            let established = connection.is_established();
            self.give_up(
                &connection,
                if established { ErrorKind::Timeout } else { ErrorKind::ConnectTimeout },
                now,
            );
        }
    }

    /// Closes a connection that the server has closed. Where the server's acknowledgement is there at once, which it is on
    /// one machine, nothing is left of the connection then, and its socket can be used for the next: the packets are the
    /// same, but the kernel need not make and register a socket each time.
    pub(super) fn close_after_server(&mut self, key: usize) {
        self.deadlines.end(key);
        if self.dialer.can_recycle() && self.recycling.is_worth_trying() {
            let rested = self.connections[key].rest();
            self.recycling.tried(rested);
            if rested {
                return self.spare.push(key);
            }
        }
        self.connections.remove(key);
    }

    pub(super) fn remove(&mut self, key: usize) -> Connection<P> {
        self.deadlines.end(key);
        let connection = self.connections.remove(key);
        if connection.water.waits() {
            self.awaited.end(key);
        }
        connection
    }
}

/// What an event means to a connection that waits for the server to close it; `None` if only reading can decide. The kernel counts a FIN
/// among what can be read a moment before it reports the end (`tcp_fin` runs after `rcv_nxt` has moved, net/ipv4/tcp_input.c, and
/// `tcp_poll` takes no lock), so what looks like data may be the end.
pub(super) fn closing(flags: EpollFlags) -> Option<Outcome> {
    if flags.contains(EpollFlags::EPOLLERR) {
        Some(Outcome::Failed(ErrorKind::Reset))
    } else if flags.intersects(HUNG_UP) {
        Some(Outcome::ServerClosed)
    } else if flags.contains(EpollFlags::EPOLLIN) {
        None
    } else {
        Some(Outcome::Waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_separates_data_from_the_servers_close() {
        let cases = [
            (EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, "done"),
            (EpollFlags::EPOLLIN, "unknown"),
            (EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP | EpollFlags::EPOLLRDHUP, "reset"),
            (EpollFlags::EPOLLOUT, "waits"),
        ];
        for (flags, expected) in cases {
            let found = match closing(flags) {
                None => "unknown",
                Some(Outcome::ServerClosed) => "done",
                Some(Outcome::Failed(ErrorKind::Reset)) => "reset",
                Some(Outcome::Waits) => "waits",
                Some(_) => "something else",
            };
            assert_eq!(found, expected, "{flags:?}");
        }
    }
}
