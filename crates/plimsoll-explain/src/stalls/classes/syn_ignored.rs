//! A SYN without a SYN-ACK because of an older connection with the same addresses and ports: the server, or something on
//! the way that tracks connections, still knows that one. A Linux server that does answers with an acknowledgement of the
//! old connection (RFC 5961, section 4); a filter answers with nothing.

use crate::stalls::handshake::Handshake;
use crate::stalls::time::{SECOND, seconds};
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, syn_retry};

/// TIME-WAIT lasts 60 s in Linux; connection tracking keeps closed connections for up to 120 s.
const REMEMBERED: u64 = 120 * SECOND;

pub(super) fn judge(handshake: &Handshake) -> Option<(u64, u64, Finding)> {
    let waited_until = syn_retry::waited_until(handshake)?;
    let known = handshake.predecessor.filter(|predecessor| {
        let age = handshake.first_syn.saturating_sub(predecessor.last);
        !predecessor.closed || age < REMEMBERED
    });
    let sign = match (known, handshake.strange_answers) {
        (None, 0) => return None,
        (Some(old), 0) => format!(
            "nothing, {:.3} s after an older connection with the same addresses and ports",
            seconds(handshake.first_syn.saturating_sub(old.last))
        ),
        (_, 1) => "a packet of an older connection, not by a SYN-ACK".to_owned(),
        (_, count) => format!("{count} packets of an older connection, not by a SYN-ACK"),
    };
    let finding = Finding {
        class: Class::SynIgnored,
        waiting_for: Actor::Server,
        evidence: format!("the SYN was answered by {sign}; it was sent {} times", handshake.syns),
    };
    Some((handshake.first_syn, waited_until, finding))
}
