//! The sender paused in the middle of its data, with nothing in flight and the window open: its program did not write.
//! This is what is left when no other class fits.

use crate::stalls::gap::Gap;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes, ended_by, ender};

pub(in crate::stalls) fn judge(gap: &Gap) -> Finding {
    let flight = match gap.in_flight {
        0 => "all acknowledged".to_owned(),
        count => format!("{} unacknowledged", bytes(count)),
    };
    Finding {
        class: Class::SenderWaited,
        waiting_for: ender(gap),
        evidence: format!(
            "the {} sent {} {:.1} ms after its previous data, with {flight} and the window open",
            ender(gap),
            ended_by(gap),
            ms(gap.length())
        ),
    }
}

/// A silence before a frame of a stream in which both sides send (HTTP/2, WebSocket): the server goes on when it has something, and frames of the client
/// that come between are no requests.
pub(in crate::stalls) fn in_stream(gap: &Gap) -> Finding {
    let whose = if gap.by_client { "the client sent a frame" } else { "the server sent its next frame" };
    Finding {
        class: Class::SenderWaited,
        waiting_for: Actor::Server,
        evidence: format!(
            "{whose} of {} after {:.1} ms; the server sends a stream at its own pace, whatever the client sends",
            bytes(gap.segment.payload),
            ms(gap.length())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::super::of_gap;
    use super::*;

    #[test]
    fn a_pause_without_any_sign_is_the_senders() {
        assert_eq!(of_gap(&gap()).finding.class, Class::SenderWaited);
    }
}
