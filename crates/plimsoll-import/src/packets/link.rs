//! From a frame of a link to the IP packet in it.
//!
//! Link types have the numbers of <https://www.tcpdump.org/linktypes.html>.

use super::decoded::{Carrier, Skip};

/// Link type: the header at the start of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkType {
    /// Ethernet, with or without VLAN tags.
    Ethernet,
    /// IPv4 or IPv6 with nothing before it.
    Raw,
    /// BSD loopback: four bytes of protocol family.
    Loopback,
    /// Linux cooked capture (`-i any`), sixteen bytes.
    Cooked,
    /// Linux cooked capture, second version, twenty bytes.
    CookedV2,
    /// PPP (RFC 1661) behind this many bytes.
    Ppp(usize),
    /// Cisco HDLC: two bytes, then an ethertype.
    CiscoHdlc,
    /// LLC (IEEE 802.2) with nothing before it.
    Llc,
    /// IEEE 802.11 with nothing before it.
    Wifi,
    /// IEEE 802.11 behind a header that states its length as two bytes, low byte first, at 2.
    Radiotap,
    /// IEEE 802.11 behind a header that states its length as four bytes, high byte first, at 4.
    Avs,
    /// IEEE 802.11 behind the 144 bytes of Prism, or an AVS header.
    Prism,
    /// Messages of Linux' packet filter (`nflog`).
    Nflog,
    /// Log of OpenBSD's packet filter: the first byte is the length of its header without padding.
    Pflog,
    /// MPLS labels with nothing before them.
    Mpls,
    /// Anything else, by number.
    Unknown(u32),
}

impl LinkType {
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            // 12 and 14 are raw IP on some systems, 101 in the registry, 228 and 229 are one version only.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            0 | 108 => Self::Loopback,
            113 => Self::Cooked,
            276 => Self::CookedV2,
            9 | 50 => Self::Ppp(0),
            // The direction stands in place of the address byte (166), or before everything (204).
            204 => Self::Ppp(1),
            166 => Self::Ppp(2),
            51 => Self::Ppp(PPPOE_HEADER),
            100 => Self::Llc,
            104 => Self::CiscoHdlc,
            105 => Self::Wifi,
            117 => Self::Pflog,
            119 => Self::Prism,
            127 => Self::Radiotap,
            163 => Self::Avs,
            219 => Self::Mpls,
            239 => Self::Nflog,
            other => Self::Unknown(other),
        }
    }
}

/// A packet as far as it was kept, and how long it was on the wire.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    pub(super) kept: &'a [u8],
    pub(super) wire_bytes: u32,
    /// Headers that were unpacked before it.
    depth: u8,
}

/// More headers around each other than this are taken for an attack.
const MOST_HEADERS: u8 = 24;

impl<'a> Network<'a> {
    pub(super) fn new(kept: &'a [u8], wire_bytes: u32) -> Self {
        Self { kept, wire_bytes, depth: 0 }
    }

    /// A part of a packet, of which `wire_bytes` were on the wire.
    pub(super) fn part(&self, kept: &'a [u8], wire_bytes: u32) -> Self {
        Self { kept, wire_bytes, depth: self.depth }
    }

    /// The packet without its first `count` bytes.
    #[inline]
    pub(super) fn behind(&self, count: usize) -> Result<Self, Skip> {
        if self.depth == MOST_HEADERS {
            return Err(Skip::Malformed);
        }
        let kept = self.kept.get(count..).ok_or(Skip::Cut)?;
        Ok(Self { kept, wire_bytes: self.wire_bytes.saturating_sub(count as u32), depth: self.depth + 1 })
    }

    /// The byte at `at`.
    pub(super) fn byte(&self, at: usize) -> Result<u8, Skip> {
        self.kept.get(at).copied().ok_or(Skip::Cut)
    }

    /// Two bytes at `at`, the high one first.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Result<u16, Skip> {
        let bytes = self.kept.get(at..).and_then(<[u8]>::first_chunk).ok_or(Skip::Cut)?;
        Ok(u16::from_be_bytes(*bytes))
    }
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and the number that was used for stacked tags before it.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Version, code, session and length (RFC 2516).
const PPPOE_HEADER: usize = 6;

