//! Duplicate acknowledgements or SACK ranges reported a loss, and the sender repaired it at once (RFC 5681, RFC 8985).
//! The repair costs a round trip where the sender has nothing new to send, or may not.

use crate::stalls::recovery::Recovery;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(recovery: &Recovery, sender: Actor) -> Finding {
    Finding {
        class: Class::FastRetransmit,
        waiting_for: sender,
        evidence: format!(
            "duplicate ACKs or SACK reported a loss; the sender retransmitted {} segment{}, the first {:.1} ms after the last progress",
            recovery.resent,
            if recovery.resent == 1 { "" } else { "s" },
            ms(recovery.first_resent.saturating_sub(recovery.start)),
        ),
    }
}
