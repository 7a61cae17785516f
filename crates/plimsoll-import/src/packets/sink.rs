//! Where the readers put packets, and where they note what was missing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::packet::{CaptureSummary, Packet, Transport};
use plimsoll_model::units::counted;

use super::decoded::Skip;
use super::headers;
use super::link::{self, LinkType};
use super::order::Order;

/// Hands packets on and counts the rest.
pub(super) struct Sink<'v> {
    order: Order<'v>,
    summary: CaptureSummary,
    first_fragments: u64,
    options_cut: u64,
    skipped: BTreeMap<Skip, u64>,
}

impl<'v> Sink<'v> {
    pub(super) fn new(visit: &'v mut dyn FnMut(&Packet)) -> Self {
        Self {
            order: Order::new(visit),
            summary: CaptureSummary::default(),
            first_fragments: 0,
            options_cut: 0,
            skipped: BTreeMap::new(),
        }
    }

    /// Decodes a frame and hands it on.
    ///
    /// `frame` is what was kept of `wire_bytes` bytes.
    #[inline]
    pub(super) fn frame(&mut self, time_ns: u64, link: LinkType, frame: &[u8], wire_bytes: u32) {
        self.count(wire_bytes);
        let decoded = link::network(link, frame, wire_bytes).and_then(headers::decode);
        match decoded {
            Ok(decoded) => {
                self.first_fragments += u64::from(decoded.is_fragment);
                let is_cut = matches!(&decoded.transport, Transport::Tcp(segment) if segment.options.is_cut);
                self.options_cut += u64::from(is_cut);
                self.order.push(Packet {
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
        self.count(packet.wire_bytes);
        self.order.push(*packet);
    }

    /// Counts a packet that is not handed on.
    pub(super) fn other(&mut self, skip: Skip) {
        self.count(0);
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
        self.order.finish();
        let missing = &mut self.summary.missing;
        if let Some(dropped @ 1..) = self.summary.dropped {
            missing.push(format!("the capturing program lost {}", counted(dropped, "packet")));
        }
        let fragments = self.skipped.remove(&Skip::LaterFragment).unwrap_or(0) + self.first_fragments;
        if fragments > 0 {
            self.skipped.insert(Skip::LaterFragment, fragments);
        }
        if self.options_cut > 0 {
            missing.push(format!(
                "the snapshot length cut off the TCP options of {} (time stamps, SACK, window scale)",
                counted(self.options_cut, "packet")
            ));
        }
        missing.extend(self.skipped.iter().filter_map(|(skip, &count)| in_words(*skip, count)));
        let Order { backwards, too_late, .. } = self.order;
        if backwards > 0 {
            let mut sentence = format!(
                "{} older than the one before, so packets are sorted by time",
                counted(backwards, "packet")
            );
            if too_late > 0 {
                sentence += &format!("; {too_late} came too late for that");
            }
            missing.push(sentence);
        }
        self.summary
    }

    #[inline]
    fn count(&mut self, wire_bytes: u32) {
        self.summary.packets += 1;
        self.summary.bytes += u64::from(wire_bytes);
    }

    #[cold]
    fn skipped(&mut self, skip: Skip) {
        *self.skipped.entry(skip).or_insert(0) += 1;
    }
}

/// States `count` packets that are not handed on; `None` for packets that carry neither TCP nor UDP in any form.
fn in_words(skip: Skip, count: u64) -> Option<String> {
    let packets = counted(count, "packet");
    Some(match skip {
        Skip::NotIp | Skip::OtherTransport => return None,
        Skip::Cut => format!("{packets}: too little was kept to see the headers"),
        Skip::LaterFragment => format!(
            "{} of IP: only first fragments carry ports, and fragments are not put together",
            counted(count, "fragment")
        ),
        Skip::Malformed => format!("{packets} with headers that contradict themselves"),
        Skip::UnknownLink(link) => format!("{packets} of link type {link}, which is not decoded here"),
        Skip::Undecoded(carrier) => format!("{packets} in {carrier}, which is not decoded here"),
    })
}
