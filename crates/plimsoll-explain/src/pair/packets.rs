//! Which packets of one direction are in both captures.

use super::record::Record;

/// What survives on the way: positions in both streams, length, flags and time stamps.
type Key = (u32, u32, u32, u8, Option<(u32, u32)>);

/// Flags that a splitting network card leaves on one of the pieces alone, and those of congestion, are no part of a packet's identity.
const FLAGS: u8 = 0x17;

/// Share of packets whose identification survives, from which on identifications are compared.
const KEEPS_IDS: f64 = 0.9;

/// Packets that are looked through for one.
const SEARCHED: usize = 1024;

/// Packets of one direction in both captures.
pub(super) struct Lane {
    /// For each packet of a capture, by its index, the one of the other.
    pub(super) partner: [Vec<Option<u32>>; 2],
    /// Bytes of each packet that were found in the other capture, in other pieces.
    pub(super) covered: [Vec<u32>; 2],
    /// Groups of packets that only their times may tell apart.
    alike: Vec<[Vec<u32>; 2]>,
}

impl Lane {
    /// Packets that are the same in both captures, each counted from these bases.
    pub(super) fn new(sent: [&[Record]; 2], bases: [(u32, u32); 2]) -> Self {
        let mut keyed: Vec<(Key, usize, u32)> = Vec::with_capacity(sent[0].len() + sent[1].len());
        for (capture, (records, base)) in sent.into_iter().zip(bases).enumerate() {
            keyed.extend(
                records.iter().enumerate().map(|(place, record)| (key(record, base), capture, place as u32)),
            );
        }
        keyed.sort_unstable();
        let mut lane = Self {
            partner: sent.map(|records| vec![None; records.len()]),
            covered: sent.map(|records| vec![0; records.len()]),
            alike: Vec::new(),
        };
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            let split = group.partition_point(|entry| entry.1 == 0);
            let places =
                |entries: &[(Key, usize, u32)]| entries.iter().map(|entry| entry.2).collect::<Vec<_>>();
            match [places(&group[..split]), places(&group[split..])] {
                [first, second] if first.is_empty() || second.is_empty() => {}
                [first, second] if first.len() == 1 && second.len() == 1 => lane.join(first[0], second[0]),
                both => lane.alike.push(both),
            }
        }
        lane.tell_apart(sent);
        lane
    }

    fn join(&mut self, first: u32, second: u32) {
        self.partner[0][first as usize] = Some(second);
        self.partner[1][second as usize] = Some(first);
    }

    /// Packets that are in both.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.partner[0].iter().enumerate().filter_map(|(a, b)| b.map(|b| (a, b as usize)))
    }

    /// Tells packets with the same key by the identification of their IP headers, or by their order where none is missing.
    fn tell_apart(&mut self, sent: [&[Record]; 2]) {
        let ids = |(a, b): (usize, usize)| Some((sent[0][a].ip_id?, sent[1][b].ip_id?));
        let known: Vec<(u16, u16)> = self.pairs().filter_map(ids).collect();
        let kept = known.iter().filter(|(a, b)| a == b).count();
        let vary = known.windows(2).any(|two| two[0].0 != two[1].0);
        let keeps_ids = vary && kept as f64 >= KEEPS_IDS * known.len() as f64;
        for [first, second] in std::mem::take(&mut self.alike) {
            if keeps_ids {
                self.join_by_id(sent, &first, &second);
            } else if first.len() == second.len() {
                first.into_iter().zip(second).for_each(|(a, b)| self.join(a, b));
            } else {
                self.alike.push([first, second]);
            }
        }
    }

    fn join_by_id(&mut self, sent: [&[Record]; 2], first: &[u32], second: &[u32]) {
        let mut from = 0;
        for &a in first {
            let id = sent[0][a as usize].ip_id;
            let same = |&b: &u32| sent[1][b as usize].ip_id == id;
            if let Some(at) = second[from..].iter().take(SEARCHED).position(same) {
                self.join(a, second[from + at]);
                from += at + 1;
            }
        }
    }

    /// Matches the remaining packets by time: each arrival belongs to the last packet sent before it.
    pub(super) fn match_by_time(&mut self, near: usize, had_left: impl Fn(usize, usize) -> bool) {
        for group in std::mem::take(&mut self.alike) {
            let mut last = 0;
            for &arrived in &group[1 - near] {
                let sent = group[near][last..].iter();
                let count = sent.take_while(|&&sent| had_left(sent as usize, arrived as usize)).count();
                if count > 0 {
                    let sent = group[near][last + count - 1];
                    if near == 0 {
                        self.join(sent, arrived);
                    } else {
                        self.join(arrived, sent);
                    }
                    last += count;
                }
            }
        }
    }

    /// Finds the bytes of data that arrived in other pieces than it was sent in. `had_left` says whether a packet had been sent when another arrived;
    /// `None` takes only bytes that were sent once.
    pub(super) fn match_pieces(
        &mut self,
        sent: [&[Record]; 2],
        bases: [(u32, u32); 2],
        near: usize,
        had_left: Option<&dyn Fn(usize, usize) -> bool>,
    ) {
        let far = 1 - near;
        let place = |capture: usize, at: u32| {
            u64::from(sent[capture][at as usize].seq.wrapping_sub(bases[capture].0))
        };
        let end_of =
            |capture: usize, at: u32| place(capture, at) + u64::from(sent[capture][at as usize].payload);
        let open = |lane: &Self, capture: usize| -> Vec<u32> {
            let is_open = |&at: &u32| {
                let record = &sent[capture][at as usize];
                record.payload > lane.covered[capture][at as usize]
                    && lane.partner[capture][at as usize]
                        .is_none_or(|_| lane.covered[capture][at as usize] > 0)
            };
            (0..sent[capture].len() as u32).filter(is_open).collect()
        };
        let mut pieces = open(self, near);
        if pieces.is_empty() {
            return;
        }
        pieces.sort_by_key(|&at| (place(near, at), at));
        // How far the pieces up to each one reach: those before the first that reaches a packet need no look.
        let mut furthest = 0;
        let reach: Vec<u64> = pieces
            .iter()
            .map(|&at| {
                furthest = furthest.max(end_of(near, at));
                furthest
            })
            .collect();
        for arrived in open(self, far) {
            let (start, end) = (place(far, arrived), end_of(far, arrived));
            let first = reach.partition_point(|&end| end <= start);
            let near_it =
                pieces[first..].iter().copied().take_while(|&at| place(near, at) < end).take(SEARCHED);
            let candidates: Vec<u32> = near_it
                .filter(|&at| end_of(near, at) > start)
                .filter(|&at| had_left.is_none_or(|had_left| had_left(at as usize, arrived as usize)))
                .collect();
            for (number, &at) in candidates.iter().enumerate() {
                let (from, to) = (place(near, at), end_of(near, at));
                // Bytes that were sent again arrive with the last packet that had been sent by then.
                let again = candidates.get(number + 1).is_some_and(|&later| place(near, later) < to.min(end));
                if again {
                    if had_left.is_none() {
                        break;
                    }
                    continue;
                }
                let overlap = u32::try_from(to.min(end).saturating_sub(from.max(start))).unwrap_or(u32::MAX);
                for (capture, place) in [(near, at), (far, arrived)] {
                    let covered = &mut self.covered[capture][place as usize];
                    *covered = covered.saturating_add(overlap);
                }
                if (from == start || to == end) && self.partner[near][at as usize].is_none() {
                    self.partner[near][at as usize] = Some(arrived);
                    self.partner[far][arrived as usize].get_or_insert(at);
                }
            }
        }
    }

    /// Bytes or packets of `capture` at `place` that the other does not have: `None` where it has all.
    pub(super) fn is_missing(&self, capture: usize, place: usize, record: &Record) -> bool {
        let covered = self.covered[capture][place];
        if covered > 0 { covered < record.payload } else { self.partner[capture][place].is_none() }
    }
}

fn key(record: &Record, (own, other): (u32, u32)) -> Key {
    let ack = if record.ack == 0 { 0 } else { record.ack.wrapping_sub(other) };
    (record.seq.wrapping_sub(own), ack, record.payload, record.flags.0 & FLAGS, record.timestamps)
}
