//! `net.time_wait_reuse`: The client reuses ports while the other side still holds their last connection in TIME_WAIT.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_counters, by_stalls, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a SYN has the addresses and ports of a connection in TIME_WAIT, and the server does not answer with a SYN-ACK",
        evidence_against: "SYNs from fresh ports need retransmissions as well",
        test: "use more client ports, or let the client close first: the server answers every SYN at once",
        remedy: "reuse connections, widen the clients' range of ports, or let the client close first",
    },
    find,
)
.confirmed_by(changes::more_ports);

const ID: CauseId = CauseId::NetTimeWaitReuse;
/// What the kernel must have counted.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "netstat.TcpExt.PAWSTimewait",
    least: 0.005,
    with: &["netstat.TcpExt.TCPSynRetrans"],
};
/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::SynIgnored],
    counters: &[
        "netstat.TcpExt.PAWSTimewait",
        "netstat.TcpExt.TCPACKSkippedTimeWait",
        "netstat.TcpExt.TCPChallengeACK",
    ],
    is_counted: true,
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let counted = by_counters::named(ID, &COUNTERS, known.evidence);
    counted.into_iter().chain(by_stalls::named(ID, &STALLS, known.stalls)).collect()
}
