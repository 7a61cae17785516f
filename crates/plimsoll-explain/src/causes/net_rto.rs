//! `net.rto`: Only the retransmission timer detects the losses (RFC 6298).

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_counters, by_stalls, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a timeout triggers retransmissions, and the connection is idle until then. The kernel counts timeouts",
        evidence_against: "duplicate acknowledgements reveal the losses at once",
        test: "make the path lossless: the stalls disappear",
        remedy: "find where packets are lost (queues, policers, bad links). Keep windows large enough for fast retransmission",
    },
    find,
)
.confirmed_by(changes::without_loss);

/// What the kernel must have counted where no packets were captured: net/ipv4/tcp_timer.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "netstat.TcpExt.TCPTimeouts",
    least: 0.005,
    with: &[
        "netstat.TcpExt.TCPSlowStartRetrans",
        "netstat.TcpExt.TCPLossProbes",
        "netstat.TcpExt.TCPSpuriousRTOs",
    ],
};
/// How sure the counters alone are.
const COUNTED_ALONE: f64 = 0.6;
/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::Rto, Class::TailLoss],
    counters: &["netstat.TcpExt.TCPTimeouts", "netstat.TcpExt.TCPLossProbes"],
    is_counted: true,
    required: Some("snmp.Tcp.RetransSegs"),
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let counted = by_counters::named(CauseId::NetRto, &COUNTERS, known.evidence);
    // Counters tell that it happens, and not what it costs.
    let counted = counted.map(|cause| Cause { confidence: COUNTED_ALONE, ..cause });
    by_stalls::named(CauseId::NetRto, &STALLS, known.stalls).into_iter().chain(counted).collect()
}
