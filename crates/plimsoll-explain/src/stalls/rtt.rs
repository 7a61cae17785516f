//! Round-trip time and retransmission timeout, as a sender would compute them (RFC 6298), from the packets.
//!
//! A capture splits a round trip in two: from where it was made to one end and back, and to the other end and back. The
//! sum of both is what a sender sees.

use super::time::{MILLISECOND, SECOND};

/// Linux never waits less for a retransmission (`TCP_RTO_MIN`).
pub(super) const RTO_MIN: u64 = 200 * MILLISECOND;

/// Before any sample RFC 6298 waits one second.
pub(super) const RTO_INITIAL: u64 = SECOND;

/// The shortest silence that is called a stall: below it, scheduling on a busy machine looks the same.
pub(super) const FLOOR: u64 = 5 * MILLISECOND;

/// What a silence on a long way has to be longer by than half as much again as the round trip: the timer ticks of both sides, and a
/// machine that is slow to run them.
const WELL_ABOVE: u64 = 10 * MILLISECOND;

/// The shortest silence that is called a stall as long as no round trip was seen.
pub(super) const FLOOR_UNKNOWN: u64 = 100 * MILLISECOND;

/// A first answer of the client that takes longer than this tells more of its program than of the way.
pub(super) const LONGEST_BOUND: u64 = 50 * MILLISECOND;

/// How long Linux holds an acknowledgement back (`TCP_DELACK_MIN`, 40 ms), with a tick of its clock before and some behind.
const DELAYED: std::ops::Range<u64> = 36 * MILLISECOND..60 * MILLISECOND;

/// No round trip takes longer; a damaged capture may say so.
const LONGEST: u64 = 3600 * SECOND;

/// One half of the way, from the capture to one end and back.
#[derive(Clone, Copy, Default)]
pub(super) struct HalfRtt {
    smoothed: u64,
    variation: u64,
    lowest: u64,
    known: bool,
    /// The smoothed time with every sample in it, those that a stall inflated as well: what the sender's own timer goes by.
    felt: u64,
}

impl HalfRtt {
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// The shortest time, in nanoseconds; zero before any sample.
    #[inline]
    pub(super) fn lowest(&self) -> u64 {
        self.lowest
    }

    /// The smoothed time as the sender's own timer has it, in nanoseconds.
    pub(super) fn felt(&self) -> u64 {
        self.felt
    }

    /// Whether a sample looks like one of an acknowledgement that was held back: it says nothing about the way.
    pub(super) fn is_held_back(&self, ns: u64) -> bool {
        self.known && DELAYED.contains(&ns.saturating_sub(self.lowest))
    }

    /// Whether samples hardly scatter beside the time for which Linux holds an acknowledgement back.
    pub(super) fn is_steady(&self) -> bool {
        self.known && self.smoothed.saturating_sub(self.lowest) < DELAYED.start / 2
    }

    /// Takes a sample that only the sender's own timer is to go by.
    #[inline]
    pub(super) fn feel(&mut self, ns: u64) {
        let ns = ns.min(LONGEST);
        self.felt = if self.felt == 0 { ns } else { (self.felt * 7 + ns) / 8 };
    }

    /// Takes a sample in nanoseconds.
    #[inline]
    pub(super) fn sample(&mut self, ns: u64) {
        let ns = ns.min(LONGEST);
        if self.known {
            self.variation = (self.variation * 3 + self.smoothed.abs_diff(ns)) / 4;
            self.smoothed = (self.smoothed * 7 + ns) / 8;
            self.lowest = self.lowest.min(ns);
        } else {
            *self = Self { smoothed: ns, variation: ns / 2, lowest: ns, known: true, felt: self.felt };
        }
    }
}

/// The whole way, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rtt {
    pub(super) smoothed: u64,
    pub(super) lowest: u64,
    /// The retransmission timeout that follows.
    pub(super) rto: u64,
}

impl Rtt {
    /// The way as far as it is known; `None` before any sample.
    #[inline]
    pub(super) fn of(a: &HalfRtt, b: &HalfRtt) -> Option<Self> {
        if !(a.known || b.known) {
            return None;
        }
        let lowest = a.lowest + b.lowest;
        // Acknowledgements that were held back, yet not for so long that they were called a stall, inflate the mean.
        let smoothed = (a.smoothed + b.smoothed).min(lowest.saturating_mul(4));
        let rto = smoothed + RTO_MIN.max(4 * (a.variation + b.variation));
        Some(Self { smoothed, lowest, rto })
    }
}

