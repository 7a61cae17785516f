//! Fields of packets that two captures of them have in common.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use plimsoll_model::packet::{Endpoint, Flags, Packet, Segment, Transport};

use crate::stalls::copies::Copies;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) time: u64,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) payload: u32,
    pub(super) timestamps: Option<(u32, u32)>,
    pub(super) ip_id: Option<u16>,
    pub(super) flags: Flags,
}

impl Record {
    fn new(time: u64, segment: &Segment, ip_id: Option<u16>) -> Self {
        Self {
            time,
            seq: segment.seq,
            ack: if segment.flags.has(Flags::ACK) { segment.ack } else { 0 },
            payload: segment.payload,
            timestamps: segment.options.timestamps,
            ip_id: ip_id.filter(|&id| id != 0),
            flags: segment.flags,
        }
    }

    /// The sequence number after it.
    pub(super) fn end(&self) -> u32 {
        let controls = u32::from(self.is_syn()) + u32::from(self.flags.has(Flags::FIN));
        self.seq.wrapping_add(self.payload).wrapping_add(controls)
    }

    pub(super) fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Whether the other side has to acknowledge it.
    pub(super) fn takes_sequence(&self) -> bool {
        self.end() != self.seq
    }
}

/// A connection in one capture; the client has the index 0.
pub(super) struct Connection {
    pub(super) endpoints: [Endpoint; 2],
    pub(super) sent: [Vec<Record>; 2],
    /// Initial sequence numbers, where the SYN was seen.
    pub(super) isn: [Option<u32>; 2],
    copies: [Copies; 2],
}

impl Connection {
    fn new(packet: &Packet, segment: &Segment) -> Self {
        let sender_is_client = match (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (true, acknowledges) => !acknowledges,
            // Without a SYN the side with the higher port is taken for the one that chose any.
            _ => packet.source.port > packet.destination.port,
        };
        let mut endpoints = [packet.source, packet.destination];
        if !sender_is_client {
            endpoints.swap(0, 1);
        }
        Self { endpoints, sent: Default::default(), isn: [None; 2], copies: Default::default() }
    }

    /// Whether `segment` begins another connection with the same addresses and ports.
    fn is_succeeded_by(&self, side: usize, segment: &Segment) -> bool {
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        opens && self.isn[side] != Some(segment.seq)
    }

    fn take_in(&mut self, side: usize, packet: &Packet, segment: &Segment) -> bool {
        if self.copies[side].is_copy(packet.time_ns, segment, packet.ip_id) {
            return false;
        }
        if segment.flags.has(Flags::SYN) {
            self.isn[side].get_or_insert(segment.seq);
        }
        self.sent[side].push(Record::new(packet.time_ns, segment, packet.ip_id));
        true
    }

    /// Takes the server for the client.
    pub(super) fn swap_roles(&mut self) {
        self.endpoints.swap(0, 1);
        self.sent.swap(0, 1);
        self.isn.swap(0, 1);
    }
}

/// Collects the packets of a capture by connection.
#[derive(Default)]
pub struct Recorder {
    pub(super) connections: Vec<Connection>,
    places: HashMap<(Endpoint, Endpoint), usize, RandomState>,
    kept: usize,
    /// Packets that are not kept.
    pub(super) left_out: u64,
    span: Option<(u64, u64)>,
}

impl Recorder {
    /// No more packets than this are kept.
    pub(super) const MOST: usize = 1_000_000;
    /// No more connections than this are kept.
    const MOST_CONNECTIONS: usize = 65_536;

    /// Takes in the next packet.
    pub fn packet(&mut self, packet: &Packet) {
        let (begin, end) = *self.span.get_or_insert((packet.time_ns, packet.time_ns));
        self.span = Some((begin.min(packet.time_ns), end.max(packet.time_ns)));
        let Transport::Tcp(segment) = &packet.transport else { return };
        let key = (packet.source.min(packet.destination), packet.source.max(packet.destination));
        let known = self.places.get(&key).copied().filter(|&place| {
            let connection = &self.connections[place];
            !connection.is_succeeded_by(usize::from(packet.source != connection.endpoints[0]), segment)
        });
        let is_full =
            self.kept >= Self::MOST || (known.is_none() && self.connections.len() >= Self::MOST_CONNECTIONS);
        if is_full {
            self.left_out += 1;
            return;
        }
        let place = known.unwrap_or_else(|| {
            self.connections.push(Connection::new(packet, segment));
            self.places.insert(key, self.connections.len() - 1);
            self.connections.len() - 1
        });
        let connection = &mut self.connections[place];
        let side = usize::from(packet.source != connection.endpoints[0]);
        self.kept += usize::from(connection.take_in(side, packet, segment));
    }

    /// The time of the first packet.
    pub(super) fn begin(&self) -> u64 {
        self.span.map_or(0, |(begin, _)| begin)
    }

    /// The time of the last packet.
    pub(super) fn end(&self) -> u64 {
        self.span.map_or(0, |(_, end)| end)
    }
}
