//! Why something that an agent was asked for could not be done.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Why an agent could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A port is in use already.
    #[error("{address} is in use by another program")]
    AddressInUse {
        /// The address.
        address: SocketAddr,
    },
    /// A server that should run already did not answer.
    #[error("no running server answered within {waited_ms} ms: {last}")]
    NotRunning {
        /// How long was waited.
        waited_ms: u64,
        /// Error of the last attempt.
        last: String,
    },
    /// A service did not get ready in time.
    #[error("not ready after {waited_ms} ms: {last}{}", quoted(stderr))]
    NotReady {
        /// How long it was waited for.
        waited_ms: u64,
        /// Error of the last attempt to reach it.
        last: String,
        /// The last that it wrote to its standard error.
        stderr: String,
    },
    /// A service listens, but not where it is reached.
    #[error(
        "not ready after {waited_ms} ms: it runs, and listens on {} only; the load comes from {} to {}{}",
        listed(listens),
        between.from,
        between.at,
        quoted(stderr)
    )]
    OutOfReach {
        /// How long it was waited for.
        waited_ms: u64,
        /// Where it listens.
        listens: Vec<SocketAddr>,
        /// Where the load comes from and goes to; boxed, so that errors stay small.
        between: Box<Between>,
        /// The last that it wrote to its standard error.
        stderr: String,
    },
    /// A service listens, but on other ports than the one that its loads go to.
    #[error(
        "not ready after {waited_ms} ms: nothing listens on port {port}; it listens on {}{}",
        listed(listens),
        quoted(stderr)
    )]
    WrongPort {
        /// How long it was waited for.
        waited_ms: u64,
        /// The port that loads go to.
        port: u16,
        /// Where it listens.
        listens: Box<[SocketAddr]>,
        /// The last that it wrote to its standard error.
        stderr: Box<str>,
    },
    /// A service ended before it was ready.
    #[error("ended before it was ready: {how}{}", quoted(stderr))]
    Exited {
        /// How it ended, in words.
        how: String,
        /// The last that it wrote to its standard error.
        stderr: String,
        /// Whether it was a program of the user's own that may do less than the user.
        confined: bool,
    },
    /// The program of a service is not there.
    #[error("there is no program `{program}`{}", package.as_ref().map(|p| format!("; it comes with the Debian package `{p}`")).unwrap_or_default())]
    NoProgram {
        /// Its name.
        program: String,
        /// The Debian package that has it, where known.
        package: Option<String>,
    },
    /// Permission is missing.
    #[error("{what}: permission denied{}", needs.as_ref().map(|needs| format!("; it takes {needs}")).unwrap_or_default())]
    Permission {
        /// Operation that failed.
        what: String,
        /// The capability or namespace that it takes, where known.
        needs: Option<String>,
    },
    /// Anything else.
    #[error("{what}: {error}")]
    Other {
        /// Operation that failed.
        what: String,
        /// Error of the system.
        error: String,
    },
}

/// The two ends of a load's way to a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// Where the load comes from.
    pub from: IpAddr,
    /// Where it goes.
    pub at: SocketAddr,
}

/// A program's standard error, for the end of a message.
fn quoted(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!("; on stderr it wrote: {text}"),
    }
}

/// Addresses in a row.
fn listed(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}
