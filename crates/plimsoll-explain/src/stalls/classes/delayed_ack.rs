//! The receiver held its acknowledgement back (RFC 1122, section 4.2.3.2; Linux `tcp_delack_timer`, 40 to 200 ms), and
//! the sender, with data at hand, waited for it: Nagle's algorithm (RFC 896) allows one partial segment in flight.

use crate::stalls::gap::LateAck;
use crate::stalls::time::{MILLISECOND, ms};
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes, ender, other};

/// A shorter round trip is no part of the silence that a reader would ask about.
const WORTH_STATING: u64 = 5 * MILLISECOND;

/// The acknowledgement ended the silence, and data of the other side followed at once.
pub(super) fn judge(late: &LateAck) -> Option<Finding> {
    if late.acked == 0 {
        return None;
    }
    let round_trip = late.gap.rtt.map_or(0, |rtt| rtt.lowest);
    let beside = if round_trip >= WORTH_STATING {
        format!(" (the round trip takes {:.1} ms)", ms(round_trip))
    } else {
        String::new()
    };
    Some(Finding {
        class: Class::DelayedAck,
        waiting_for: ender(&late.gap),
        evidence: format!(
            "the {} acknowledged {} after {:.1} ms{beside}, and the {} sent more {:.2} ms later",
            ender(&late.gap),
            bytes(late.acked),
            ms(late.gap.length()),
            other(&late.gap),
            ms(late.followed_after)
        ),
    })
}

/// The last packet of a connection acknowledged a FIN `length` nanoseconds later.
pub(in crate::stalls) fn of_fin(receiver: Actor, length: u64) -> Finding {
    Finding {
        class: Class::DelayedAck,
        waiting_for: receiver,
        evidence: format!(
            "the {receiver} acknowledged the FIN after {:.1} ms; no data waited for that",
            ms(length)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::*;

    #[test]
    fn an_acknowledgement_that_data_follows_was_waited_for() {
        let late = LateAck { gap: gap(), acked: 61, followed_after: 1000 };
        let finding = judge(&late).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::DelayedAck, Actor::Server));
    }

    #[test]
    fn a_mere_window_update_is_no_delayed_acknowledgement() {
        assert_eq!(judge(&LateAck { gap: gap(), acked: 0, followed_after: 1000 }), None);
    }
}
