//! The datagrams of a UDP load, and what their receiver counts.

use plimsoll_model::observation::Datagrams;
use serde::{Deserialize, Serialize};

/// How many bytes of a datagram say which one it is; the rest is filling.
pub(crate) const LABEL: usize = 28;
/// The first bytes of each.
const MAGIC: [u8; 4] = *b"plud";

/// Header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The flow that it belongs to.
    pub(crate) flow: u64,
    /// Its number, from 0.
    pub(crate) number: u64,
    /// When it was sent, by its sender's clock in nanoseconds.
    pub(crate) sent_ns: u64,
}

impl Label {
    /// Writes the label to the start of a datagram.
    pub(crate) fn write(self, datagram: &mut [u8]) {
        datagram[..4].copy_from_slice(&MAGIC);
        for (place, field) in [self.flow, self.number, self.sent_ns].into_iter().enumerate() {
            datagram[4 + 8 * place..12 + 8 * place].copy_from_slice(&field.to_be_bytes());
        }
    }

    /// Reads the label of a datagram; `None` if it has none.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let fields = datagram.get(..LABEL)?.strip_prefix(&MAGIC)?;
        let field =
            |place: usize| Some(u64::from_be_bytes(fields.get(8 * place..8 * place + 8)?.try_into().ok()?));
        Some(Self { flow: field(0)?, number: field(1)?, sent_ns: field(2)? })
    }
}

/// How far back a datagram's number is remembered, to separate a late one from one that came twice.
const REMEMBERED: u64 = 1 << 16;

/// Counts of a flow's received datagrams.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    received: u64,
    duplicates: u64,
    reordered: u64,
    /// The number after the highest one that came.
    next: u64,
    /// A bit for each of the last numbers.
    seen: Box<[u64]>,
    jitter_ns: f64,
    transit_ns: Option<i64>,
}

/// Counts as they are sent to the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) jitter_us: f64,
    pub(crate) cpu_us: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        let seen = vec![0; (REMEMBERED / 64) as usize].into();
        Self { received: 0, duplicates: 0, reordered: 0, next: 0, seen, jitter_ns: 0.0, transit_ns: None }
    }
}

impl Arrivals {
    /// A datagram arrived at `now_ns` of the receiver's clock.
    pub(crate) fn arrive(&mut self, label: Label, now_ns: u64) {
        if label.number >= self.next {
            self.forget(label.number);
            self.next = label.number + 1;
        } else if self.next - label.number > REMEMBERED {
            // Too old to know whether it came before; that it is late is certain.
            self.reordered += 1;
            self.received += 1;
            return;
        } else if self.is_seen(label.number) {
            self.duplicates += 1;
            return;
        } else {
            self.reordered += 1;
        }
        let (word, bit) = place(label.number);
        self.seen[word] |= bit;
        self.received += 1;
        self.jitter(now_ns.cast_signed().wrapping_sub(label.sent_ns.cast_signed()));
    }

    /// RFC 3550, section 6.4.1: a sixteenth of the way to the latest change of transit time. The clocks' offset cancels.
    fn jitter(&mut self, transit_ns: i64) {
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            let change = transit_ns.wrapping_sub(before).unsigned_abs() as f64;
            self.jitter_ns += (change - self.jitter_ns) / 16.0;
        }
    }

    /// Makes room for the numbers up to this one.
    fn forget(&mut self, number: u64) {
        if number - self.next >= REMEMBERED {
            self.seen.fill(0);
            return;
        }
        for skipped in self.next..=number {
            let (word, bit) = place(skipped);
            self.seen[word] &= !bit;
        }
    }

    fn is_seen(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.seen[word] & bit != 0
    }

    /// Counts so far, with the CPU time of the receiver's thread.
    pub(crate) fn counts(&self, cpu_us: u64) -> Counts {
        Counts {
            received: self.received,
            duplicates: self.duplicates,
            reordered: self.reordered,
            jitter_us: self.jitter_ns / 1e3,
            cpu_us,
        }
    }
}

/// The word and the bit of a number.
fn place(number: u64) -> (usize, u64) {
    let bit = number % REMEMBERED;
    ((bit / 64) as usize, 1 << (bit % 64))
}

/// Counts of several flows together. The jitter is their mean; one thread receives them all.
pub(crate) fn together(flows: &[(u64, u64, Counts)]) -> Datagrams {
    let mut all = Datagrams::default();
    for (intended, sent, counts) in flows {
        all.intended += intended;
        all.sent += sent;
        all.received += counts.received;
        all.duplicates += counts.duplicates;
        all.reordered += counts.reordered;
        all.jitter_us += counts.jitter_us / flows.len() as f64;
        all.receiver_cpu_us = all.receiver_cpu_us.max(counts.cpu_us);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(numbers: impl IntoIterator<Item = u64>) -> Counts {
        let mut arrivals = Arrivals::default();
        for number in numbers {
            arrivals.arrive(Label { flow: 1, number, sent_ns: number * 1000 }, number * 1000 + 5_000);
        }
        arrivals.counts(0)
    }

    #[test]
    fn a_label_reads_back_as_itself_and_anything_else_is_none() {
        let label = Label { flow: 3, number: u64::MAX, sent_ns: 1 << 40 };
        let mut datagram = [0; 40];
        label.write(&mut datagram);
        assert_eq!(Label::read(&datagram), Some(label));
        assert_eq!(Label::read(&datagram[..LABEL - 1]), None);
        assert_eq!(Label::read(&[0; 100]), None);
    }

    #[test]
    fn late_ones_and_ones_that_come_twice_are_counted_apart() {
        let counts = arrived([0, 1, 3, 2, 2, 4, 0]);
        assert_eq!((counts.received, counts.reordered, counts.duplicates), (5, 1, 2));
    }

    #[test]
    fn a_gap_longer_than_the_memory_confuses_nothing() {
        let far = REMEMBERED * 3 + 5;
        let counts = arrived([0, 1, far, far - 1, far, 1]);
        assert_eq!((counts.received, counts.reordered, counts.duplicates), (5, 2, 1));
    }

    #[test]
    fn an_even_flow_has_no_jitter_and_an_uneven_one_that_of_the_rfc() {
        assert_eq!(arrived(0..100).jitter_us, 0.0);
        let mut arrivals = Arrivals::default();
        let transits = [10_000, 26_000, 10_000];
        for (number, transit) in (0..).zip(transits) {
            arrivals.arrive(Label { flow: 1, number, sent_ns: number * 1000 }, number * 1000 + transit);
        }
        // 16000/16 = 1000, then 1000 + (16000 - 1000)/16.
        assert_eq!(arrivals.counts(0).jitter_us, 1.9375);
    }
}
