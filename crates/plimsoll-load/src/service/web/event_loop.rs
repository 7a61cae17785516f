//! The event-loop model: a few processes, each with many connections that it serves whenever something can be done for one.

use std::convert::Infallible;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use plimsoll_model::experiment::WebService;
use plimsoll_model::frame::Failure;
use slab::Slab;

use super::answer::{Answers, Terms};
use super::client::{Client, State};
use super::layered::Layered;
use super::prefork::keep_alive;
use super::request::LONGEST_HEAD;
use super::site::Site;
use crate::descriptors;
use crate::process::Parent;
use crate::service::listen;

/// The most events that are taken at a time.
const EVENTS: usize = 256;
/// How often it is looked who has kept silent for too long.
const SWEEP: Duration = Duration::from_secs(1);
/// Keys from here on are listening sockets.
const LISTENERS: u64 = 1 << 32;

/// Keeps as many processes serving as `options` says: one that dies is replaced. Process n takes its connections from set n of the
/// listeners, in turn.
pub(super) fn serve(
    options: &WebService,
    (site, terms): (&Site, Terms),
    sets: &[Vec<TcpListener>],
    ready: impl FnOnce() -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    descriptors::make_room(u64::from(options.clients))?;
    for listener in sets.iter().flatten() {
        let set = listener.set_nonblocking(true);
        set.map_err(|error| crate::failure::other("set a listening socket's mode", &error))?;
    }
    let parent = Parent::this();
    let worker = |n: u32| {
        parent.spawn(|| {
            let set = &sets[n as usize % sets.len()];
            if let Err(error) = Worker::new(options, (site, terms), set).and_then(Worker::run) {
                tracing::error!("worker {}: {}", n + 1, error.desc());
            }
        })
    };
    keep_alive(options.workers, worker, ready)
}

/// One process.
struct Worker<'a> {
    listeners: &'a [TcpListener],
    epoll: Epoll,
    clients: Slab<Visitor>,
    most: usize,
    /// As many clients as there may be are there, and the listening sockets are left alone.
    full: bool,
    answers: Answers<'a>,
    inbox: Box<[u8]>,
}

/// A connection.
enum Visitor {
    Plain(Client),
    Layered(Box<Layered>),
}

impl Visitor {
    fn go_on(&mut self, answers: &mut Answers<'_>, inbox: &mut [u8]) -> State {
        match self {
            Self::Plain(client) => client.go_on(answers, inbox),
            Self::Layered(layered) => layered.go_on(answers, inbox),
        }
    }

    fn is_overdue(&self, now: Instant, silence: Duration) -> bool {
        match self {
            Self::Plain(client) => client.is_overdue(now, silence),
            Self::Layered(layered) => layered.is_overdue(now, silence),
        }
    }
}

impl<'a> Worker<'a> {
    fn new(
        options: &WebService,
        (site, terms): (&'a Site, Terms),
        listeners: &'a [TcpListener],
    ) -> nix::Result<Self> {
        let worker = Self {
            listeners,
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            clients: Slab::new(),
            most: options.clients as usize,
            full: false,
            answers: Answers::new(site, terms),
            inbox: vec![0; LONGEST_HEAD].into(),
        };
        worker.listen()?;
        Ok(worker)
    }

    /// Of the processes that wait for a connection, one is woken (EPOLLEXCLUSIVE).
    fn listen(&self) -> nix::Result<()> {
        (LISTENERS..).zip(self.listeners).try_for_each(|(key, listener)| {
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLEXCLUSIVE;
            self.epoll.add(listener, EpollEvent::new(flags, key))
        })
    }

    fn run(mut self) -> nix::Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut swept = Instant::now();
        let every = EpollTimeout::try_from(SWEEP).unwrap_or(EpollTimeout::NONE);
        loop {
            let arrived = match self.epoll.wait(&mut events, every) {
                Err(Errno::EINTR) => 0,
                arrived => arrived?,
            };
            for event in &events[..arrived] {
                match event.data().checked_sub(LISTENERS) {
                    Some(listener) => self.accept(listener as usize),
                    None => self.serve(event.data() as usize),
                }
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep(swept);
            }
            if self.full && self.clients.len() < self.most {
                self.listen()?;
                self.full = false;
            }
        }
    }

    /// Takes the connections that wait at a socket, and serves those that have something to say already.
    fn accept(&mut self, listener: usize) {
        while !self.full {
            let Some(stream) = listen::next(&self.listeners[listener]) else { return };
            if stream.set_nonblocking(true).is_ok() {
                self.welcome(stream);
            }
            if self.clients.len() >= self.most {
                self.full = true;
                // A listening socket that is still watched costs a look at it, and no more.
                self.listeners.iter().for_each(|listener| self.epoll.delete(listener).unwrap_or(()));
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream) {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let entry = self.clients.vacant_entry();
        let event = EpollEvent::new(flags, entry.key() as u64);
        // Existing events are reported at once.
        if self.epoll.add(stream.as_fd(), event).is_ok() {
            let visitor = match self.answers.terms.layers {
                None => Ok(Visitor::Plain(Client::new(stream))),
                Some(layers) => Layered::new(stream, layers).map(|layered| Visitor::Layered(layered.into())),
            };
            // A connection that cannot be served is closed, and not watched any more.
            if let Ok(visitor) = visitor {
                entry.insert(visitor);
            }
        }
    }

    /// Does for a client what can be done, until it has to wait again.
    fn serve(&mut self, key: usize) {
        let Some(client) = self.clients.get_mut(key) else { return };
        if client.go_on(&mut self.answers, &mut self.inbox) == State::Over {
            self.clients.remove(key);
        }
    }

    /// Takes leave of clients that have kept silent for too long.
    fn sweep(&mut self, now: Instant) {
        let silence = self.answers.terms.silence;
        self.clients.retain(|_, client| !client.is_overdue(now, silence));
    }
}
