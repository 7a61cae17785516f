//! The connections that are being followed.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use plimsoll_model::packet::{Endpoint, Flags, Packet, Segment};

use super::Limits;
use super::connection::{Connection, TooBig};
use super::ids::Hosts;

/// Both endpoints, the lesser first.
type Key = (Endpoint, Endpoint);

/// Later times are taken for this one: sums of times must not overflow, whatever a damaged capture says.
pub(super) const LATEST: u64 = u64::MAX / 4;

/// How many connections are looked at to find one to give up.
const LOOKED_AT: usize = 64;

/// The key of a packet, and which of its endpoints sent it.
#[inline]
fn key(packet: &Packet) -> (Key, usize) {
    if packet.source <= packet.destination {
        ((packet.source, packet.destination), 0)
    } else {
        ((packet.destination, packet.source), 1)
    }
}

/// Connections by their endpoints.
pub(super) struct Table {
    limits: Limits,
    places: HashMap<Key, usize, RandomState>,
    connections: Vec<Connection>,
    /// The connection of the packet before: most packets belong to the same one.
    latest: Option<(Key, usize)>,
    hosts: Hosts,
    /// Sides of the connection of `latest` that have sent since the one before it.
    noted: [bool; 2],
    /// Connections that were given up while they were open.
    evicted: u64,
    duplicates: u64,
    /// Where to look next for a connection to give up.
    hand: usize,
}

impl Table {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits: Limits { followed: limits.followed.max(1), ..limits },
            places: HashMap::default(),
            connections: Vec::new(),
            latest: None,
            hosts: Hosts::default(),
            noted: [false; 2],
            evicted: 0,
            duplicates: 0,
            hand: 0,
        }
    }

    /// Takes in a segment; returns a connection that ended by it.
    #[inline]
    pub(super) fn take_in(&mut self, packet: &Packet, segment: &Segment) -> Option<Box<Connection>> {
        let (key, me) = key(packet);
        let now = packet.time_ns.min(LATEST);
        let place = match self.latest {
            Some((latest, place)) if latest == key => Some(place),
            _ => self.places.get(&key).copied(),
        };
        let (place, ended) = match place {
            Some(place) if self.connections[place].is_succeeded_by(me, segment) => {
                let mut new = self.connection(key, now, me, segment);
                new.follow(&self.connections[place]);
                let old = std::mem::replace(&mut self.connections[place], new);
                (place, Some(Box::new(old)))
            }
            Some(place) => (place, None),
            None => self.insert(key, now, me, segment),
        };
        if self.connections[place].halves[me].copies.is_copy(now, segment, packet.ip_id) {
            self.duplicates += 1;
            return ended;
        }
        if self.latest != Some((key, place)) {
            self.noted = [false; 2];
        }
        self.latest = Some((key, place));
        if !self.noted[me]
            && let Some(id) = packet.ip_id.filter(|_| !segment.flags.any(Flags::SYN.with(Flags::RST)))
        {
            self.noted[me] = true;
            let ids = &mut self.connections[place].halves[me].ids;
            self.hosts.take_in(packet.source.address, place, now, id, ids);
        }
        self.connections[place].step(now, me, segment, packet.ip_id);
        ended
    }

    fn connection(&self, key: Key, now: u64, me: usize, segment: &Segment) -> Connection {
        Connection::new([key.0, key.1], now, me, segment, self.limits.stalls)
    }

    #[cold]
    fn insert(
        &mut self,
        key: Key,
        now: u64,
        me: usize,
        segment: &Segment,
    ) -> (usize, Option<Box<Connection>>) {
        let new = self.connection(key, now, me, segment);
        if self.connections.len() < self.limits.followed {
            self.connections.push(new);
            self.places.insert(key, self.connections.len() - 1);
            return (self.connections.len() - 1, None);
        }
        let place = self.pick_to_end();
        let old = std::mem::replace(&mut self.connections[place], new);
        self.places.remove(&(old.endpoints[0], old.endpoints[1]));
        self.places.insert(key, place);
        self.evicted += u64::from(!old.is_closed());
        (place, Some(Box::new(old)))
    }

    /// Among the next few: one that is closed, else the one that has been quiet for longest.
    fn pick_to_end(&mut self) -> usize {
        let count = self.connections.len();
        let looked_at = (self.hand..self.hand + LOOKED_AT.min(count)).map(|place| place % count);
        self.hand = (self.hand + LOOKED_AT) % count;
        looked_at
            .min_by_key(|&place| (!self.connections[place].is_closed(), self.connections[place].last))
            .unwrap_or(0)
    }

    /// A router reported that a segment of a connection was too big.
    pub(super) fn too_big(&mut self, packet: &Packet, mtu: u32) {
        if let Some(&place) = self.places.get(&key(packet).0) {
            let first = TooBig { first: packet.time_ns.min(LATEST), count: 0, mtu };
            let too_big = self.connections[place].too_big.get_or_insert(first);
            too_big.count += 1;
            too_big.mtu = too_big.mtu.min(mtu);
        }
    }

    /// Connections that were given up while they were open.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Packets that the capture holds more than once.
    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Every connection that is still followed.
    pub(super) fn into_connections(self) -> impl Iterator<Item = Connection> {
        let Self { connections, hosts, .. } = self;
        connections.into_iter().map(move |mut connection| {
            for (half, endpoint) in connection.halves.iter_mut().zip(connection.endpoints) {
                hosts.conclude(endpoint.address, &mut half.ids);
            }
            connection
        })
    }
}

/// UDP flows, counted.
#[derive(Default)]
pub(super) struct Flows {
    seen: HashSet<Key, RandomState>,
    latest: Option<Key>,
    uncounted: bool,
}

impl Flows {
    /// The most flows that are distinguished: memory must not grow with the file.
    const MOST: usize = 1 << 17;

    #[inline]
    pub(super) fn take_in(&mut self, packet: &Packet) {
        let (key, _) = key(packet);
        if self.latest == Some(key) {
            return;
        }
        self.latest = Some(key);
        if self.seen.len() < Self::MOST {
            self.seen.insert(key);
        } else {
            self.uncounted |= !self.seen.contains(&key);
        }
    }

    /// How many, and whether there were more.
    pub(super) fn count(&self) -> (u64, bool) {
        (self.seen.len() as u64, self.uncounted)
    }
}