/// The IP packet in a frame.
#[inline]
pub(super) fn network(link: LinkType, frame: &[u8], wire_bytes: u32) -> Result<Network<'_>, Skip> {
    let frame = Network::new(frame, wire_bytes);
    match link {
        LinkType::Ethernet => ethernet(frame),
        LinkType::Raw => Ok(frame),
        LinkType::Loopback => frame.behind(4),
        LinkType::Cooked => after_ethertype(frame, 14),
        LinkType::CookedV2 => carried(frame.word(0)?, frame.behind(20)?),
        other => of_other_link(other, frame),
    }
}

#[cold]
fn of_other_link(link: LinkType, frame: Network<'_>) -> Result<Network<'_>, Skip> {
    match link {
        LinkType::Ppp(before) => ppp(frame.behind(before)?),
        LinkType::CiscoHdlc => after_ethertype(frame, 2),
        LinkType::Llc => llc(frame),
        LinkType::Wifi => wifi(frame),
        LinkType::Radiotap => {
            wifi(frame.behind(usize::from(u16::from_be_bytes(frame.word(2)?.to_le_bytes())))?)
        }
        LinkType::Avs => avs(frame),
        // Some drivers write an AVS header under the number of Prism; it begins with 0x8021.
        LinkType::Prism if frame.word(0)? == 0x8021 => avs(frame),
        LinkType::Prism => wifi(frame.behind(144)?),
        LinkType::Nflog => nflog(frame),
        LinkType::Pflog => frame.behind(usize::from(frame.byte(0)?).next_multiple_of(4)),
        LinkType::Mpls => mpls(frame),
        LinkType::Unknown(number) => Err(Skip::UnknownLink(number)),
        LinkType::Ethernet | LinkType::Raw | LinkType::Loopback | LinkType::Cooked | LinkType::CookedV2 => {
            Err(Skip::Malformed)
        }
    }
}

/// The packet in an Ethernet frame.
#[inline]
pub(super) fn ethernet(frame: Network<'_>) -> Result<Network<'_>, Skip> {
    after_ethertype(frame, 12)
}

/// The packet behind an ethertype at `at`, past any VLAN tags.
#[inline]
fn after_ethertype(frame: Network<'_>, mut at: usize) -> Result<Network<'_>, Skip> {
    loop {
        match frame.word(at)? {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return frame.behind(at + 2),
            tag if ETHERTYPES_VLAN.contains(&tag) => at += 4,
            other => return carried(other, frame.behind(at + 2)?),
        }
    }
}

/// The IP packet in what an ethertype announces.
#[cold]
pub(super) fn carried(ethertype: u16, network: Network<'_>) -> Result<Network<'_>, Skip> {
    const LONGEST_LENGTH: u16 = 1500;
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(network),
        tag if ETHERTYPES_VLAN.contains(&tag) => after_ethertype(network, 2),
        // In place of an ethertype the length of an LLC frame.
        ..=LONGEST_LENGTH => llc(network),
        0x8864 => ppp(network.behind(PPPOE_HEADER)?),
        0x8847 | 0x8848 => mpls(network),
        0x6558 => ethernet(network),
        0x880b => ppp(network),
        // ARP, RARP, PPPoE discovery, LACP, EAPOL, LLDP, PTP, loop detection and SLARP carry no IP.
        0x0806 | 0x8035 | 0x8863 | 0x8809 | 0x888e | 0x88cc | 0x88f7 | 0x9000 => Err(Skip::NotIp),
        other => Err(Skip::Undecoded(Carrier::Ethertype(other))),
    }
}

/// IEEE 802.2, with SNAP or without.
fn llc(network: Network<'_>) -> Result<Network<'_>, Skip> {
    let head: &[u8; 3] = network.kept.first_chunk().ok_or(Skip::Cut)?;
    match head {
        [0xaa, 0xaa, 0x03] => match network.kept.get(3..6).ok_or(Skip::Cut)? {
            [0, 0, 0 | 0xf8] => match network.word(6)? {
                ..=1500 => Err(Skip::NotIp),
                ethertype => carried(ethertype, network.behind(8)?),
            },
            _ => Err(Skip::NotIp),
        },
        [0x06, 0x06, 0x03] => network.behind(3),
        _ => Err(Skip::NotIp),
    }
}

/// PPP (RFC 1661), with the address and control bytes of HDLC or without.
fn ppp(network: Network<'_>) -> Result<Network<'_>, Skip> {
    let network = if network.kept.starts_with(&[0xff, 0x03]) { network.behind(2)? } else { network };
    let first = network.byte(0)?;
    // RFC 1661, section 6.5: a protocol below 256 may lose its high byte, and low bytes are odd.
    let (protocol, length) = if first & 1 == 1 { (u16::from(first), 1) } else { (network.word(0)?, 2) };
    match protocol {
        0x0021 | 0x0057 => network.behind(length),
        0x0281 | 0x0283 => mpls(network.behind(length)?),
        // Control protocols, of the network and of the link.
        0x8000.. => Err(Skip::NotIp),
        other => Err(Skip::Undecoded(Carrier::Ppp(other))),
    }
}

/// MPLS labels (RFC 3032), and IP or Ethernet (RFC 4448) behind the last.
pub(super) fn mpls(network: Network<'_>) -> Result<Network<'_>, Skip> {
    const BOTTOM: u8 = 1;
    let mut at = 0;
    while network.byte(at + 2)? & BOTTOM == 0 {
        at += 4;
    }
    let inner = network.behind(at + 4)?;
    match inner.byte(0)? >> 4 {
        4 | 6 => Ok(inner),
        // The control word of a pseudowire, or an address that begins like one.
        0 => ethernet(inner.behind(4)?).or_else(|_| ethernet(inner)),
        _ => ethernet(inner),
    }
}

fn avs(frame: Network<'_>) -> Result<Network<'_>, Skip> {
    let length = frame.kept.get(4..).and_then(<[u8]>::first_chunk).ok_or(Skip::Cut)?;
    wifi(frame.behind(u32::from_be_bytes(*length) as usize)?)
}

/// IEEE 802.11: data frames that are not encrypted.
fn wifi(frame: Network<'_>) -> Result<Network<'_>, Skip> {
    const DATA: u8 = 2;
    const NO_DATA: u8 = 0x40;
    const QOS: u8 = 0x80;
    const BOTH_WAYS: u8 = 0x03;
    const PROTECTED: u8 = 0x40;
    const HT_CONTROL: u8 = 0x80;
    const AGGREGATE: u8 = 0x80;
    let (kind, flags) = (frame.byte(0)?, frame.byte(1)?);
    if kind >> 2 & 3 != DATA || kind & NO_DATA != 0 {
        return Err(Skip::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Skip::Undecoded(Carrier::EncryptedWifi));
    }
    let mut at = if flags & BOTH_WAYS == BOTH_WAYS { 30 } else { 24 };
    let mut is_aggregate = false;
    if kind & QOS != 0 {
        is_aggregate = frame.byte(at)? & AGGREGATE != 0;
        at += if flags & HT_CONTROL != 0 { 6 } else { 2 };
    }
    // Of an aggregate the first part is read: two addresses and a length stand before it.
    llc(frame.behind(if is_aggregate { at + 14 } else { at })?)
}

/// Attributes of nfnetlink_log; the packet is one of them. Lengths have the byte order of the capturing host.
fn nflog(frame: Network<'_>) -> Result<Network<'_>, Skip> {
    const HEADER: usize = 4;
    const PAYLOAD: u16 = 9;
    let mut at = HEADER;
    loop {
        let (length, kind) = (frame.word(at)?, frame.word(at + 2)?);
        // Types are below 256, so a larger one has its bytes in the other order.
        let is_little = kind > 0xff;
        let read = |word: u16| if is_little { word.swap_bytes() } else { word };
        let (length, kind) = (usize::from(read(length)), read(kind));
        if kind == PAYLOAD {
            return frame.behind(at + 4);
        }
        if length < 4 {
            return Err(Skip::Malformed);
        }
        at += length.next_multiple_of(4);
    }
}
