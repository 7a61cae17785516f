//! Existing machines as hosts. A command reaches the agent on each; a file for each kind of command.
//!
//! ```text
//! controller ── ssh, or another command ──┄ network ┄── agent ── whatever the agent starts
//!      └─ pings, each answered at once ─┘
//! ```
//!
//! **Nothing is left there.** The agent ends at the end of its standard input, and after a time without frames, as a cut cable sends nothing. The
//! controller gives up after the same time. A program that was brought along runs without its file, which is removed at the agent's start.
//!
//! **Targets of loads** are not up to the experiment file alone: an address in it has to be one that the machine's agent reports, or one that the
//! user named.

mod address;
mod allocation;
mod bring;
mod clock;
mod command;
mod error;
mod kubernetes;
mod opening;
mod running;
mod session;
mod slurm;
mod ssh;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use plimsoll_model::experiment::{Address, Reach};
use plimsoll_model::frame::{Greeting, PROTOCOL};

pub use bring::Program;
pub use clock::{Clock, Offset};
pub use error::{ErrorKind, RemoteError};
pub use session::{FromAgent, ToAgent};

use crate::clock::raw_ns;
use address::Network;
use allocation::Allocations;
use session::Session;

/// The local time to which offsets refer: CLOCK_MONOTONIC_RAW, in nanoseconds.
pub fn now_ns() -> u64 {
    raw_ns()
}

/// An existing machine.
#[derive(Clone, Debug)]
pub struct RemoteHost {
    /// Its name in the experiment.
    pub name: String,
    /// Means to reach it.
    pub reach: Reach,
    /// Address for other hosts, if the file names one.
    pub address: Option<Address>,
    /// Whether the agent may be root.
    pub may_be_root: bool,
    /// Longest silence of its agent.
    pub lost_after: Duration,
}

/// Means of a run to reach machines.
#[derive(Debug)]
pub struct Means {
    program: Program,
    allocations: Allocations,
}

impl Means {
    /// Means with the program that is brought along.
    #[must_use]
    pub fn with(program: Program) -> Self {
        Self { program, allocations: Allocations::default() }
    }
}

/// Agents on existing machines. Dropping it ends them, and waits until they have restored all settings.
#[derive(Debug)]
pub struct RemoteRig {
    sessions: BTreeMap<String, Session>,
    network: Network,
}

impl RemoteRig {
    /// Starts an agent on each, side by side. Checks that they speak this version, and that the hosts' addresses are their own or among `targets`.
    ///
    /// # Errors When a machine cannot be reached, or does not match its description. No agent is left then.
    pub fn build(
        hosts: &[RemoteHost],
        means: &Means,
        targets: &[IpAddr],
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Self, RemoteError> {
        let opened: Vec<_> = thread::scope(|scope| {
            let open = |host| scope.spawn(move || Session::open(host, means, interrupt));
            let opening: Vec<_> = hosts.iter().map(open).collect();
            opening.into_iter().map(|one| one.join().expect("opening a session does not panic")).collect()
        });
        let mut sessions = BTreeMap::new();
        for (host, session) in hosts.iter().zip(opened) {
            let session = session.map_err(|why| why.of(&host.name))?;
            check(host, session.greeting()).map_err(|why| why.of(&host.name))?;
            sessions.insert(host.name.clone(), session);
        }
        let facts = hosts.iter().map(|host| (host, sessions[&host.name].greeting()));
        let network = Network::new(facts, targets)?;
        Ok(Self { sessions, network })
    }

    /// The streams to the agent of a host, once.
    ///
    /// # Errors
    /// When there is no such host, or they were taken before.
    pub fn pipes(&mut self, host: &str) -> Result<(ToAgent, FromAgent), RemoteError> {
        let pipes = self.sessions.get_mut(host).and_then(Session::take_pipes);
        pipes.ok_or_else(|| ErrorKind::NoPipes.of(host))
    }

    /// Address at which `from` reaches `to`.
    ///
    /// # Errors
    /// When it is unknown.
    pub fn address(&self, from: &str, to: &str) -> Result<IpAddr, RemoteError> {
        self.network.address(from, to).map_err(|why| why.of(to))
    }

    /// Listening address of a host's services: the one at which all others reach it, if that is its own; else all.
    ///
    /// # Errors
    /// When the address for others is unknown.
    pub fn listen(&self, host: &str) -> Result<IpAddr, RemoteError> {
        self.network.listen(host).map_err(|why| why.of(host))
    }

    /// Clock of a host; `None` if there is no such host.
    pub fn clock(&self, host: &str) -> Option<Clock> {
        self.sessions.get(host).map(Session::clock)
    }

    /// Notes about a host for readers of its figures.
    pub fn notes(&self, host: &str) -> Vec<String> {
        self.sessions.get(host).map(|session| vec![note(session)]).unwrap_or_default()
    }

    /// Reason why a host has gone, with the last words of its command.
    pub fn last_lines(&self, host: &str) -> String {
        self.sessions.get(host).map(Session::last_lines).unwrap_or_default()
    }
}

impl Drop for RemoteRig {
    fn drop(&mut self) {
        // All get the order before the wait for the first, so that they end side by side.
        self.sessions.values().for_each(Session::request_end);
        self.sessions.clear();
    }
}

/// Checks whether an agent may be used.
fn check(host: &RemoteHost, greeting: &Greeting) -> Result<(), ErrorKind> {
    if greeting.protocol != PROTOCOL {
        return Err(ErrorKind::Version { version: greeting.version.clone(), theirs: greeting.protocol });
    }
    match greeting.user == 0 && !host.may_be_root {
        true => Err(ErrorKind::Root),
        false => Ok(()),
    }
}

fn note(session: &Session) -> String {
    let greeting = session.greeting();
    let whom = if greeting.user == 0 { "as root" } else { "as an ordinary user" };
    let brought = match session.was_brought() {
        true => ", brought along",
        false => "",
    };
    format!(
        "the machine `{}`, {}, with an agent of Plimsoll {} {whom}{brought}; it is not rebuilt between trials: a trial sees the kernel state that earlier ones left",
        greeting.machine,
        session.reach(),
        greeting.version
    )
}
