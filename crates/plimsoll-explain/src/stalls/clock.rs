//! The clock of a side's time stamps (RFC 7323, section 5.4). It shows when packets were sent, wherever they were captured.

use super::time::MILLISECOND;

/// The longest tick that is taken for possible without a sign: that of Linux 2.4. RFC 7323 allows up to a second.
const LONGEST_TICK: u64 = 10 * MILLISECOND;

/// Ticks of older systems (250 and 100 Hz) in milliseconds.
const OLD_TICKS: [u64; 2] = [4, 10];

/// Stamps tell a clock's rate once it has run for as many milliseconds.
const TELLING: u64 = 20;

#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    first: Option<(u32, u64)>,
    /// The last stamp, and when it was captured.
    last: (u32, u64),
    /// The least time, in nanoseconds, by which a packet came later than its stamp, as if a tick took a millisecond; that of the first is 0.
    least_delay: i64,
    /// Whether it was seen to tick each millisecond, as those of today's systems do.
    pub(super) is_fast: bool,
    /// Whether it is known to tick less often.
    is_slow: bool,
}

impl Clock {
    /// Takes in the stamp of a packet that was captured at `now`.
    #[inline]
    pub(super) fn take_in(&mut self, stamp: u32, now: u64) {
        let (first, begin) = *self.first.get_or_insert((stamp, now));
        if !self.is_fast {
            let (ticks, ms) = (u64::from(stamp.wrapping_sub(first)), now.saturating_sub(begin) / MILLISECOND);
            self.is_fast = ms >= TELLING && (4 * ms..=6 * ms).contains(&(5 * ticks));
        }
        self.least_delay = self.least_delay.min(delay((first, begin), stamp, now));
        self.last = (stamp, now);
    }

    /// Takes in that a packet with this stamp was sent after a moment: it acknowledges what passed the capture then.
    pub(super) fn was_sent_after(&mut self, stamp: u32, moment: u64) {
        let Some((first, begin)) = self.first else { return };
        let (ticks, ms) = (u64::from(stamp.wrapping_sub(first)), moment.saturating_sub(begin) / MILLISECOND);
        self.is_slow |= ms >= TELLING && 5 * (ticks + 1) < 4 * ms;
    }

    /// Whether nothing contradicts that its ticks are short, of which `ticks` passed in `time` nanoseconds.
    fn may_be_fast(&self, ticks: u64, time: u64) -> bool {
        let fits = |tick: u64| ticks > 1 && (ticks * tick).abs_diff(time / MILLISECOND) <= tick;
        self.is_fast || !(self.is_slow || OLD_TICKS.into_iter().any(fits))
    }

    /// How much longer a packet was on the path than the fastest one, in nanoseconds. Nothing unless the clock may tick each millisecond.
    pub(super) fn queued(&self, stamp: u32, now: u64, other_is_fast: bool) -> Option<u64> {
        let (first, begin) = self.first?;
        let ticks = u64::from(stamp.wrapping_sub(first));
        let may_be_fast = self.may_be_fast(ticks, now.saturating_sub(begin));
        if !may_be_fast || !(self.is_fast || other_is_fast) {
            return None;
        }
        // The tick in which it was sent may have just begun, or be over.
        let longer = delay((first, begin), stamp, now) - self.least_delay - MILLISECOND as i64;
        u64::try_from(longer).ok()
    }

    /// How much of a silence from `start` to `now`, before a packet with this stamp, passed at its sender, at most. Nothing for a stamp that is older, or the
    /// first, or if the sender has acknowledged something meanwhile.
    pub(super) fn since_last(
        &self,
        stamp: u32,
        (start, now): (u64, u64),
        other_is_fast: bool,
    ) -> Option<u64> {
        self.first?;
        let (last, at) = self.last;
        let ticks = stamp.wrapping_sub(last);
        let tick = if self.is_fast || other_is_fast { MILLISECOND } else { LONGEST_TICK };
        let may_be_fast = self.may_be_fast(u64::from(ticks), now.saturating_sub(start));
        (ticks < 1 << 31 && at <= start && may_be_fast).then(|| (u64::from(ticks) + 1) * tick)
    }
}

/// How much later than the first packet one was captured, less what passed on its sender's clock.
fn delay((first, begin): (u32, u64), stamp: u32, now: u64) -> i64 {
    let ticks = i64::from(stamp.wrapping_sub(first) as i32);
    (now as i64).wrapping_sub(begin as i64).wrapping_sub(ticks * MILLISECOND as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that ticks each `tick` milliseconds, after packets each 5 ms for a while.
    fn clock(tick: u64, until_ms: u64) -> Clock {
        let mut clock = Clock::default();
        for ms in (0..=until_ms).step_by(5) {
            clock.take_in((ms / tick) as u32, ms * MILLISECOND);
        }
        clock
    }

    #[test]
    fn a_pause_by_an_old_clock_beside_a_fast_one_is_not_held_by_the_path() {
        for tick in [4, 10] {
            let (clock, silence) = (clock(tick, 10), (10 * MILLISECOND, 210 * MILLISECOND));
            let stamp = (210 / tick) as u32;
            assert_eq!(clock.since_last(stamp, silence, true), None, "{tick} ms");
            assert_eq!(clock.queued(stamp, 210 * MILLISECOND, true), None, "{tick} ms");
        }
    }

    #[test]
    fn a_clock_that_ticked_too_seldom_between_two_packets_is_a_slow_one() {
        let mut clock = clock(10, 10);
        clock.was_sent_after(20, 200 * MILLISECOND);
        assert_eq!(clock.queued(23, 500 * MILLISECOND, true), None);
    }

    #[test]
    fn ticks_of_a_fast_clock_show_that_a_packet_was_queued() {
        for other_is_fast in [true, false] {
            let clock = clock(1, 100);
            assert_eq!(clock.queued(101, 500 * MILLISECOND, other_is_fast), Some(398 * MILLISECOND));
        }
    }
}
