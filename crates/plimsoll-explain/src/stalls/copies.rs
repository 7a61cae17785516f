//! Packets that a capture holds more than once: `tcpdump -i any` on a bridge, several interfaces, or two captures merged.
//!
//! A copy has the same IP identification, sequence numbers, flags, window and time stamps as the first. A retransmission differs in
//! one of them: Linux gives each packet a number of its own, and the time stamp moves on. Where IP has no identification (IPv6, or zero), only a
//! copy of data within a millisecond counts; acknowledgements may repeat for other reasons, so there they count once data was seen twice.

use plimsoll_model::packet::{Flags, Segment};

use super::time::MILLISECOND;

/// Packets remembered of each direction ..
const FEW: usize = 8;
/// .. and once copies were seen: between two capture points may lie all that is in flight.
const MANY: usize = 256;

/// The longest time between a packet and its copy.
const WITHIN: u64 = 150 * MILLISECOND;
/// The longest time between a packet and its copy where the host does not number packets.
const WITHIN_UNNUMBERED: u64 = MILLISECOND;

type Print = (u32, u32, u32, u16, u8, Option<u16>, Option<(u32, u32)>);

/// The last packets of one direction.
#[derive(Default)]
pub(crate) struct Copies {
    recent: Vec<(u64, Print)>,
    next: usize,
    copies: u32,
    /// Different packets in a row had the same number: the host does not number them.
    constant: bool,
    last_id: Option<u16>,
}

impl Copies {
    /// Whether a packet was seen before. Takes it in if not.
    #[inline]
    pub(crate) fn is_copy(&mut self, now: u64, segment: &Segment, ip_id: Option<u16>) -> bool {
        let id = ip_id.filter(|&id| id != 0);
        let Segment { seq, ack, payload, window, flags, options } = segment;
        let print = (*seq, *ack, *payload, *window, flags.0, id, options.timestamps);
        let is_numbered = id.is_some() && !self.constant;
        let within = if is_numbered { WITHIN } else { WITHIN_UNNUMBERED };
        let tells = is_numbered
            || self.copies > 1
            || *payload > 0
            || flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        let seen = |&(at, of): &(u64, Print)| of == print && now.saturating_sub(at) <= within;
        if tells && self.recent.iter().any(seen) {
            self.copies = self.copies.saturating_add(1);
            return true;
        }
        self.constant |= id.is_some() && id == self.last_id;
        self.last_id = id;
        let most = if self.copies == 0 { FEW } else { MANY };
        if self.recent.len() < most {
            self.recent.push((now, print));
        } else {
            self.recent[self.next % most] = (now, print);
            self.next = (self.next + 1) % most;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, payload: u32) -> Segment {
        Segment { seq, payload, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn a_second_record_of_a_packet_is_a_copy_and_a_retransmission_is_none() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(0, &data(1, 100), Some(7)));
        assert!(copies.is_copy(20 * MILLISECOND, &data(1, 100), Some(7)));
        assert!(!copies.is_copy(21 * MILLISECOND, &data(1, 100), Some(8)));
    }

    #[test]
    fn without_numbers_only_data_soon_after_is_a_copy() {
        let mut copies = Copies::default();
        for id in [None, Some(0)] {
            assert!(!copies.is_copy(0, &data(1, 0), id));
            assert!(!copies.is_copy(1, &data(1, 0), id));
        }
        assert!(!copies.is_copy(2, &data(1, 100), None));
        assert!(copies.is_copy(3, &data(1, 100), None));
        assert!(!copies.is_copy(300 * MILLISECOND, &data(1, 100), None));
    }

    #[test]
    fn a_host_with_one_number_for_all_packets_numbers_none() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(0, &data(1, 100), Some(7)));
        assert!(!copies.is_copy(1, &data(101, 100), Some(7)));
        assert!(!copies.is_copy(100 * MILLISECOND, &data(101, 100), Some(7)));
    }
}
