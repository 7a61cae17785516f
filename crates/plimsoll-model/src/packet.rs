//! One captured packet: output of every reader of packet files, and input of the analysis of stalls.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// The IP address.
    pub address: IpAddr,
    /// The TCP or UDP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(out)
    }
}

/// A TCP segment or UDP datagram as it was seen on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds since the epoch, or since the first midnight where the source carries no date.
    pub time_ns: u64,
    /// Bytes on the wire as the source states them, however few of them were kept.
    pub wire_bytes: u32,
    /// Its sender.
    pub source: Endpoint,
    /// Its receiver.
    pub destination: Endpoint,
    /// The identification field of its IPv4 header; `None` with IPv6, and where the source does not have it.
    pub ip_id: Option<u16>,
    /// Its content.
    pub transport: Transport,
}

/// The transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(Segment),
    /// UDP, with the payload's length in bytes.
    Udp {
        /// Bytes of payload as the header states them.
        payload: u32,
    },
    /// A router's report that a TCP segment was too big for the next link (ICMP "fragmentation needed", RFC 1191; ICMPv6 "packet too
    /// big", RFC 4443). Source and destination of the packet are those of the segment.
    PacketTooBig {
        /// Largest packet that the next link takes, in bytes; 0 where an old router does not state it.
        mtu: u32,
    },
}

/// A TCP header (RFC 9293), with the payload's length in place of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte of payload.
    pub seq: u32,
    /// Acknowledgement number; has a meaning only with [`Flags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// Bytes of payload as the headers state them, however few of them were kept.
    pub payload: u32,
    /// The options that the analysis of stalls needs.
    pub options: TcpOptions,
}

impl Segment {
    /// The sequence number after this segment; SYN and FIN count for one each.
    #[inline]
    pub fn end(&self) -> u32 {
        let controls = u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.seq.wrapping_add(self.payload).wrapping_add(controls)
    }
}

/// The flags byte of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push: the sender had nothing more to add.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    #[inline]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// TCP options (RFC 9293, RFC 7323, RFC 2018). An option that was cut off by the snap length is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size; on SYNs only.
    pub mss: Option<u16>,
    /// Window scale: the shift count; on SYNs only.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are offered; on SYNs only.
    pub sack_permitted: bool,
    /// Time stamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgement.
    pub sack: SackBlocks,
    /// Whether the capture kept only a part of them.
    pub is_cut: bool,
}

/// Up to four selectively acknowledged ranges, in the order sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    ranges: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a range from its left edge to the byte after its right edge. A fifth range has no room in a header and is left out.
    #[inline]
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.ranges.get_mut(usize::from(self.count)) {
            *slot = (left, right);
            self.count += 1;
        }
    }

    /// The ranges.
    #[inline]
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges[..usize::from(self.count)]
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Summary of a packet file: its contents, and parts that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSummary {
    /// The format found, in words.
    pub format: String,
    /// Packets in the file, those of other protocols included.
    pub packets: u64,
    /// Bytes that those packets had on the wire.
    pub bytes: u64,
    /// Packets that the capturing program says it lost; `None` when the file does not say.
    pub dropped: Option<u64>,
    /// Missing parts, one sentence each; empty for a whole file.
    pub missing: Vec<String>,
    /// Host names that stood in place of addresses, with the address that was put in their place.
    pub names: Vec<(IpAddr, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syn_and_fin_each_take_a_sequence_number() {
        let segment = |flags, payload| Segment { seq: u32::MAX, flags, payload, ..Segment::default() };
        assert_eq!(segment(Flags::SYN, 0).end(), 0);
        assert_eq!(segment(Flags::FIN.with(Flags::ACK), 10).end(), 10);
        assert_eq!(segment(Flags::ACK, 0).end(), u32::MAX);
    }

    #[test]
    fn a_fifth_sack_range_is_left_out() {
        let mut sack = SackBlocks::default();
        for left in 0..5 {
            sack.push(left * 10, left * 10 + 5);
        }
        assert_eq!(sack.ranges(), [(0, 5), (10, 15), (20, 25), (30, 35)]);
    }
}
