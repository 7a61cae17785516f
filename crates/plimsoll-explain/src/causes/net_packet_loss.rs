//! `net.packet_loss`: Packets are lost and retransmitted.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, When, by_counters, by_hand, by_stalls};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "duplicate acknowledgements or SACK precede retransmissions",
        evidence_against: "segments arrive out of order, and the retransmissions were unnecessary",
        test: "make the path lossless: the retransmissions disappear",
        remedy: "find where packets are lost: a short queue, a policer, a bad link",
    },
    when: When::Always,
    find,
    change: by_hand,
};

/// What the kernel must have counted where no packets were captured: net/ipv4/tcp_input.c and tcp_output.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "snmp.Tcp.RetransSegs",
    least: 0.005,
    with: &[
        "netstat.TcpExt.TCPFastRetrans",
        "netstat.TcpExt.TCPSackRecovery",
        "netstat.TcpExt.TCPRenoRecovery",
    ],
};
/// How sure the counters alone are.
const COUNTED_ALONE: f64 = 0.6;
/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::FastRetransmit],
    counters: &["snmp.Tcp.RetransSegs"],
    is_counted: true,
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let counted = by_counters::named(CauseId::NetPacketLoss, &COUNTERS, known.evidence);
    // Counters tell that it happens, and not what it costs.
    let counted = counted.map(|cause| Cause { confidence: COUNTED_ALONE, ..cause });
    by_stalls::named(CauseId::NetPacketLoss, &STALLS, known.stalls).into_iter().chain(counted).collect()
}
