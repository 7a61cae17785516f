//! Duplicate acknowledgements or SACK ranges reported a loss, and the sender repaired it at once (RFC 5681, RFC 8985).
//! The repair costs a round trip where the sender has nothing new to send, or may not.

use crate::stalls::recovery::Recovery;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(recovery: &Recovery, sender: Actor) -> Finding {
    let segments = match recovery.resent {
        1 => "1 segment".to_owned(),
        count => format!("{count} segments, the first"),
    };
    Finding {
        class: Class::FastRetransmit,
        waiting_for: sender,
        evidence: format!(
            "duplicate ACKs or SACK reported a loss; the {sender} retransmitted {segments} {:.1} ms after the last progress",
            ms(recovery.first_resent.saturating_sub(recovery.start)),
        ),
    }
}
