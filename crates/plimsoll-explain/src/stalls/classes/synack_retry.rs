//! A SYN-ACK was sent again: either it or the acknowledgement of it was lost.

use crate::stalls::handshake::Handshake;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(handshake: &Handshake) -> Option<(u64, u64, Finding)> {
    if handshake.synacks < 2 || handshake.last_synack <= handshake.first_synack {
        return None;
    }
    let length = handshake.last_synack - handshake.first_synack;
    let answer = if handshake.done.is_some() { "then the client's answer" } else { "and no answer ever" };
    let finding = Finding {
        class: Class::SynackRetry,
        waiting_for: Actor::Client,
        evidence: format!("{} SYN-ACKs within {:.0} ms, {answer}", handshake.synacks, ms(length)),
    };
    Some((handshake.first_synack, handshake.last_synack, finding))
}
