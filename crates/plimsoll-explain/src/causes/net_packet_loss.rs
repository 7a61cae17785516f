//! `net.packet_loss`: Packets are lost, and sent again.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, When, by_hand, by_stalls};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "duplicate acknowledgements or SACK, then segments that are sent again",
        evidence_against: "segments arrive out of order, and the retransmissions were not needed",
        test: "make the path lossless: the retransmissions are gone",
        remedy: "find where packets are lost: a queue that is too short, a policer, a bad link",
    },
    when: When::Always,
    find,
    change: by_hand,
};

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::FastRetransmit],
    counters: &["snmp.Tcp.RetransSegs"],
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetPacketLoss, &STALLS, known.stalls).into_iter().collect()
}
