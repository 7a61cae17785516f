//! From the relative sequence numbers that tcpdump prints back to absolute ones.
//!
//! The first segment of a conversation, and every SYN, is printed as it was; the later ones are printed as differences
//! to it, unless `-S` was given. A pure acknowledgement has no sequence number in print at all: the one that is due next
//! is put in.

use std::collections::HashMap;

use plimsoll_model::packet::{Endpoint, Flags, SackBlocks, Segment};

/// A segment as it is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Printed {
    /// The sequence number, where there is one.
    pub(super) seq: Option<u32>,
    /// The rest, with its numbers as printed.
    pub(super) segment: Segment,
}

/// Beyond this many conversations the oldest knowledge is dropped: memory must not grow with the file.
const MOST: usize = 1 << 16;

/// The conversations seen.
#[derive(Default)]
pub(super) struct Conversations(HashMap<(Endpoint, Endpoint), Conversation>);

#[derive(Clone, Copy, Default)]
struct Conversation {
    /// The offsets that print subtracted, by direction; `None` before the first segment.
    bases: Option<[u32; 2]>,
    /// Whether later segments are differences: known from the first of them on.
    is_relative: Option<bool>,
    /// The sequence number due next, by direction.
    next: [u32; 2],
}

impl Conversations {
    /// The segment with absolute numbers.
    pub(super) fn absolute(&mut self, source: Endpoint, destination: Endpoint, printed: Printed) -> Segment {
        let forward = source <= destination;
        let key = if forward { (source, destination) } else { (destination, source) };
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            self.0.clear();
        }
        let conversation = self.0.entry(key).or_default();
        let (mine, theirs) = if forward { (0, 1) } else { (1, 0) };
        conversation.absolute(mine, theirs, printed)
    }
}

impl Conversation {
    fn absolute(&mut self, mine: usize, theirs: usize, printed: Printed) -> Segment {
        let mut segment = printed.segment;
        let has_ack = segment.flags.has(Flags::ACK);
        let bases = match self.bases {
            Some(bases) if !segment.flags.has(Flags::SYN) => bases,
            _ => {
                self.begin(mine, theirs, printed);
                return Segment { seq: printed.seq.unwrap_or(self.next[mine]), ..segment };
            }
        };
        let relative = *self.is_relative.get_or_insert_with(|| {
            let (value, base) = match printed.seq {
                Some(seq) => (seq, bases[mine]),
                None => (segment.ack, bases[theirs]),
            };
            distance(value, 0) <= distance(value, base)
        });
        let base = |side: usize| if relative { bases[side] } else { 0 };
        segment.seq = printed.seq.map_or(self.next[mine], |seq| seq.wrapping_add(base(mine)));
        if has_ack {
            segment.ack = segment.ack.wrapping_add(base(theirs));
            // A side that has only been seen to acknowledge: its place is the number that the other side acknowledges.
            if self.next[theirs] == bases[theirs] {
                self.next[theirs] = segment.ack;
            }
        }
        let mut sack = SackBlocks::default();
        for &(left, right) in segment.options.sack.ranges() {
            sack.push(left.wrapping_add(base(theirs)), right.wrapping_add(base(theirs)));
        }
        segment.options.sack = sack;
        if (segment.end().wrapping_sub(self.next[mine]) as i32) > 0 {
            self.next[mine] = segment.end();
        }
        segment
    }

    /// Takes the numbers of a first segment, or of a SYN, as the ones that later ones are printed against.
    fn begin(&mut self, mine: usize, theirs: usize, printed: Printed) {
        let segment = printed.segment;
        // A pure acknowledgement at the start: what it acknowledges is known, its own place only from the answer.
        let seq = printed.seq.unwrap_or(self.next[mine]);
        let mut bases = [0; 2];
        bases[mine] = seq;
        bases[theirs] =
            if segment.flags.has(Flags::ACK) { segment.ack.wrapping_sub(1) } else { self.next[theirs] };
        self.next[mine] = Segment { seq, ..segment }.end();
        if segment.flags.has(Flags::ACK) {
            self.next[theirs] = segment.ack;
        }
        self.bases = Some(bases);
        self.is_relative = None;
    }
}

/// How far apart two sequence numbers are, either way round.
fn distance(a: u32, b: u32) -> u32 {
    a.wrapping_sub(b).min(b.wrapping_sub(a))
}
