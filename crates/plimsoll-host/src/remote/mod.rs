//! Hosts that are machines which are there already. An agent on each is reached by a command; a file for each way.
//!
//! ```text
//! controller ── ssh, or another command ──┄ network ┄── agent ── whatever the agent starts
//!      └─ pings, each answered at once ─┘
//! ```
//!
//! **Nothing is left there.** The agent ends at the end of its standard input, and when it hears nothing for a while: a cable that is cut says
//! nothing. The controller gives up as late. What was brought along is removed when the agent has started, and runs without its file.
//!
//! **Whom loads reach** is not for the experiment file to say: an address in it has to be one that the machine itself has, as its agent tells, or
//! one that the user named.

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
use plimsoll_model::frame::{Here, PROTOCOL};

pub use bring::Program;
pub use clock::{Clock, Offset};
pub use error::{RemoteError, Why};
pub use session::{FromAgent, ToAgent};

use crate::clock::raw_ns;
use address::Network;
use allocation::Allocations;
use session::Session;

/// The local time to which offsets refer: CLOCK_MONOTONIC_RAW, in nanoseconds.
pub fn now_ns() -> u64 {
    raw_ns()
}

/// A machine that is there already.
#[derive(Clone, Debug)]
pub struct RemoteHost {
    /// Its name in the experiment.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Where the others reach it, where the file says so.
    pub address: Option<Address>,
    /// Whether the agent may be root.
    pub may_be_root: bool,
    /// How long nothing may be heard from it.
    pub lost_after: Duration,
}

/// What a run has to reach machines with, as long as it goes on.
#[derive(Debug)]
pub struct Means {
    program: Program,
    allocations: Allocations,
}

impl Means {
    /// With the program that is brought along to where no agent is.
    #[must_use]
    pub fn with(program: Program) -> Self {
        Self { program, allocations: Allocations::default() }
    }
}

/// Agents on machines that are there already. Dropping it ends them, and waits until they have put back what they changed.
#[derive(Debug)]
pub struct RemoteRig {
    sessions: BTreeMap<String, Session>,
    network: Network,
}

impl RemoteRig {
    /// Starts an agent on each, side by side, and makes sure that they speak this version, and that the hosts' addresses are their own or among
    /// `targets`.
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
            check(host, session.here()).map_err(|why| why.of(&host.name))?;
            sessions.insert(host.name.clone(), session);
        }
        let facts = hosts.iter().map(|host| (host, sessions[&host.name].here()));
        let network = Network::new(facts, targets)?;
        Ok(Self { sessions, network })
    }

    /// The streams to the agent of a host, once.
    ///
    /// # Errors
    /// When there is no such host, or they were taken before.
    pub fn pipes(&mut self, host: &str) -> Result<(ToAgent, FromAgent), RemoteError> {
        let pipes = self.sessions.get_mut(host).and_then(Session::take_pipes);
        pipes.ok_or_else(|| Why::NoPipes.of(host))
    }

    /// Where `from` reaches `to`.
    ///
    /// # Errors
    /// When that is not known.
    pub fn address(&self, from: &str, to: &str) -> Result<IpAddr, RemoteError> {
        self.network.address(from, to).map_err(|why| why.of(to))
    }

    /// Where services of a host listen: on the one address where all others reach it, if there is one and it is its own; else on all.
    ///
    /// # Errors
    /// When it is not known where others reach it.
    pub fn listen(&self, host: &str) -> Result<IpAddr, RemoteError> {
        self.network.listen(host).map_err(|why| why.of(host))
    }

    /// How the clock of a host stands to this machine's; none where there is no such host.
    pub fn clock(&self, host: &str) -> Option<Clock> {
        self.sessions.get(host).map(Session::clock)
    }

    /// What a reader of its figures must know of a host.
    pub fn notes(&self, host: &str) -> Vec<String> {
        self.sessions.get(host).map(|session| vec![told(session)]).unwrap_or_default()
    }

    /// Why a host is not there any more, where it has gone, and what its command said last.
    pub fn last_lines(&self, host: &str) -> String {
        self.sessions.get(host).map(Session::last_lines).unwrap_or_default()
    }
}

impl Drop for RemoteRig {
    fn drop(&mut self) {
        // All are told before the first is waited for, so that they end side by side.
        self.sessions.values().for_each(Session::tell_to_end);
        self.sessions.clear();
    }
}

/// Whether an agent is one that may be used.
fn check(host: &RemoteHost, here: &Here) -> Result<(), Why> {
    if here.protocol != PROTOCOL {
        return Err(Why::Version { version: here.version.clone(), theirs: here.protocol });
    }
    match here.user == 0 && !host.may_be_root {
        true => Err(Why::Root),
        false => Ok(()),
    }
}

fn told(session: &Session) -> String {
    let here = session.here();
    let whom = if here.user == 0 { "as root" } else { "as an ordinary user" };
    let brought = match session.was_brought() {
        true => ", brought along",
        false => "",
    };
    format!(
        "the machine `{}`, {}, with an agent of Plimsoll {} {whom}{brought}; it is not rebuilt between trials: a trial sees the kernel state that earlier ones left",
        here.machine,
        session.reach(),
        here.version
    )
}