/// A silence longer than this is a stall: twice the round trip, on a long way half as much again and 10 ms, or the timeout, whichever is
/// least, but not below a floor. The round trip is the shortest one that was seen, unless most take much longer: what varies by the way, and by acknowledgements that are held back for a
/// while, must not hide a silence.
#[inline]
pub(super) fn stall_threshold(rtt: Option<Rtt>) -> u64 {
    match rtt {
        Some(rtt) => {
            let way = rtt.lowest.max(rtt.smoothed * 5 / 8);
            (2 * way).min(way + way / 2 + WELL_ABOVE).min(rtt.rto).max(FLOOR)
        }
        None => FLOOR_UNKNOWN,
    }
}

/// Threshold of a silence between a packet and its answer: of their round trip the capture sees only the part on one
/// side of it, and `elsewhere` is the other.
#[inline]
pub(super) fn answer_threshold(rtt: Option<Rtt>, elsewhere: &HalfRtt) -> u64 {
    stall_threshold(rtt).saturating_sub(elsewhere.lowest).max(FLOOR)
}

/// The timeout, known or not.
#[inline]
pub(super) fn rto(rtt: Option<Rtt>) -> u64 {
    rtt.map_or(RTO_INITIAL, |rtt| rtt.rto)
}

/// No sender waits longer for its retransmission timer (`TCP_RTO_MAX`).
const LONGEST_RTO: u64 = 120 * SECOND;

/// How long a silence `lost` packets in a row may leave: each lost copy doubles the timer (RFC 6298, section 5.5), and the sender may reckon with
/// twice the timeout that the packets show.
pub(super) fn longest_loss(rtt: Option<Rtt>, lost: u16) -> u64 {
    let doublings = (1 << lost.min(10)) - 1;
    (2 * rto(rtt)).saturating_mul(doublings).min(LONGEST_RTO)
}

/// Whether the timer of `lost` packets in a row runs out after about this time.
pub(super) fn is_time_of_loss(rtt: Option<Rtt>, lost: u16, time: u64) -> bool {
    let doublings = (1 << lost.min(10)) - 1;
    let timer = rto(rtt).saturating_mul(doublings);
    lost > 0 && time >= timer / 4 * 3 && time <= timer / 2 * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(samples: &[u64]) -> HalfRtt {
        let mut half = HalfRtt::default();
        for sample in samples {
            half.sample(sample * MILLISECOND);
        }
        half
    }

    #[test]
    fn each_lost_copy_doubles_the_timer() {
        let rtt = Rtt::of(&half(&[30]), &half(&[1]));
        assert_eq!(longest_loss(rtt, 1), 462 * MILLISECOND);
        assert_eq!(longest_loss(rtt, 2), 3 * 462 * MILLISECOND);
        assert!(is_time_of_loss(rtt, 1, 240 * MILLISECOND) && !is_time_of_loss(rtt, 1, 500 * MILLISECOND));
        assert!(is_time_of_loss(rtt, 2, 700 * MILLISECOND) && !is_time_of_loss(rtt, 0, 0));
    }

    #[test]
    fn both_halves_make_a_round_trip() {
        let rtt = Rtt::of(&half(&[30]), &half(&[1])).unwrap();
        assert_eq!((rtt.smoothed, rtt.lowest), (31 * MILLISECOND, 31 * MILLISECOND));
        assert_eq!(rtt.rto, 231 * MILLISECOND);
        assert_eq!(stall_threshold(Some(rtt)), 56_500_000);
        let short = Rtt::of(&half(&[8]), &half(&[1])).unwrap();
        assert_eq!(stall_threshold(Some(short)), 18 * MILLISECOND);
    }

    #[test]
    fn the_threshold_has_a_floor_and_the_timeout_as_its_ceiling() {
        assert_eq!(stall_threshold(Rtt::of(&half(&[1]), &half(&[0]))), FLOOR);
        let slow = Rtt::of(&half(&[2000; 40]), &half(&[1])).unwrap();
        assert_eq!(stall_threshold(Some(slow)), slow.rto);
    }

    #[test]
    fn a_silence_between_question_and_answer_counts_with_the_rest_of_the_way() {
        let rtt = Rtt::of(&half(&[0]), &half(&[30]));
        assert_eq!(answer_threshold(rtt, &half(&[30])), 25 * MILLISECOND);
        assert_eq!(answer_threshold(rtt, &half(&[0])), 55 * MILLISECOND);
    }

    #[test]
    fn times_that_a_damaged_capture_makes_up_do_not_overflow() {
        let mut half = HalfRtt::default();
        half.sample(u64::MAX);
        half.sample(0);
        half.sample(u64::MAX);
        assert!(Rtt::of(&half, &half).unwrap().rto < 100 * LONGEST);
    }

    #[test]
    fn held_back_acknowledgements_do_not_hide_the_next_one() {
        let rtt = Rtt::of(&half(&[1, 40, 40, 40, 40, 40, 40, 40]), &half(&[1]));
        assert!(stall_threshold(rtt) < 40 * MILLISECOND);
    }
}
