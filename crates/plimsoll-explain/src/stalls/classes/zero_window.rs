//! The receiver closed its window: its program did not read.
//!
//! Closed means zero, or so much less than it was before that no segment fits any more: a sender does not cut one to a
//! remainder (RFC 9293, section 3.8.6.2.1), but waits, and after the persist time fills the rest to learn of more.

use crate::stalls::gap::{Gap, LateAck};
use crate::stalls::half::{FullWindow, LARGE, SEGMENTS};
use crate::stalls::rtt::Rtt;
use crate::stalls::time::{MILLISECOND, ms};
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, bytes, ender, other};

/// `receiver` announced a window of zero, and `length` ns later one of `opened_to` bytes.
pub(in crate::stalls) fn judge(receiver: Actor, length: u64, opened_to: Option<u32>) -> Finding {
    let end = match opened_to {
        Some(window) => {
            format!("announced a window of zero, and one of {window} bytes {:.1} ms later", ms(length))
        }
        None => format!("announced a window of zero, and no other in the {:.1} ms until the end", ms(length)),
    };
    Finding { class: Class::ZeroWindow, waiting_for: receiver, evidence: format!("the {receiver} {end}") }
}

/// Data that fills the rest of a window that has shrunk to less than a segment.
pub(super) fn judge_shrunk(gap: &Gap) -> Option<Finding> {
    let usable = gap.usable_window.filter(|_| has_shrunk(gap))?;
    let payload = gap.segment.payload;
    (payload > 0 && payload <= usable && payload > usable / 2).then(|| shrunk(gap, other(gap)))
}

/// An acknowledgement or a window update that opens a window which has shrunk to less than a segment, or was full of what the program did not read.
pub(super) fn judge_ack(late: &LateAck) -> Option<Finding> {
    let gap = &late.gap;
    if has_shrunk(gap) {
        return Some(shrunk(gap, ender(gap)));
    }
    let usable = gap.usable_window.filter(|usable| *usable < gap.segment_size)?;
    is_read_late(late.acked, gap.segment_size, gap.length(), gap.rtt).then(|| Finding {
        class: Class::ZeroWindow,
        waiting_for: ender(gap),
        evidence: format!(
            "{} unacknowledged left {usable} of the window; it moved on by {} at once after {:.1} ms, although a round trip takes {:.1} ms: \
             the {}'s program had not read",
            bytes(gap.in_flight),
            bytes(late.acked),
            ms(gap.length()),
            ms(gap.rtt.map_or(0, |rtt| rtt.lowest)),
            ender(gap)
        ),
    })
}

/// Whether a full window moved on when a program read, and not when its kernel had the data. A Linux receiver
/// acknowledges at once what fills two segments where its window can move on with it (`__tcp_ack_snd_check` in
/// net/ipv4/tcp_input.c). So a window that moves on by more, and later than a round trip, was read late; a slow link
/// lets few segments through at a time. Some time is left for queues, and for a CPU.
pub(in crate::stalls) fn is_read_late(moved: u32, segment: u32, waited: u64, rtt: Option<Rtt>) -> bool {
    moved >= SEGMENTS.saturating_mul(segment)
        && rtt.is_some_and(|rtt| waited > 2 * rtt.lowest + 2 * MILLISECOND)
}

/// Without anything in flight the whole window is left, so that it is the window that is too small. With something in flight it is when
/// the receiver had announced much less than it once did: what it has not read takes the rest.
fn has_shrunk(gap: &Gap) -> bool {
    let closed = gap.usable_window.is_some_and(|usable| usable < gap.segment_size);
    let is_unread = gap.window.is_some_and(|window| window <= gap.largest_window / 4 * 3);
    let was_large = gap.largest_window >= LARGE.saturating_mul(gap.segment_size);
    closed && was_large && (gap.in_flight == 0 || is_unread)
}

/// A stretch of `length` ns in which the sender filled a window that had shrunk, whenever it moved: the receiver's program sets the pace.
pub(in crate::stalls) fn judge_full(full: &FullWindow, receiver: Actor, length: u64) -> Finding {
    let lagging = match full.lagging {
        0 => String::new(),
        1 => "; once it was at most half its largest size".to_owned(),
        count => format!("; {count} times it was at most half its largest size"),
    };
    let late = match full.late {
        0 => String::new(),
        count => format!(
            "; {count} of {} window updates came much later than a round trip, {:.1} ms in all",
            full.moves,
            ms(full.read_late)
        ),
    };
    Finding {
        class: Class::ZeroWindow,
        waiting_for: receiver,
        evidence: format!(
            "the sender filled the window {} times in {:.1} ms{lagging}{late}: the {receiver}'s program read more slowly than data came",
            full.fills,
            ms(length)
        ),
    }
}

/// The window had shrunk to less than a segment.
fn shrunk(gap: &Gap, receiver: Actor) -> Finding {
    Finding {
        class: Class::ZeroWindow,
        waiting_for: receiver,
        evidence: format!(
            "the {receiver}'s window had shrunk from {} to {}, less than a segment of {}, for {:.1} ms: its program read more slowly than data came",
            gap.largest_window,
            bytes(gap.usable_window.unwrap_or(0)),
            gap.segment_size,
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
    fn a_window_that_shrank_to_less_than_a_segment_is_closed_if_it_was_large() {
        for (largest_window, class) in [(13_185, Class::ZeroWindow), (8000, Class::SmallWindow)] {
            let mut shrunk = Gap { usable_window: Some(1175), largest_window, ..gap() };
            shrunk.segment.payload = 1175;
            let finding = of_gap(&shrunk).finding;
            assert_eq!((finding.class, finding.waiting_for), (class, Actor::Client));
        }
    }

    #[test]
    fn a_window_that_was_never_large_is_small() {
        let mut small = Gap { usable_window: Some(1175), largest_window: 2304, ..gap() };
        small.segment.payload = 1175;
        assert_eq!(of_gap(&small).finding.class, Class::SmallWindow);
    }
}
