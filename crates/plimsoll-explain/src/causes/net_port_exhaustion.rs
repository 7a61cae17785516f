//! `net.port_exhaustion`: A client has no local port left to connect from.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;

use super::{Change, Definition, Known, Page, When, by_counters};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "connections fail at the client with EADDRNOTAVAIL: every local port is taken, most of them by TIME_WAIT",
        evidence_against: "connections are refused, or not answered, by the other side",
        test: "widen net.ipv4.ip_local_port_range, or connect from more addresses, and measure again: the errors are gone",
        remedy: "keep connections open, let the server close first, widen net.ipv4.ip_local_port_range, or use more source addresses",
    },
    when: When::Always,
    find,
    change,
};

/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_port", least: 0.005, with: &[] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_counters::named(CauseId::NetPortExhaustion, &COUNTERS, known.evidence).into_iter().collect()
}

fn change(experiment: &Experiment) -> Option<Change> {
    Change::more_ports(experiment)
}
