//! The last segment of a flight was lost: nothing behind it could bring forth duplicate acknowledgements. The probe timer
//! (RFC 8985, section 7), or the retransmission timer of a flight of one segment, sent it again.

use crate::stalls::recovery::Recovery;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes};

pub(super) fn judge(recovery: &Recovery, sender: Actor) -> Finding {
    let what = match (recovery.payload, recovery.in_flight) {
        (0, _) => "its FIN".to_owned(),
        (payload, in_flight) if in_flight > payload => {
            format!("the last {payload} of {in_flight} unacknowledged bytes")
        }
        (payload, _) => bytes(payload),
    };
    of_timer(recovery, sender, &format!("retransmitted {what}"))
}

/// A probe that carried new data, as the sender had some (RFC 8985, section 7.3). What was lost is repaired behind it.
pub(in crate::stalls) fn of_probe(recovery: &Recovery, sender: Actor) -> Finding {
    let (new, older) = (bytes(recovery.payload), bytes(recovery.in_flight));
    let what = format!(
        "sent {new} of new data while {older} before it were unacknowledged, of which some had been lost"
    );
    of_timer(recovery, sender, &what)
}

/// The sender acted after a time without any acknowledgement.
fn of_timer(recovery: &Recovery, sender: Actor, what: &str) -> Finding {
    let waited = ms(recovery.first_resent.saturating_sub(recovery.start));
    let evidence = format!("after {waited:.1} ms without an acknowledgement the {sender} {what}");
    Finding { class: Class::TailLoss, waiting_for: sender, evidence }
}
