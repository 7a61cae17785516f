//! The server's side of SMTP: one thread with an event loop, for a desk that takes the messages.

mod client;
mod conversation;
#[cfg(feature = "fuzzed")]
pub(super) mod fuzzed;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use plimsoll_model::frame::Failure;
use slab::Slab;

use self::client::{Client, ReadState};
use self::conversation::Conversation;
pub(super) use self::conversation::Envelope;
use super::listen;
use super::shuttle::reset_on_close;
use crate::descriptors;
use crate::failure::{other, refused};

/// The most events that are taken at a time.
const EVENTS: usize = 256;
/// How much is read at a time, in bytes.
const INBOX: usize = 128 << 10;
/// The key of the waker.
const WAKER: u64 = u64::MAX;
/// Keys from here on are listening sockets.
const LISTENERS: u64 = 1 << 32;
/// How often it is looked who has kept silent for too long, and whether it is time to be down.
const SWEEP: Duration = Duration::from_secs(1);
/// How long a client may keep silent (RFC 5321, section 4.5.3.2.7, asks for 5 minutes at least).
const SILENCE: Duration = Duration::from_secs(300);

/// A reply: its code and its words, without the line's end.
pub(super) type Reply = &'static str;

/// Names a message whose client waits to hear what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticket {
    key: usize,
    /// Number of the connection; keys are used again.
    connection: u64,
}

/// Reply to a message, now or later.
pub(super) enum Outcome {
    /// The client gets the reply now.
    Now(Reply),
    /// [`Desk::answers`] will reply.
    Later,
}

/// A receiver of messages.
pub(super) trait Desk {
    /// Whether PIPELINING is offered.
    fn offers_pipelining(&self) -> bool;

    /// The longest message that is taken, in bytes.
    fn longest(&self) -> u64;

    /// Whether a message from this sender is taken; if not, why.
    fn sender(&mut self, _sender: &[u8]) -> Result<(), Reply> {
        Ok(())
    }

    /// Whether it is taken for this recipient.
    fn recipient(&mut self, _sender: &[u8], _recipient: &[u8], _now: Instant) -> Result<(), Reply> {
        Ok(())
    }

    /// A message came, as it was on the wire, with its end. A desk that keeps it takes it out of `wire`.
    fn message(
        &mut self,
        ticket: Ticket,
        envelope: &mut Envelope,
        wire: &mut Vec<u8>,
        now: Instant,
    ) -> Outcome;

    /// Replies are about to be sent.
    fn before_replies(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// Hands over the answers that are known by now.
    fn answers(&mut self, now: Instant, into: &mut Vec<(Ticket, Reply)>);

    /// When there will be another, where that is known.
    fn next_answer(&self) -> Option<Instant> {
        None
    }

    /// The event that wakes the loop when there is another.
    fn waker(&self) -> Option<&EventFd> {
        None
    }

    /// Whether the service is down at this time, and when that changes.
    fn outage(&self, _now: Instant) -> (bool, Option<Instant>) {
        (false, None)
    }
}

/// Serves clients on `listeners` until something fails that it cannot do without.
pub(super) fn serve<D: Desk>(
    desk: D,
    listeners: Vec<TcpListener>,
    clients: u32,
    backlog: u32,
) -> Result<Infallible, Failure> {
    descriptors::make_room(u64::from(clients))?;
    let addresses = listen::addresses(&listeners)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
        .map_err(|error| refused("wait for events on sockets", error))?;
    let mut server = Server {
        desk,
        addresses,
        backlog,
        listeners,
        epoll,
        clients: Slab::new(),
        most: clients as usize,
        full: false,
        next_connection: 0,
        inbox: vec![0; INBOX].into(),
        touched: Vec::new(),
        buffers: Vec::new(),
    };
    server.listen()?;
    server.run()
}

struct Server<D> {
    desk: D,
    addresses: Vec<SocketAddr>,
    backlog: u32,
    /// None while it is down.
    listeners: Vec<TcpListener>,
    epoll: Epoll,
    clients: Slab<Client>,
    most: usize,
    /// As many clients as there may be are there, and the listening sockets are left alone.
    full: bool,
    next_connection: u64,
    inbox: Box<[u8]>,
    /// Keys of clients that may have something to be sent.
    touched: Vec<usize>,
    /// Unused buffers for texts.
    buffers: Vec<Vec<u8>>,
}

impl<D: Desk> Server<D> {
    fn run(&mut self) -> Result<Infallible, Failure> {
        if let Some(waker) = self.desk.waker() {
            self.epoll
                .add(waker, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, WAKER))
                .map_err(|error| refused("wait for an event", error))?;
        }
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut answers = Vec::new();
        let mut swept = Instant::now();
        loop {
            let sleep = self.sleep(Instant::now());
            let arrived = match self.epoll.wait(&mut events, sleep) {
                Err(Errno::EINTR) => 0,
                arrived => arrived.map_err(|error| refused("wait for events on sockets", error))?,
            };
            let now = Instant::now();
            for event in &events[..arrived] {
                match event.data() {
                    WAKER => {}
                    LISTENERS.. => self.accept((event.data() - LISTENERS) as usize, now),
                    key => self.attend(key as usize, event.events(), now),
                }
            }
            self.desk.answers(now, &mut answers);
            for (ticket, reply) in answers.drain(..) {
                self.answered(ticket, reply, now);
            }
            self.desk.before_replies().map_err(|error| other("keep the list of messages", &error))?;
            self.flush();
            self.go_up_or_down(now)?;
            if now.duration_since(swept) >= SWEEP {
                swept = now;
                self.sweep(now);
            }
            if self.full && self.clients.len() < self.most {
                self.full = false;
                self.listen()?;
            }
        }
    }

