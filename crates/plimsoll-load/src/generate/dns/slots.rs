//! The questions under way, and their ids.

use super::bank::{HEADER, Question};

/// A question that is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// The message, with its id.
    pub(super) message: Vec<u8>,
    end: usize,
    id: u16,
    /// Intended start of the question.
    pub(super) begun: u64,
    /// How often it was sent.
    pub(super) sent: u32,
    /// Where it was sent.
    pub(super) channel: usize,
    busy: bool,
}

/// As many places for questions as may be under way.
///
/// An id is the number of a place in its lower bits, and in the others how often that was taken: what a late reply answers was under way with another id.
pub(super) struct Slots {
    all: Vec<Slot>,
    free: Vec<u32>,
    /// How many of the bits of an id are the place's.
    bits: u32,
}

impl Slots {
    pub(super) fn new(number: u32) -> Self {
        let free = (0..number).rev().collect();
        let bits = number.max(2).next_power_of_two().trailing_zeros();
        Self { all: vec![Slot::default(); number as usize], free, bits }
    }

    /// How many are under way.
    pub(super) fn busy(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// A question begins, on this channel. Gives its place.
    pub(super) fn take(&mut self, question: &Question, channel: usize, begun: u64) -> usize {
        let place = self.free.pop().expect("the pacing begins no more than may be under way");
        let slot = &mut self.all[place as usize];
        let taken = (slot.id >> self.bits).wrapping_add(1);
        slot.id = (taken << self.bits) | place as u16;
        slot.message.clear();
        slot.message.extend_from_slice(&question.message);
        slot.message[..2].copy_from_slice(&slot.id.to_be_bytes());
        (slot.end, slot.begun, slot.sent, slot.channel, slot.busy) = (question.end, begun, 0, channel, true);
        place as usize
    }

    /// The place of the question that a message answers, with this id, on this channel.
    pub(super) fn answered(&self, id: u16, message: &[u8], channel: usize) -> Option<usize> {
        let place = usize::from(id) & ((1 << self.bits) - 1);
        let slot =
            self.all.get(place).filter(|slot| slot.busy && slot.id == id && slot.channel == channel)?;
        let asked = self.asked(place);
        // A server that does not understand a question need not repeat it (RFC 1035 does not say; BIND and NSD leave it out).
        let same = match u16::from_be_bytes([message[4], message[5]]) {
            0 => message[3] & 0x0f != 0,
            1 => message.get(HEADER..slot.end).is_some_and(|said| said.eq_ignore_ascii_case(asked)),
            _ => false,
        };
        same.then_some(place)
    }

    /// The question of a place: its name, its type and its class.
    pub(super) fn asked(&self, place: usize) -> &[u8] {
        let slot = &self.all[place];
        &slot.message[HEADER..slot.end]
    }

    /// Frees the slot of a query that is no longer pending.
    pub(super) fn give_back(&mut self, place: usize) {
        self.all[place].busy = false;
        self.free.push(place as u32);
    }

    /// Slots of pending questions on a channel.
    pub(super) fn on(&self, channel: usize) -> Vec<usize> {
        let busy = self.all.iter().enumerate().filter(|(_, slot)| slot.busy && slot.channel == channel);
        busy.map(|(place, _)| place).collect()
    }

    pub(super) fn get(&mut self, place: usize) -> &mut Slot {
        &mut self.all[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        // www.test A
        let message = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x03www\x04test\0\0\x01\0\x01".to_vec();
        Question { end: message.len(), message }
    }

    #[test]
    fn a_reply_counts_for_the_question_with_its_id_alone() {
        let mut slots = Slots::new(50);
        let place = slots.take(&question(), 3, 7);
        let reply = |slots: &mut Slots, place| slots.get(place).message.clone();
        let first = reply(&mut slots, place);
        let id = u16::from_be_bytes([first[0], first[1]]);
        assert_eq!(slots.answered(id, &first, 3), Some(place));
        assert_eq!(slots.answered(id, &first, 2), None, "it came on another socket");
        assert_eq!(slots.answered(id ^ 1, &first, 3), None);
        let mut shouted = first.clone();
        shouted[HEADER + 1..HEADER + 4].copy_from_slice(b"WWW");
        assert_eq!(slots.answered(id, &shouted, 3), Some(place), "names have no case");
        let mut other = first.clone();
        other[HEADER + 1] = b'x';
        assert_eq!(slots.answered(id, &other, 3), None, "it answers another question");
        slots.give_back(place);
        assert_eq!(slots.answered(id, &first, 3), None, "it came a second time");
        let again = slots.take(&question(), 3, 8);
        assert_eq!(again, place, "the place is free again");
        assert_eq!(slots.answered(id, &first, 3), None, "the reply is late");
        assert_eq!((slots.busy(), slots.on(3)), (1, vec![place]));
    }

    #[test]
    fn every_place_has_an_id_of_its_own() {
        for number in [1, 2, 3, 50, 64, 10_000] {
            let mut slots = Slots::new(number);
            let ids: std::collections::BTreeSet<[u8; 2]> = (0..number)
                .map(|_| {
                    let place = slots.take(&question(), 0, 0);
                    let message = &slots.get(place).message;
                    [message[0], message[1]]
                })
                .collect();
            assert_eq!(ids.len(), number as usize);
        }
    }
}
