//! `net.syn_dropped`: Requests for connections, or their answers, are lost or dropped.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, When, by_hand, by_stalls};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "SYNs or SYN-ACKs are sent again after one second and more",
        evidence_against: "the server answers a SYN with something else than SYN-ACK",
        test: "raise the listener's backlog, or take away the filter: every SYN is answered at once",
        remedy: "raise the backlog (listen, net.core.somaxconn), or find what drops SYNs on the way",
    },
    when: When::Always,
    find,
    change: by_hand,
};

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::SynRetry, Class::SynackRetry],
    counters: &["snmp.Tcp.RetransSegs", "netstat.TcpExt.TCPTimeouts"],
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetSynDropped, &STALLS, known.stalls).into_iter().collect()
}