    fn sleep(&self, now: Instant) -> EpollTimeout {
        let times = [self.desk.next_answer(), self.desk.outage(now).1];
        let until =
            times.into_iter().flatten().min().map_or(SWEEP, |time| time.saturating_duration_since(now));
        // Up to the next millisecond: too early would be once more for nothing.
        let millis = until.min(SWEEP).as_nanos().div_ceil(1_000_000);
        EpollTimeout::try_from(u64::try_from(millis).unwrap_or(0)).unwrap_or(EpollTimeout::ZERO)
    }

    fn listen(&self) -> Result<(), Failure> {
        for (key, listener) in (LISTENERS..).zip(&self.listeners) {
            listener.set_nonblocking(true).map_err(|error| other("set a listening socket's mode", &error))?;
            self.epoll
                .add(listener, EpollEvent::new(EpollFlags::EPOLLIN, key))
                .map_err(|error| refused("wait for connections", error))?;
        }
        Ok(())
    }

    /// Takes the connections that wait at a socket.
    fn accept(&mut self, listener: usize, now: Instant) {
        while !self.full && listener < self.listeners.len() {
            let Some(stream) = listen::next(&self.listeners[listener]) else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.welcome(stream, now);
            }
            if self.clients.len() >= self.most {
                self.full = true;
                // A listening socket that is still watched costs a look at it, and no more.
                self.listeners.iter().for_each(|listener| self.epoll.delete(listener).unwrap_or(()));
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream, now: Instant) {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let entry = self.clients.vacant_entry();
        let key = entry.key();
        if self.epoll.add(stream.as_fd(), EpollEvent::new(flags, key as u64)).is_ok() {
            let ticket = Ticket { key, connection: self.next_connection };
            self.next_connection += 1;
            entry.insert(Client::new(stream, Conversation::new(ticket), now));
            self.touched.push(key);
        }
    }

    /// Reads a client's commands, and notes the replies.
    fn attend(&mut self, key: usize, flags: EpollFlags, now: Instant) {
        // It may have gone by an event before this one.
        let Some(client) = self.clients.get_mut(key) else { return };
        client.heard = now;
        self.touched.push(key);
        if !flags.intersects(
            EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR,
        ) {
            return;
        }
        self.listen_to(key, now);
    }

    fn listen_to(&mut self, key: usize, now: Instant) {
        let client = &mut self.clients[key];
        if client.listen(&mut self.inbox, &mut self.buffers, &mut self.desk, now) == ReadState::Gone {
            self.clients.remove(key);
        }
    }

    /// Sends a client the outcome of its message, and reads its further commands.
    fn answered(&mut self, ticket: Ticket, reply: Reply, now: Instant) {
        let Some(client) = self.clients.get_mut(ticket.key) else { return };
        if client.conversation.ticket != ticket {
            return;
        }
        client.conversation.answered(reply);
        self.touched.push(ticket.key);
        self.listen_to(ticket.key, now);
    }

    /// Sends the pending replies.
    fn flush(&mut self) {
        for key in self.touched.drain(..) {
            if self.clients.get_mut(key).is_some_and(|client| !client.flush()) {
                self.clients.remove(key);
            }
        }
    }

    fn go_up_or_down(&mut self, now: Instant) -> Result<(), Failure> {
        let (down, _) = self.desk.outage(now);
        if down && !self.listeners.is_empty() {
            self.listeners.clear();
            for client in self.clients.drain() {
                reset_on_close(&client.stream);
            }
        } else if !down && self.listeners.is_empty() {
            self.listeners = listen::listen_all(&self.addresses, self.backlog, false)?;
            self.full = false;
            self.listen()?;
        }
        Ok(())
    }

    /// Closes the connections of clients that have kept silent for too long.
    fn sweep(&mut self, now: Instant) {
        self.clients.retain(|_, client| {
            client.conversation.is_waiting() || now.duration_since(client.heard) < SILENCE
        });
    }
}
