//! Silences that a queue on the path makes: what comes out of it keeps the pace of the slowest link, and nobody waits.

use plimsoll_model::packet::{Flags, Segment};

use super::{Connection, Facts};
use crate::stalls::gap::Gap;
use crate::stalls::half::Half;
use crate::stalls::rtt;
use crate::stalls::sequence::beyond;
use crate::stalls::time::MILLISECOND;

/// Silences at the pace of a queue that show how fast it drains.
const QUEUED: u32 = 4;

/// How much later than computed the last of a queue may come.
const TICK: u64 = 10 * MILLISECOND;

impl Connection {
    /// How long at least the path held the data that ended a silence, if the sender's time stamps show that: it was on the path longer than the silence
    /// lasted, or less than half of the silence passed at the sender. If the other side's clock ticks each millisecond, this one is taken to as well
    /// unless something contradicts it.
    pub(super) fn held_by_path(&self, facts: &Facts, segment: &Segment, gap: &Gap) -> Option<u64> {
        let (stamp, _) = segment.options.timestamps.filter(|_| segment.payload > 0 && !facts.resent)?;
        let is_fast = self.halves[1 - facts.me].clock.is_fast;
        let clock = &self.halves[facts.me].clock;
        let queued = clock.queued(stamp, facts.now, is_fast).filter(|queued| *queued >= gap.length());
        let passed = clock
            .since_last(stamp, (gap.start, gap.end), is_fast)
            .filter(|passed| 2 * passed <= gap.length());
        queued.map(|_| gap.length()).or(passed.map(|passed| gap.length() - passed))
    }

    /// Whether a late acknowledgement only shows how fast a queue drains. A receiver holds none back while two full segments behind it have arrived
    /// (RFC 1122, section 4.2.3.2), so those are still on the path.
    pub(super) fn drains_a_queue(&self, facts: &Facts, segment: &Segment, gap: &Gap) -> bool {
        let (mine, theirs) = (&self.halves[facts.me], &self.halves[1 - facts.me]);
        let behind = theirs.sent_to.map_or(0, |sent_to| beyond(sent_to, segment.ack));
        facts.is_pure
            && facts.advances
            && theirs.recovery.is_none()
            && theirs.spoke.is_some_and(|at| at <= gap.start)
            && behind >= 2 * theirs.segment_size(mine)
            && gap.length() < rtt::RTO_MIN
    }

    /// Takes in that an acknowledgement of what `sender` has in flight came at the pace of the queue, after a silence of `length` nanoseconds.
    pub(super) fn note_drain(&mut self, sender: usize, segment: &Segment, length: u64) {
        let half = &mut self.halves[sender];
        let acked = half.acked_to.map_or(0, |acked_to| beyond(segment.ack, acked_to));
        let drain = half.drain.get_or_insert_default();
        drain.take_in(acked, length);
        if let Some(full) = &mut half.full {
            full.drained += length;
        }
    }

    /// Whether the rest of a queue is still on its way: as many bytes as are in flight took the queue about as long as has passed since the last
    /// acknowledgement. Such a silence ends with the last acknowledgements, or with a FIN, and neither side waited.
    pub(super) fn is_still_draining(&self, facts: &Facts, segment: &Segment, gap: &Gap) -> bool {
        let ends_flight = facts.is_pure && facts.advances && !self.drains_a_queue(facts, segment, gap);
        let closes = segment.payload == 0 && segment.flags.has(Flags::FIN);
        let drains = |half: &Half| {
            half.drain.is_some_and(|drain| {
                let needed = drain.time_for(half.in_flight());
                drain.silences() >= QUEUED && facts.now.saturating_sub(half.progress) <= needed / 4 * 5 + TICK
            })
        };
        (ends_flight || closes)
            && !(facts.resent || facts.unseen)
            && gap.length() < rtt::RTO_MIN
            && self.halves.iter().any(|half| half.recovery.is_none() && drains(half))
    }
}
