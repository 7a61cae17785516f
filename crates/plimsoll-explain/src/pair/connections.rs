//! Which connections of one capture are in the other.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::record::{Connection, Record};

/// Sequence and acknowledgement number: 64 bits that no translation of addresses changes.
type Print = (u32, u32);
/// Numbers counted from the initial sequence numbers, with the time stamps: a firewall that randomises sequence numbers keeps these.
type RelativePrint = (u32, u32, (u32, u32));

/// Prints that two captures of a connection have to share. A connection with fewer packets has to share all it has.
const SHARED: usize = 3;
/// Connections with the same addresses and ports that are compared with each other.
const MOST_ALIKE: usize = 16;

/// Connections of `first` with their counterparts in `second`. Where a capture without handshake took the server for the client, the
/// roles in `second` are swapped.
pub(super) fn pair(first: &[Connection], second: &mut [Connection]) -> Vec<(usize, usize)> {
    let mut matching = Matching { partner: vec![None; first.len()], taken: vec![false; second.len()] };
    matching.by_endpoints(first, second);
    matching.by_prints(first, second, prints);
    matching.by_prints(first, second, relative_prints);
    matching.partner.iter().enumerate().filter_map(|(a, b)| b.map(|b| (a, b))).collect()
}

struct Matching {
    partner: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Matching {
    /// Connections with the same addresses and ports that share packets.
    fn by_endpoints(&mut self, first: &[Connection], second: &mut [Connection]) {
        let mut places: HashMap<_, Vec<usize>, RandomState> = HashMap::default();
        for (place, connection) in first.iter().enumerate() {
            let [a, b] = connection.endpoints;
            places.entry((a.min(b), a.max(b))).or_default().push(place);
        }
        for (b, connection) in second.iter_mut().enumerate() {
            let [x, y] = connection.endpoints;
            let Some(candidates) = places.get(&(x.min(y), x.max(y))) else { continue };
            let free = || candidates.iter().copied().filter(|&a| self.partner[a].is_none());
            let same_isn = |&a: &usize| first[a].isn[0].is_some() && first[a].isn[0] == connection.isn[0];
            let free: Vec<usize> = match free().find(same_isn) {
                Some(a) => vec![a],
                None => free().take(MOST_ALIKE).collect(),
            };
            let shared = |a: usize| {
                let swapped = first[a].endpoints != connection.endpoints;
                shared(&first[a], connection, swapped, prints).max(shared(
                    &first[a],
                    connection,
                    swapped,
                    relative_prints,
                ))
            };
            let best = free.into_iter().map(|a| (shared(a), Reverse(a))).max();
            if let Some((1.., Reverse(a))) = best {
                if first[a].endpoints != connection.endpoints {
                    connection.swap_roles();
                }
                (self.partner[a], self.taken[b]) = (Some(b), true);
            }
        }
    }

    /// Connections whose packets have the same prints, whatever their addresses.
    fn by_prints<P: Hash + Eq + Copy>(
        &mut self,
        first: &[Connection],
        second: &mut [Connection],
        prints: impl Fn(&Connection, usize) -> HashSet<P, RandomState>,
    ) {
        // A print of several connections tells nothing.
        let mut owners: HashMap<P, Option<(usize, usize)>, RandomState> = HashMap::default();
        let open = first.iter().enumerate().filter(|&(a, _)| self.partner[a].is_none());
        for (a, connection) in open {
            for side in 0..2 {
                for print in prints(connection, side) {
                    owners.entry(print).and_modify(|owner| *owner = None).or_insert(Some((a, side)));
                }
            }
        }
        let mut candidates = Vec::new();
        for (b, connection) in second.iter().enumerate().filter(|&(b, _)| !self.taken[b]) {
            let mut votes: HashMap<(usize, bool), usize, RandomState> = HashMap::default();
            let mut own = 0;
            for side in 0..2 {
                for print in prints(connection, side) {
                    own += 1;
                    if let Some(&Some((a, of))) = owners.get(&print) {
                        *votes.entry((a, of != side)).or_default() += 1;
                    }
                }
            }
            candidates.extend(
                votes
                    .into_iter()
                    .filter(|&(_, count)| count >= SHARED.min(own).max(1))
                    .map(|((a, swapped), count)| (Reverse(count), a, b, swapped)),
            );
        }
        candidates.sort_unstable();
        for (_, a, b, swapped) in candidates {
            if self.partner[a].is_none() && !self.taken[b] {
                if swapped {
                    second[b].swap_roles();
                }
                (self.partner[a], self.taken[b]) = (Some(b), true);
            }
        }
    }
}

/// How many prints two connections share.
fn shared<P: Hash + Eq + Copy>(
    first: &Connection,
    second: &Connection,
    swapped: bool,
    prints: impl Fn(&Connection, usize) -> HashSet<P, RandomState>,
) -> usize {
    let of = |side: usize| {
        let theirs = prints(second, side ^ usize::from(swapped));
        prints(first, side).iter().filter(|print| theirs.contains(*print)).count()
    };
    of(0) + of(1)
}

fn prints(connection: &Connection, side: usize) -> HashSet<Print, RandomState> {
    connection.sent[side].iter().map(|record| (record.seq, record.ack)).collect()
}

fn relative_prints(connection: &Connection, side: usize) -> HashSet<RelativePrint, RandomState> {
    let [Some(own), Some(other)] = [connection.isn[side], connection.isn[1 - side]] else {
        return HashSet::default();
    };
    let print = |record: &Record| {
        let ack = if record.ack == 0 { 0 } else { record.ack.wrapping_sub(other) };
        Some((record.seq.wrapping_sub(own), ack, record.timestamps?))
    };
    connection.sent[side].iter().filter_map(print).collect()
}
