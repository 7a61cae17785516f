//! A SYN was sent again: nothing answered the first. Linux tries again after 1, 3, 7 ... seconds.

use crate::stalls::handshake::Handshake;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

/// Until the last SYN that was sent before any SYN-ACK.
pub(super) fn judge(handshake: &Handshake) -> Option<(u64, u64, Finding)> {
    let waited_until = waited_until(handshake)?;
    let answer = if handshake.synacks > 0 { "then a SYN-ACK" } else { "and no SYN-ACK ever" };
    let finding = Finding {
        class: Class::SynRetry,
        waiting_for: Actor::Server,
        evidence: format!(
            "{} SYNs within {:.0} ms, {answer}",
            handshake.syns,
            ms(waited_until - handshake.first_syn)
        ),
    };
    Some((handshake.first_syn, waited_until, finding))
}

/// When the last SYN was sent that was not sent because a SYN-ACK got lost.
pub(super) fn waited_until(handshake: &Handshake) -> Option<u64> {
    let answered_between = handshake.synacks > 0 && handshake.first_synack < handshake.last_syn;
    (handshake.syns > 1 && !answered_between && handshake.last_syn > handshake.first_syn)
        .then_some(handshake.last_syn)
}
