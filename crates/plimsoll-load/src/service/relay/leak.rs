//! The faults that a relay may be asked to have, so that there is something to be found.

use std::net::SocketAddr;

use plimsoll_model::experiment::Leak;
use plimsoll_model::frame::Failure;

use super::record::Records;
use super::rule::Rules;

/// A fault of one relay.
pub(super) enum Leaking {
    /// It leaves a routing-policy rule in the kernel for each connection.
    Rule(Rules),
    /// It keeps a record of each connection, and walks them all for the next.
    Record(Records),
}

impl Leaking {
    /// The fault of the `nth` relay, which listens on `address`.
    ///
    /// # Errors
    /// When the kernel does not let this process change its routing rules.
    pub(super) fn prepare(leak: Leak, nth: u32, address: SocketAddr) -> Result<Self, Failure> {
        match leak {
            Leak::RoutingRule => Rules::open(nth, address.is_ipv4()).map(Self::Rule),
            Leak::Record { forget_after } => Ok(Self::Record(Records::new(forget_after.map(|span| span.0)))),
        }
    }

    /// Leaks what one connection leaks.
    pub(super) fn one_connection(&mut self) {
        match self {
            Self::Rule(rules) => rules.add(),
            Self::Record(records) => records.walk_and_add(),
        }
    }
}
