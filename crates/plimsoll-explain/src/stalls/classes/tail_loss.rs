//! The last segment of a flight was lost: nothing behind it could bring forth duplicate acknowledgements. The probe timer
//! (RFC 8985, section 7), or the retransmission timer of a flight of one segment, sent it again.

use crate::stalls::recovery::Recovery;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(recovery: &Recovery, sender: Actor) -> Finding {
    Finding {
        class: Class::TailLoss,
        waiting_for: sender,
        evidence: format!(
            "the last {} bytes of {} in flight were sent again after {:.1} ms without any sign from the receiver",
            recovery.payload,
            recovery.in_flight,
            ms(recovery.first_resent.saturating_sub(recovery.start)),
        ),
    }
}
