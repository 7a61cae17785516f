//! A loss from its beginning to the acknowledgement that ends it.

use super::gap::Gap;

/// What made the sender send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Duplicate acknowledgements or SACK ranges reported the loss.
    Reported,
    /// A timer ran out, and what was sent again was the last of the flight.
    TailTimer,
    /// A timer ran out.
    Timer,
}

/// A loss that is being repaired, or that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The last progress before it.
    pub(super) start: u64,
    /// What made the sender act.
    pub(super) trigger: Trigger,
    /// When it first sent again.
    pub(super) first_resent: u64,
    /// When it last sent again.
    pub(super) last_resent: u64,
    /// Segments sent again.
    pub(super) resent: u32,
    /// How often a timer ran out.
    pub(super) timeouts: u32,
    /// Whether the receiver said that something is missing.
    pub(super) was_reported: bool,
    /// Bytes in flight when it began.
    pub(super) in_flight: u32,
    /// Payload of what was first sent again.
    pub(super) payload: u32,
    /// Whether the receiver's window had no room for more.
    pub(super) window_was_full: bool,
    /// The largest window that the receiver ever announced.
    pub(super) largest_window: u32,
    /// The payload of a full segment.
    pub(super) segment_size: u32,
}

impl Recovery {
    /// A loss that the packet which ended `gap` repaired.
    pub(super) fn in_one_step(gap: &Gap, trigger: Trigger) -> Self {
        Self {
            start: gap.start,
            trigger,
            first_resent: gap.end,
            last_resent: gap.end,
            resent: 1,
            timeouts: 1,
            was_reported: false,
            in_flight: gap.in_flight,
            payload: gap.segment.payload,
            window_was_full: gap.usable_window.is_some_and(|usable| usable < gap.segment_size),
            largest_window: gap.largest_window,
            segment_size: gap.segment_size,
        }
    }

    /// Takes in another retransmission. `by_timer` if nothing else than a timer explains it.
    pub(super) fn again(&mut self, now: u64, by_timer: bool) {
        self.resent = self.resent.saturating_add(1);
        self.last_resent = now;
        if by_timer {
            self.timeouts = self.timeouts.saturating_add(1);
            // The tail loss probe failed, or the retransmission of the reported segment was lost.
            self.trigger = Trigger::Timer;
        }
    }
}
