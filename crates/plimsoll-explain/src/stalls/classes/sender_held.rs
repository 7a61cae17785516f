//! The sender's kernel held a partial segment back: `TCP_CORK`, `MSG_MORE`, `SPLICE_F_MORE`. Linux lets it go when the
//! persist timer runs out, 200 ms and more after the last acknowledgement.
//!
//! The sign is the missing PSH: a write that is complete sets it on its last segment, one that promises more does not.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::rtt::{RTO_MIN, rto};
use crate::stalls::time::{MILLISECOND, ms};
use plimsoll_model::trace::Class;

use super::{Finding, ended_by, ender};

/// The side that sent last goes on, nothing was in flight, and its data had not ended.
pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let before = gap.own_data?;
    if gap.last_word != LastWord::Own || gap.in_flight > 0 || gap.segment.payload == 0 {
        return None;
    }
    // A full segment may carry PSH although more was promised: half a window after the last PSH the kernel sets one.
    let full = |payload: u32| payload.is_multiple_of(gap.segment_size);
    // The sender's own estimate may be longer than the one made here: acknowledgements held back inflate it.
    let longest = (rto(gap.rtt) + 40 * MILLISECOND).max(RTO_MIN * 3 / 2);
    let timed_out = (RTO_MIN - 5 * MILLISECOND..=longest).contains(&gap.length());
    // What a full segment is, only the handshake tells.
    let released = gap.scale_known && timed_out && full(before.payload) && !full(gap.segment.payload);
    if before.pushed && !released {
        return None;
    }
    let sign = if before.pushed { "a full segment" } else { "a segment without PSH" };
    Some(Finding {
        class: Class::SenderHeld,
        waiting_for: ender(gap),
        evidence: format!(
            "after {sign} of {} bytes, all acknowledged and the window open, {} followed after {:.1} ms",
            before.payload,
            ended_by(gap),
            ms(gap.length())
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::*;
    use crate::stalls::half::LastData;
    use plimsoll_model::trace::Actor;

    #[test]
    fn data_after_a_segment_without_push_was_held() {
        let gap = Gap { own_data: Some(LastData { payload: 1448, pushed: false }), ..gap() };
        let finding = judge(&gap).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::SenderHeld, Actor::Server));
    }

    #[test]
    fn a_partial_segment_after_a_full_one_and_the_persist_time_was_held() {
        let mut held =
            Gap { end: 204 * MILLISECOND, own_data: Some(LastData { payload: 2896, pushed: true }), ..gap() };
        held.segment.payload = 100;
        assert!(judge(&held).is_some());
        held.end = 100 * MILLISECOND;
        assert_eq!(judge(&held), None);
    }

    #[test]
    fn data_after_a_complete_write_was_not_held() {
        assert_eq!(judge(&gap()), None);
    }

    #[test]
    fn an_answer_to_the_other_side_was_not_held() {
        let own_data = Some(LastData { payload: 1448, pushed: false });
        assert_eq!(judge(&Gap { own_data, last_word: LastWord::Other, ..gap() }), None);
    }
}
