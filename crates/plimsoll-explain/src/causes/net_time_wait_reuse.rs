//! `net.time_wait_reuse`: Ports are used again before the other side has forgotten their last connection.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::trace::Class;

use super::{Change, Definition, Known, Page, When, by_counters, by_stalls};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "a SYN meets a connection in TIME_WAIT with the same addresses and ports, and is not answered by SYN-ACK",
        evidence_against: "SYNs of fresh ports have to be sent again as well",
        test: "use more client ports, or let the client close first: every SYN is answered at once",
        remedy: "keep connections, widen the range of ports that clients share, or let the client close first",
    },
    when: When::Always,
    find,
    change,
};

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

fn change(experiment: &Experiment) -> Option<Change> {
    Change::more_ports(experiment)
}
