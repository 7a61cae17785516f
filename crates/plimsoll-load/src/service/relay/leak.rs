//! The faults that a relay may be asked to have, so that there is something to be found.

use std::net::SocketAddr;

use plimsoll_model::experiment::Leak;
use plimsoll_model::frame::Failure;

use super::record::Records;
use crate::rule::Rules;

/// The fault of one relay.
pub(super) struct Leaking {
    kind: Kind,
    /// How many rules or records a connection leaves.
    count: u32,
}

enum Kind {
    /// The relay leaves a routing-policy rule in the kernel for each connection.
    Rule(Rules),
    /// The relay keeps a record of each connection, and walks them all for the next.
    Record(Records),
}

impl Leaking {
    /// The fault of the `nth` relay, which listens on `address`.
    ///
    /// # Errors
    /// When the kernel does not let this process change its routing rules.
    pub(super) fn prepare(leak: Leak, count: u32, nth: u32, address: SocketAddr) -> Result<Self, Failure> {
        let kind = match leak {
            Leak::RoutingRule => Kind::Rule(Rules::open(nth, address.is_ipv4())?),
            Leak::Record { forget_after } => Kind::Record(Records::new(forget_after.map(|span| span.0))),
        };
        Ok(Self { kind, count })
    }

    /// Leaks what one connection leaks.
    pub(super) fn one_connection(&mut self) {
        match &mut self.kind {
            Kind::Rule(rules) => (0..self.count).for_each(|_| rules.add()),
            Kind::Record(records) => records.walk_and_add(self.count),
        }
    }
}
