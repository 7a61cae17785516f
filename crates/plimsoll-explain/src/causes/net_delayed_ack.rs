//! `net.delayed_ack`: Senders wait for acknowledgements that receivers hold back (RFC 9293, section 3.8.6.3; 40 ms in Linux).

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, When, by_hand, by_stalls};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "senders stall until an acknowledgement arrives some 40 ms late. The kernel counts delayed acknowledgements",
        evidence_against: "the sender has more to send and room in the window. The late acknowledgement covers a lost full segment",
        test: "acknowledge at once (`quickack 1` on the route, TCP_QUICKACK) or set TCP_NODELAY at the sender: the stalls disappear",
        remedy: "pass each message to the kernel in one call, or set TCP_NODELAY. The pattern write, write, read causes these waits",
    },
    when: When::Always,
    find,
    change: by_hand,
};

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::DelayedAck],
    counters: &["netstat.TcpExt.DelayedACKs"],
    is_counted: true,
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetDelayedAck, &STALLS, known.stalls).into_iter().collect()
}
