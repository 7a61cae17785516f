//! The sender's kernel held a partial segment back: `TCP_CORK`, `MSG_MORE`, `SPLICE_F_MORE`.
//!
//! Linux sends what it holds when its persist timer runs out (`tcp_probe_timer`, `tcp_write_wakeup` in net/ipv4/tcp_output.c): one segment
//! of less than the full size, with PSH, one retransmission timeout after the last acknowledgement or, where nothing was in flight,
//! after it was written. That timeout is the round trip and 200 ms (`tcp_set_rto`, `TCP_RTO_MIN`). A silence of another length is none of
//! the kernel's: a program that releases its cork earlier, or writes later, paused on its own.
//!
//! Two signs tell such a silence from a program that paused for as long. A write that is complete sets PSH on its last segment, one that
//! promises more does not; data without PSH before the silence is proof enough. Without it (what was released has PSH itself, and an answer
//! that is held as a whole has nothing before it) the length alone speaks, and it does so only where most silences of that kind have it.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::rtt::RTO_MIN;
use crate::stalls::time::{MILLISECOND, ms};
use plimsoll_model::packet::Flags;
use plimsoll_model::trace::Class;

use super::{Finding, bytes, ended_by, ender, other};

/// How much later than computed the timer may be seen to have run out: a tick of 100 Hz, and a busy machine.
const LATE: u64 = 20 * MILLISECOND;

/// Timers of the kernel this long and longer run out up to an eighth late (kernel/time/timer.c, the wheel's second level at 250 Hz).
const COARSE: u64 = 256 * MILLISECOND;

/// A silence that the persist timer may have ended.
pub(super) struct Held {
    pub(super) finding: Finding,
    /// Whether more than its length speaks for it.
    pub(super) is_sure: bool,
}

/// A partial segment came when the persist timer runs out.
pub(super) fn judge(gap: &Gap) -> Option<Held> {
    let payload = gap.segment.payload;
    if gap.in_flight > 0 || payload == 0 || payload >= gap.segment_size {
        return None;
    }
    let own = gap.own_data.filter(|_| gap.last_word == LastWord::Own);
    let promised = own.is_some_and(|data| !data.pushed);
    let held_for = gap.end.saturating_sub(gap.free_since);
    let lowest = gap.rtt.map_or(0, |rtt| rtt.lowest);
    // A program that sleeps for 200 ms is back a little earlier than a timer of that and a round trip. The timer may run out a tick early.
    let earliest = RTO_MIN + lowest * 3 / 4;
    let earliest = if promised { RTO_MIN.max(earliest - MILLISECOND) } else { earliest + MILLISECOND / 2 };
    let timeout = gap.rtt.map_or(RTO_MIN, |rtt| rtt.rto.min(2 * RTO_MIN));
    // The kernel's first timeout is three round trips, and it comes down slowly; where only the length speaks, that would be too wide.
    let first = if promised { 3 * lowest } else { 0 };
    let timeout = timeout.max(RTO_MIN + gap.felt).max(first);
    let coarse = if timeout >= COARSE { timeout / 8 } else { 0 };
    let latest = timeout + lowest + LATE + coarse;
    let is_pushed = gap.segment.flags.has(Flags::PSH);
    if !(earliest..=latest).contains(&held_for) || !(promised || is_pushed) {
        return None;
    }
    let after = match (own, gap.last_word) {
        (Some(data), _) if promised => format!("its {} without PSH", bytes(data.payload)),
        (Some(data), _) => format!("its previous {}", bytes(data.payload)),
        (None, LastWord::None) => "the handshake".to_owned(),
        (None, _) => format!("the {}'s data", other(gap)),
    };
    Some(Held {
        is_sure: promised,
        finding: Finding {
            class: Class::SenderHeld,
            waiting_for: ender(gap),
            evidence: format!(
                "the {} sent {}, less than a segment of {}, {:.1} ms after {after}, with all acknowledged and the window open: the kernel releases \
                 after this time what a cork or MSG_MORE holds back",
                ender(gap),
                ended_by(gap),
                gap.segment_size,
                ms(gap.length())
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::*;
    use crate::stalls::gap::LastData;
    use crate::stalls::rtt::Rtt;
    use plimsoll_model::trace::Actor;

    /// 300 bytes from the server with PSH, this many ms after its own data.
    fn rest_after(length_ms: u64, pushed: bool) -> Gap {
        let mut gap =
            Gap { end: length_ms * MILLISECOND, own_data: Some(LastData { payload: 2896, pushed }), ..gap() };
        gap.segment.payload = 300;
        gap.segment.flags = Flags::PSH.with(Flags::ACK);
        gap
    }

    #[test]
    fn a_rest_that_the_timer_releases_after_data_without_push_was_held() {
        let held = judge(&rest_after(205, false)).unwrap();
        assert_eq!((held.finding.class, held.finding.waiting_for), (Class::SenderHeld, Actor::Server));
        assert!(held.is_sure);
    }

    #[test]
    fn a_rest_after_the_timers_time_and_a_complete_write_is_held_by_its_length_alone() {
        assert!(!judge(&rest_after(205, true)).unwrap().is_sure);
    }

    #[test]
    fn an_answer_that_comes_when_the_timer_runs_out_may_have_been_held() {
        let gap = Gap { last_word: LastWord::Other, own_data: None, ..rest_after(205, true) };
        assert!(!judge(&gap).unwrap().is_sure);
    }

    #[test]
    fn a_silence_of_another_length_is_none_of_the_timers() {
        for length_ms in [8, 150, 199, 250, 400] {
            assert!(judge(&rest_after(length_ms, false)).is_none(), "{length_ms} ms");
        }
    }

    #[test]
    fn over_a_long_way_the_timer_is_that_of_the_first_round_trip() {
        let after = |length_ms| {
            let way = 120 * MILLISECOND;
            let rtt = Some(Rtt { smoothed: way, lowest: way, rto: way + RTO_MIN });
            judge(&Gap { rtt, ..rest_after(length_ms, false) }).is_some()
        };
        assert!([455, 476, 487, 510].into_iter().all(after));
        assert!(![250, 600].into_iter().any(after));
    }

    #[test]
    fn a_full_segment_is_never_held() {
        let mut full = rest_after(205, false);
        full.segment.payload = 1448;
        assert!(judge(&full).is_none());
    }
}
