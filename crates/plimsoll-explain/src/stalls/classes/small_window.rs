//! The receiver's window was open by less than the sender needed: a small receive buffer, or a reader that lags.
//!
//! A Linux sender does not cut a segment to a window that is smaller than it, unless half of the largest window ever
//! offered is free (RFC 9293, section 3.8.6.2.1); it then waits for the persist timer, 200 ms or more.

use crate::stalls::gap::{Gap, LateAck};
use crate::stalls::half::FullWindow;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes, ender, other, were};

/// Data that fills what the window left, and the window left less than a segment.
pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let usable = gap.usable_window?;
    let payload = gap.segment.payload;
    let fills = payload > 0 && payload <= usable && payload > usable / 2;
    if usable >= gap.segment_size || !fills {
        return None;
    }
    Some(Finding {
        class: Class::SmallWindow,
        waiting_for: other(gap),
        evidence: format!(
            "the {}'s window had room for {}, less than a segment of {}; after {:.1} ms {} sent into it",
            other(gap),
            bytes(usable),
            gap.segment_size,
            ms(gap.length()),
            were(payload)
        ),
    })
}

/// An acknowledgement or a window update that ended a silence in which the window left less than a segment.
pub(super) fn judge_ack(late: &LateAck) -> Option<Finding> {
    let gap = &late.gap;
    let (usable, window) = (gap.usable_window?, gap.window?);
    // With most of a window free that has room for a segment the sender was not stopped by it, however small a rest is left.
    if usable >= gap.segment_size || (usable > window / 2 && window >= gap.segment_size) {
        return None;
    }
    let in_flight = match gap.in_flight {
        0 => String::new(),
        count => format!(" beside {} unacknowledged", bytes(count)),
    };
    Some(Finding {
        class: Class::SmallWindow,
        waiting_for: ender(gap),
        evidence: format!(
            "the {}'s window had room for {}{in_flight}, less than a segment of {}; {:.2} ms after it moved the {} sent more",
            ender(gap),
            bytes(usable),
            gap.segment_size,
            ms(late.followed_after),
            other(gap)
        ),
    })
}

/// A stretch of `length` ns in which the sender filled the window whenever it moved: the window set the pace.
pub(in crate::stalls) fn judge_full(full: &FullWindow, receiver: Actor, length: u64) -> Finding {
    Finding {
        class: Class::SmallWindow,
        waiting_for: receiver,
        evidence: format!(
            "the sender filled the window of {2} bytes {1} times in {0:.1} ms: the window set its pace",
            ms(length),
            full.fills,
            full.window
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::*;
    #[test]
    fn data_that_fills_a_window_smaller_than_a_segment_waited_for_the_window() {
        let mut gap = Gap { usable_window: Some(1000), ..gap() };
        gap.segment.payload = 1000;
        let finding = judge(&gap).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::SmallWindow, Actor::Client));
    }

    #[test]
    fn a_small_message_into_a_small_window_is_not_held_by_it() {
        let mut gap = Gap { usable_window: Some(1000), ..gap() };
        gap.segment.payload = 50;
        assert_eq!(judge(&gap), None);
    }

    #[test]
    fn an_acknowledgement_that_frees_a_full_window_was_waited_for() {
        let gap = Gap { usable_window: Some(100), window: Some(2304), in_flight: 2204, ..gap() };
        let finding = judge_ack(&LateAck { gap, acked: 2204, followed_after: 1000 }).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::SmallWindow, Actor::Server));
    }
}
