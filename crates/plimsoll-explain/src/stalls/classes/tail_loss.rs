//! The last segment of a flight was lost: nothing behind it could bring forth duplicate acknowledgements. The probe timer
//! (RFC 8985, section 7), or the retransmission timer of a flight of one segment, sent it again.

use crate::stalls::recovery::Recovery;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(recovery: &Recovery, sender: Actor) -> Finding {
    let what = match (recovery.payload, recovery.in_flight) {
        (0, _) => "its FIN".to_owned(),
        (payload, in_flight) if in_flight > payload => {
            format!("the last {payload} of {in_flight} bytes in flight")
        }
        (payload, _) => format!("{payload} bytes"),
    };
    Finding {
        class: Class::TailLoss,
        waiting_for: sender,
        evidence: format!(
            "the {sender} retransmitted {what} after {:.1} ms; no acknowledgement had arrived",
            ms(recovery.first_resent.saturating_sub(recovery.start)),
        ),
    }
}
