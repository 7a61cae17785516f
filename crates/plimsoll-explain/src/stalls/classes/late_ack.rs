//! A segment was sent again that had arrived: the receiver says so itself (D-SACK, RFC 2883), and nothing was lost. Only the
//! acknowledgement was late, for as long as a timer or a probe of the tail (RFC 8985, section 7) takes.
//!
//! A Linux receiver acknowledges at once what fills two segments, unless its window could not move on with it (`__tcp_ack_snd_check` in
//! net/ipv4/tcp_input.c): late acknowledgements of a full window are those of a program that does not read.

use crate::stalls::half::LARGE;
use crate::stalls::recovery::Recovery;
use crate::stalls::rtt::Rtt;
use crate::stalls::time::{MILLISECOND, ms};
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, were};

/// The longest that a Linux receiver delays an acknowledgement (`TCP_DELACK_MAX`), with a tick of its timer and the way back.
pub(in crate::stalls) fn longest_delay(rtt: Option<Rtt>) -> u64 {
    205 * MILLISECOND + rtt.map_or(0, |rtt| rtt.smoothed)
}

/// How it shows that the first copy of a retransmitted segment had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stalls) enum Arrival {
    /// The window was full, and without SACK no other sign is possible.
    FullWindow,
    /// The acknowledgement that ended the wait carried a D-SACK: it answered the second copy.
    SecondCopy,
    /// An acknowledgement of the first copy came, and a D-SACK for the second one after it: neither was lost.
    BothCopies,
}

/// The acknowledgement by which `receiver` ended what looked like a loss.
pub(in crate::stalls) fn judge(
    recovery: &Recovery,
    sender: Actor,
    receiver: Actor,
    arrival: Arrival,
    length: u64,
    rtt: Option<Rtt>,
) -> Finding {
    let Recovery { in_flight, segment_size, .. } = *recovery;
    let is_too_late = length > longest_delay(rtt);
    // A kernel acknowledges what comes into a full window as well, whether its program reads or not.
    let (class, waiting_for, why) = if recovery.window_was_full && !is_too_late {
        let once_large = recovery.largest_window >= LARGE.saturating_mul(segment_size);
        let class = if once_large { Class::ZeroWindow } else { Class::SmallWindow };
        (class, receiver, "the window was full, and the receiving program did not read")
    } else if arrival == Arrival::BothCopies && is_too_late {
        (
            Class::PathDelay,
            Actor::Path,
            "both copies were acknowledged, so the path delayed packets and lost none",
        )
    } else if recovery.resent > 1 && recovery.timeouts > 0 {
        (Class::Rto, sender, "the acknowledgements were lost or late")
    } else if is_too_late {
        (Class::TailLoss, sender, "no receiver delays an acknowledgement that long, so it was lost")
    } else if in_flight <= 2 * segment_size {
        (Class::DelayedAck, receiver, "the receiver held its acknowledgement back")
    } else {
        (Class::SenderWaited, sender, "the path or the receiver was slow")
    };
    Finding {
        class,
        waiting_for,
        evidence: format!(
            "{} acknowledged only after {:.1} ms; the retransmitted segment had arrived{}: {why}",
            were(in_flight),
            ms(length),
            if arrival == Arrival::FullWindow { "" } else { " (D-SACK)" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stalls::recovery::Trigger;

    fn of(length: u64, in_flight: u32, window_was_full: bool, largest_window: u32) -> Class {
        let recovery = Recovery {
            start: 0,
            trigger: Trigger::TailTimer,
            first_resent: 1,
            last_resent: 1,
            resent: 1,
            timeouts: 1,
            was_reported: false,
            in_flight,
            payload: 1448,
            window_was_full,
            largest_window,
            segment_size: 1448,
        };
        judge(&recovery, Actor::Server, Actor::Client, Arrival::SecondCopy, length * MILLISECOND, None).class
    }

    #[test]
    fn an_acknowledgement_that_no_receiver_holds_back_so_long_was_lost_however_full_the_window() {
        assert_eq!(of(1538, 78_540, true, 80_000), Class::TailLoss);
    }

    #[test]
    fn what_arrived_was_not_lost() {
        assert_eq!(of(43, 8688, true, 17_376), Class::ZeroWindow);
        assert_eq!(of(43, 2304, true, 2304), Class::SmallWindow);
        assert_eq!(of(43, 1448, false, 65_536), Class::DelayedAck);
        assert_eq!(of(230, 1448, false, 65_536), Class::TailLoss);
        assert_eq!(of(43, 1 << 20, false, 4 << 20), Class::SenderWaited);
    }
}
