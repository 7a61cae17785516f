//! Result of decoding a packet: its content, or why it is not handed on.

use std::fmt;

use plimsoll_model::packet::{Endpoint, Transport};

/// Why a packet of the file is not among those handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Skip {
    /// A protocol that carries no IP.
    NotIp,
    /// IP, with a protocol that carries neither TCP nor UDP.
    OtherTransport,
    /// The capture kept too few bytes to see the ports and sequence numbers.
    Cut,
    /// A fragment other than the first: it has no ports.
    LaterFragment,
    /// The headers contradict themselves.
    Malformed,
    /// A link type that is not decoded here.
    UnknownLink(u32),
    /// A protocol that may carry TCP, and is not decoded here.
    Undecoded(Carrier),
}

/// A protocol around packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carrier {
    Ethertype(u16),
    Ppp(u16),
    Protocol(u8),
    Gre(u16),
    EncryptedWifi,
}

impl fmt::Display for Carrier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethertype(0x88e5) => out.write_str("MACsec"),
            Self::Ethertype(0x894f) => out.write_str("NSH"),
            Self::Ethertype(0x8906) => out.write_str("FCoE"),
            Self::Ethertype(0x88e7) => out.write_str("provider backbone bridging (802.1ah)"),
            Self::Ethertype(number) => write!(out, "ethertype {number:#06x}"),
            Self::Ppp(0x2d | 0x2f) => out.write_str("PPP with compressed TCP headers"),
            Self::Ppp(0xfd) => out.write_str("compressed PPP"),
            Self::Ppp(0x3d) => out.write_str("multilink PPP"),
            Self::Ppp(0x53) => out.write_str("encrypted PPP"),
            Self::Ppp(number) => write!(out, "PPP protocol {number:#06x}"),
            Self::Protocol(50) => out.write_str("ESP (encrypted)"),
            Self::Protocol(115) => out.write_str("L2TP"),
            Self::Protocol(132) => out.write_str("SCTP"),
            Self::Protocol(136) => out.write_str("UDP-Lite"),
            Self::Protocol(number) => write!(out, "IP protocol {number}"),
            Self::Gre(number) => write!(out, "GRE with protocol {number:#06x}"),
            Self::EncryptedWifi => out.write_str("encrypted 802.11"),
        }
    }
}

/// The fields of a frame that a packet is made of.
pub(super) struct Decoded {
    pub(super) source: Endpoint,
    pub(super) destination: Endpoint,
    pub(super) transport: Transport,
    pub(super) is_fragment: bool,
    pub(super) ip_id: Option<u16>,
}
