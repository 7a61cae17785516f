//! A retransmission timeout (RFC 6298): no acknowledgement reported the loss, and its timer ran out.

use crate::stalls::recovery::Recovery;
use crate::stalls::rtt::{self, Rtt};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes, were};

pub(super) fn judge(recovery: &Recovery, sender: Actor, rtt: Option<Rtt>) -> Finding {
    let timeouts = match recovery.timeouts {
        0 | 1 => "the retransmission timer expired".to_owned(),
        count => format!("the retransmission timer expired {count} times"),
    };
    let since_start = |at: u64| format!("{:.1}", ms(at.saturating_sub(recovery.start)));
    let (first, last) = (since_start(recovery.first_resent), since_start(recovery.last_resent));
    let in_flight = match recovery.in_flight {
        0 => String::new(),
        count => format!(" with {} unacknowledged", bytes(count)),
    };
    Finding {
        class: Class::Rto,
        waiting_for: sender,
        evidence: format!(
            "{timeouts}{in_flight}: retransmission after {} ms (timeout about {:.0} ms); no duplicate ACK or SACK had reported \
             a loss",
            if first == last { first } else { format!("{first} to {last}") },
            ms(rtt::rto(rtt)),
        ),
    }
}

/// An acknowledgement that `receiver` sent with `lost_with` bytes of its own, all of which were lost before the capture point.
pub(in crate::stalls) fn of_lost_ack(
    recovery: &Recovery,
    receiver: Actor,
    lost_with: u32,
    length: u64,
) -> Finding {
    Finding {
        class: Class::Rto,
        waiting_for: receiver,
        evidence: format!(
            "{} acknowledged only after {:.1} ms: {} of the {receiver}, with the acknowledgement, had been lost before the capture point",
            were(recovery.in_flight),
            ms(length),
            bytes(lost_with)
        ),
    }
}
