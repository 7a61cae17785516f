//! Errors of existing machines.

use std::borrow::Cow;
use std::io;
use std::net::IpAddr;

use plimsoll_model::frame::PROTOCOL;

/// Error of a host.
#[derive(Debug, thiserror::Error)]
#[error("host {host}: {kind}")]
pub struct RemoteError {
    /// Its name.
    pub host: String,
    /// Reason why the machine cannot be used.
    pub kind: ErrorKind,
}

/// Reason why an existing machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The command could not be started.
    #[error("starting {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A thread could not be started, or a stream is missing.
    #[error("{what}: {source}")]
    Local {
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The command has closed its output. The caller, which has the command, finds out how it ended.
    #[error("it closed the connection before an agent answered")]
    Silent,
    /// The command ended before an agent answered.
    #[error("{reach} ended before an agent answered ({how}){}", said(words))]
    Ended {
        /// The command, in words.
        reach: String,
        /// How it ended.
        how: String,
        /// End of its standard error.
        words: String,
    },
    /// No agent answered in time.
    #[error("no agent answered within {seconds} s by {reach}{}", said(words))]
    TooLong {
        /// The command, in words.
        reach: String,
        /// Elapsed seconds of the wait.
        seconds: u64,
        /// End of the command's standard error.
        words: String,
    },
    /// The peer is no agent.
    #[error("what answers does not speak Plimsoll's frames; it says {said:?}")]
    NoFrames {
        /// First part of its output.
        said: String,
    },
    /// The agent speaks other frames.
    #[error(
        "the agent there is of Plimsoll {version} and speaks version {theirs} of the frames; this one speaks version {PROTOCOL}"
    )]
    Version {
        /// Version of Plimsoll.
        version: String,
        /// Version of the frames.
        theirs: u32,
    },
    /// The agent is root.
    #[error("the agent there runs as root, and nothing allows that")]
    Root,
    /// The program could not be brought along.
    #[error("the agent could not be brought along: {why}")]
    Bring {
        /// Why.
        why: String,
    },
    /// The program does not run there.
    #[error(
        "the agent could not be brought along: the machine is {theirs}, and this program is for {}",
        std::env::consts::ARCH
    )]
    Architecture {
        /// Output of `uname -m` there.
        theirs: String,
    },
    /// The queue hands no machine out.
    #[error("{queue} hands out no machine for it{}", said(words))]
    NoMachine {
        /// Name of the queue.
        queue: &'static str,
        /// End of its command's standard error.
        words: String,
    },
    /// The queue gave no machine in time.
    #[error("{queue} handed out no machine for it within {seconds} s{}", said(words))]
    NotStarted {
        /// Name of the queue.
        queue: &'static str,
        /// Elapsed seconds of the wait.
        seconds: f64,
        /// End of its command's standard error.
        words: String,
    },
    /// The queue has taken its machine back, or the machine is down.
    #[error(
        "{queue} has taken its machine back (job {job}), and a run cannot continue on another one{}",
        said(words)
    )]
    TakenBack {
        /// Name of the queue.
        queue: &'static str,
        /// The job.
        job: String,
        /// End of its command's standard error.
        words: String,
    },
    /// The machine does not have an address of the file.
    #[error("its address should be {address}, but the machine has {}", listed(own))]
    ForeignAddress {
        /// The address.
        address: IpAddr,
        /// Addresses of the machine.
        own: Vec<IpAddr>,
    },
    /// Its address is unknown.
    #[error("it is not known where others reach it: the machine has {}", listed(own))]
    NoAddress {
        /// Addresses of the machine.
        own: Vec<IpAddr>,
    },
    /// There is no such host, or its streams were taken already.
    #[error("there is no such host, or its streams were taken already")]
    NoPipes,
}

impl ErrorKind {
    pub(super) fn of(self, host: &str) -> RemoteError {
        RemoteError { host: host.into(), kind: self }
    }
}

impl RemoteError {
    /// Advice for the user, if there is any.
    pub fn advice(&self) -> Option<Cow<'static, str>> {
        let host = &self.host;
        Some(match &self.kind {
            ErrorKind::Root => format!(
                "another user in `hosts.{host}.reach`, or `allow = [\"root\"]` there: services and loads then run as root, except programs of your own"
            )
            .into(),
            ErrorKind::Ended { words, .. } if words.contains("plimsoll") && words.contains("not found") => {
                "Plimsoll installed there; with `reach = { ssh = ... }` it is brought along".into()
            }
            ErrorKind::Version { .. } => "the same version on both machines; with `reach = { ssh = ... }` this one is brought along".into(),
            ErrorKind::ForeignAddress { address, .. } => format!(
                "one of its own addresses in `hosts.{host}.address`; or `--allow-target {address}` where that leads to the machine (address translation)"
            )
            .into(),
            ErrorKind::NotStarted { queue: "Kubernetes", .. } => format!("more time in `hosts.{host}.reach.kubernetes.start_within`, or less to ask for; `kubectl describe pod` shows why").into(),
            ErrorKind::NotStarted { .. } => format!("more time in `hosts.{host}.reach.slurm.start_within`, or less to ask for; `squeue --start` shows when").into(),
            ErrorKind::NoMachine { words, .. } if words.contains("no program kubectl") => {
                "the program kubectl (Debian: `apt-get install kubernetes-client`), with a configuration for the cluster".into()
            }
            ErrorKind::NoMachine { queue: "Kubernetes", .. } => format!("`hosts.{host}.reach.kubernetes` has the requested resources; `kubectl auth can-i create pods` shows your permission").into(),
            ErrorKind::NoMachine { words, .. } if words.contains("no program salloc") => {
                "Slurm's client programs (Debian: `apt-get install slurm-client`), on a machine from which jobs may be submitted".into()
            }
            ErrorKind::NoMachine { .. } => format!("`sinfo` lists the available resources, and `hosts.{host}.reach.slurm` the requested ones").into(),
            ErrorKind::NoAddress { .. } => format!("`hosts.{host}.address`").into(),
            ErrorKind::Architecture { .. } => {
                "a build for that machine, installed there, and `reach = { command = [\"ssh\", \"-T\", ..., \"plimsoll\", \"agent\"] }`".into()
            }
            ErrorKind::Ended { words, .. } if words.contains("Host key verification failed") => {
                "connect once by hand, and see to the machine's key".into()
            }
            ErrorKind::Ended { words, .. } if words.contains("Permission denied (") => {
                "a key that needs no password here: Plimsoll asks for none (`ssh -o BatchMode=yes`)".into()
            }
            _ => return None,
        })
    }
}

fn said(words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}

fn listed(addresses: &[IpAddr]) -> String {
    match addresses {
        [] => "none that others could reach".into(),
        all => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
