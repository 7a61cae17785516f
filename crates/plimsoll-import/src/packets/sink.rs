//! Where the readers put packets, and where they note what was missing.

use std::net::IpAddr;

use plimsoll_model::packet::{CaptureSummary, Packet};

use super::decoded::Skip;
use super::headers;
use super::link::{self, LinkType};

/// Hands packets on and counts the rest.
pub(super) struct Sink<'v> {
    visit: &'v mut dyn FnMut(&Packet),
    summary: CaptureSummary,
    last_time: u64,
    backwards: u64,
    later_fragments: u64,
    first_fragments: u64,
    cut: u64,
    malformed: u64,
    unknown_link: Option<(u32, u64)>,
}

impl<'v> Sink<'v> {
    pub(super) fn new(visit: &'v mut dyn FnMut(&Packet)) -> Self {
        Self {
            visit,
            summary: CaptureSummary::default(),
            last_time: 0,
            backwards: 0,
            later_fragments: 0,
            first_fragments: 0,
            cut: 0,
            malformed: 0,
            unknown_link: None,
        }
    }

    /// Decodes a frame and hands it on.
    ///
    /// `frame` is what was kept of `wire_bytes` bytes.
    #[inline]
    pub(super) fn frame(&mut self, time_ns: u64, link: LinkType, frame: &[u8], wire_bytes: u32) {
        self.count(time_ns, wire_bytes);
        let decoded = link::network(link, frame, wire_bytes).and_then(headers::decode);
        match decoded {
            Ok(decoded) => {
                self.first_fragments += u64::from(decoded.is_fragment);
                (self.visit)(&Packet {
                    time_ns,
                    wire_bytes,
                    source: decoded.source,
                    destination: decoded.destination,
                    ip_id: decoded.ip_id,
                    transport: decoded.transport,
                });
            }
            Err(skip) => self.skipped(skip),
        }
    }

    /// Hands on a packet that needs no decoding.
    pub(super) fn packet(&mut self, packet: &Packet) {
        self.count(packet.time_ns, packet.wire_bytes);
        (self.visit)(packet);
    }

    /// Counts a packet that is not handed on.
    pub(super) fn other(&mut self, time_ns: u64, skip: Skip) {
        self.count(time_ns, 0);
        self.skipped(skip);
    }

    /// Names the format.
    pub(super) fn format(&mut self, format: impl Into<String>) {
        self.summary.format = format.into();
    }

    /// Adds packets that the capturing program says it lost.
    pub(super) fn dropped(&mut self, count: u64) {
        let sum = self.summary.dropped.unwrap_or(0).saturating_add(count);
        self.summary.dropped = Some(sum);
    }

    /// States something that was missing, as a sentence without its full stop.
    pub(super) fn missing(&mut self, what: impl Into<String>) {
        self.summary.missing.push(what.into());
    }

    /// States that a host name stood in place of an address.
    pub(super) fn name(&mut self, address: IpAddr, name: String) {
        self.summary.names.push((address, name));
    }

    /// Packets seen so far.
    pub(super) fn packets(&self) -> u64 {
        self.summary.packets
    }

    pub(super) fn finish(mut self) -> CaptureSummary {
        let missing = &mut self.summary.missing;
        if let Some(dropped @ 1..) = self.summary.dropped {
            missing.push(format!("the capturing program lost {}", counted(dropped, "packet")));
        }
        if self.cut > 0 {
            missing.push(format!("{}: too little was kept to see the headers", counted(self.cut, "packet")));
        }
        if self.later_fragments + self.first_fragments > 0 {
            missing.push(format!(
                "{} of IP: only first fragments carry ports, and fragments are not put together",
                counted(self.later_fragments + self.first_fragments, "fragment")
            ));
        }
        if self.malformed > 0 {
            missing.push(format!(
                "{} with headers that contradict themselves",
                counted(self.malformed, "packet")
            ));
        }
        if let Some((link, count)) = self.unknown_link {
            missing
                .push(format!("{} of link type {link}, which is not decoded here", counted(count, "packet")));
        }
        if self.backwards > 0 {
            missing.push(format!("{} older than the one before", counted(self.backwards, "packet")));
        }
        self.summary
    }

    #[inline]
    fn count(&mut self, time_ns: u64, wire_bytes: u32) {
        self.summary.packets += 1;
        self.summary.bytes += u64::from(wire_bytes);
        self.backwards += u64::from(time_ns < self.last_time);
        self.last_time = time_ns;
    }

    #[cold]
    fn skipped(&mut self, skip: Skip) {
        match skip {
            Skip::NotIp | Skip::OtherTransport => {}
            Skip::LaterFragment => self.later_fragments += 1,
            Skip::Cut => self.cut += 1,
            Skip::Malformed => self.malformed += 1,
            Skip::UnknownLink(link) => {
                let (_, count) = self.unknown_link.get_or_insert((link, 0));
                *count += 1;
            }
        }
    }
}

/// A count with its noun: `1 packet`, `2 packets`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
