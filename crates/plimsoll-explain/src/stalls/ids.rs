//! What the identification fields of IPv4 headers tell: how many packets a side sent between two that were seen.
//!
//! Linux numbers the packets of a connection one by one, and each segment of a packet that the card cuts
//! (`ip_select_ident_segs` in include/net/ip.h). Where a capture is made behind a loss, a step of more than one over a silence is all
//! that is left of a flight that was sent meanwhile. Systems that number otherwise are noticed, and not believed.

/// Packets in a row that must have been numbered as expected before a step is believed.
const LEAST_STREAK: u8 = 2;

/// A step of more than this is another numbering, or a wrap.
const MOST_MISSING: u16 = 1 << 14;

/// The numbering of one side.
#[derive(Clone, Copy, Default)]
pub(super) struct Ids {
    next: Option<u16>,
    streak: u8,
}

impl Ids {
    /// How many packets are missing before one with this number; `None` where the numbering is not known, or not believed.
    pub(super) fn missing(&self, id: Option<u16>) -> Option<u16> {
        let missing = id?.wrapping_sub(self.next?);
        (self.streak >= LEAST_STREAK && missing <= MOST_MISSING).then_some(missing)
    }

    /// Takes in a packet of so many segments.
    pub(super) fn take_in(&mut self, id: Option<u16>, segments: u32) {
        let Some(id) = id else { return };
        let as_expected = self.next == Some(id);
        // A packet that is missing tells nothing about the numbering; one that goes back does.
        let goes_back = self.next.is_some_and(|next| id.wrapping_sub(next) > MOST_MISSING);
        if as_expected {
            self.streak = self.streak.saturating_add(1);
        } else if goes_back {
            self.streak = 0;
        } else {
            self.streak = self.streak.saturating_sub(1);
        }
        self.next = Some(id.wrapping_add(segments.clamp(1, u32::from(MOST_MISSING)) as u16));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_over_a_silence_counts_what_was_sent_meanwhile() {
        let mut ids = Ids::default();
        for (id, segments) in [(65_530, 1), (65_531, 4), (65_535, 1), (0, 1)] {
            ids.take_in(Some(id), segments);
        }
        assert_eq!(ids.missing(Some(1)), Some(0));
        assert_eq!(ids.missing(Some(6)), Some(5));
        assert_eq!(ids.missing(None), None);
    }

    #[test]
    fn a_numbering_that_was_not_seen_in_order_is_not_believed() {
        let mut ids = Ids::default();
        for id in [7, 60_000, 13, 41_000, 99] {
            ids.take_in(Some(id), 1);
        }
        assert_eq!(ids.missing(Some(100)), None);
    }
}
