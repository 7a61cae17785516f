//! From a frame of a link to the IP packet in it.
//!
//! Link types have the numbers of <https://www.tcpdump.org/linktypes.html>.

use super::decoded::Skip;

/// What frames of an interface begin with.
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
    /// Anything else, by number.
    Unknown(u32),
}

impl LinkType {
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            // 12 and 14 are what some systems write for raw IP, 101 what the registry says, 228 and 229 one version only.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            0 | 108 => Self::Loopback,
            113 => Self::Cooked,
            276 => Self::CookedV2,
            other => Self::Unknown(other),
        }
    }
}

/// An IP packet as far as it was kept, and how long it was on the wire.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    pub(super) kept: &'a [u8],
    pub(super) wire_bytes: u32,
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and the number that was used for stacked tags before it.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The IP packet in a frame.
#[inline]
pub(super) fn network(link: LinkType, frame: &[u8], wire_bytes: u32) -> Result<Network<'_>, Skip> {
    match link {
        LinkType::Ethernet => after_ethertype(frame, wire_bytes, 12),
        LinkType::Raw => payload(frame, wire_bytes, 0),
        LinkType::Loopback => payload(frame, wire_bytes, 4),
        LinkType::Cooked => after_ethertype(frame, wire_bytes, 14),
        LinkType::CookedV2 => match ethertype(frame, 0)? {
            tag if ETHERTYPES_VLAN.contains(&tag) => after_ethertype(frame, wire_bytes, 22),
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => payload(frame, wire_bytes, 20),
            _ => Err(Skip::NotIp),
        },
        LinkType::Unknown(number) => Err(Skip::UnknownLink(number)),
    }
}

/// The packet behind an ethertype at `at`, past any VLAN tags.
#[inline]
fn after_ethertype(frame: &[u8], wire_bytes: u32, mut at: usize) -> Result<Network<'_>, Skip> {
    loop {
        match ethertype(frame, at)? {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return payload(frame, wire_bytes, at + 2),
            tag if ETHERTYPES_VLAN.contains(&tag) => at += 4,
            _ => return Err(Skip::NotIp),
        }
    }
}

#[inline]
fn ethertype(frame: &[u8], at: usize) -> Result<u16, Skip> {
    let bytes = frame.get(at..).and_then(<[u8]>::first_chunk).ok_or(Skip::Cut)?;
    Ok(u16::from_be_bytes(*bytes))
}

#[inline]
fn payload(frame: &[u8], wire_bytes: u32, at: usize) -> Result<Network<'_>, Skip> {
    let kept = frame.get(at..).ok_or(Skip::Cut)?;
    Ok(Network { kept, wire_bytes: wire_bytes.saturating_sub(at as u32) })
}
