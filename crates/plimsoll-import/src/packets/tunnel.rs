//! Packets within packets: what IP protocols other than TCP, and tunnels over UDP, carry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plimsoll_model::packet::{Endpoint, Transport};

use super::decoded::{Carrier, Decoded, Skip};
use super::link::{self, Network};

const TCP: u8 = 6;

/// Content of an IP packet of another protocol than TCP and UDP.
pub(super) enum Carried<'a> {
    /// An IP packet.
    Packet(Network<'a>),
    /// A router's report that a TCP segment was too big.
    TooBig(Decoded),
}

/// Unpacks an IP packet of another protocol than TCP and UDP.
#[cold]
pub(super) fn carried(protocol: u8, payload: Network<'_>) -> Result<Carried<'_>, Skip> {
    let inner = match protocol {
        1 => return icmp(payload).map(Carried::TooBig),
        58 => return icmpv6(payload).map(Carried::TooBig),
        // IP in IP, 6in4.
        4 | 41 => payload.behind(0)?,
        47 => gre(payload)?,
        // EtherIP (RFC 3378).
        97 => link::ethernet(payload.behind(2)?)?,
        // MPLS in IP (RFC 4023).
        137 => link::mpls(payload)?,
        // IGMP, EGP, RSVP, EIGRP, OSPF, PIM, VRRP, and "no next header" of IPv6.
        2 | 8 | 46 | 88 | 89 | 103 | 112 | 59 => return Err(Skip::OtherTransport),
        other => return Err(Skip::Undecoded(Carrier::Protocol(other))),
    };
    Ok(Carried::Packet(inner))
}

/// GRE: RFC 2784 and RFC 2890, and the version of PPTP (RFC 2637).
fn gre(payload: Network<'_>) -> Result<Network<'_>, Skip> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGED: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    let (flags, protocol) = (payload.word(0)?, payload.word(2)?);
    let is_pptp = flags & VERSION == 1;
    let optional = [
        flags & (CHECKSUM | ROUTING) != 0,
        flags & KEY != 0,
        flags & SEQUENCE != 0,
        is_pptp && flags & ACKNOWLEDGED != 0,
    ];
    let length = 4 + 4 * optional.into_iter().filter(|&is_there| is_there).count();
    let inner = payload.behind(length)?;
    match protocol {
        // ERSPAN: type I has no header of its own, type II has one where GRE is numbered.
        0x88be => link::ethernet(inner.behind(if flags & SEQUENCE != 0 { 8 } else { 0 })?),
        // Type III, with eight bytes more where the last bit says so.
        0x22eb => link::ethernet(inner.behind(if inner.byte(11)? & 1 == 1 { 20 } else { 12 })?),
        // PPTP acknowledges without any payload.
        0x880b if is_pptp && inner.kept.is_empty() => Err(Skip::NotIp),
        ..=1500 => Err(Skip::Undecoded(Carrier::Gre(protocol))),
        _ => link::carried(protocol, inner).map_err(|skip| match skip {
            Skip::Undecoded(Carrier::Ethertype(protocol)) => Skip::Undecoded(Carrier::Gre(protocol)),
            other => other,
        }),
    }
}

/// The packet in a UDP datagram to a port of a tunnel; `None` where it is none.
#[inline]
pub(super) fn in_udp(port: u16, payload: Network<'_>) -> Option<Network<'_>> {
    let unpacked = match port {
        4789 | 4790 | 8472 => vxlan(payload),
        6081 => geneve(payload),
        2152 => gtp(payload),
        _ => return None,
    };
    unpacked.ok()
}

/// VXLAN (RFC 7348), with the protocol that its generic extension may name.
fn vxlan(payload: Network<'_>) -> Result<Network<'_>, Skip> {
    const HAS_NETWORK: u8 = 0x08;
    const NAMES_PROTOCOL: u8 = 0x04;
    let flags = payload.byte(0)?;
    if flags & HAS_NETWORK == 0 {
        return Err(Skip::Malformed);
    }
    let inner = payload.behind(8)?;
    match payload.byte(3)? {
        1 | 2 if flags & NAMES_PROTOCOL != 0 => Ok(inner),
        _ => link::ethernet(inner),
    }
}

/// Geneve (RFC 8926).
fn geneve(payload: Network<'_>) -> Result<Network<'_>, Skip> {
    let first = payload.byte(0)?;
    if first >> 6 != 0 {
        return Err(Skip::Malformed);
    }
    let options = usize::from(first & 0x3f) * 4;
    link::carried(payload.word(2)?, payload.behind(8 + options)?)
}

/// GTP-U (3GPP TS 29.281): user data is message 255.
fn gtp(payload: Network<'_>) -> Result<Network<'_>, Skip> {
    const VERSION_1: u8 = 0x30;
    const USER_DATA: u8 = 255;
    const HAS_EXTENSION: u8 = 0x04;
    const HAS_OPTIONAL: u8 = 0x07;
    let flags = payload.byte(0)?;
    if flags & 0xf0 != VERSION_1 || payload.byte(1)? != USER_DATA {
        return Err(Skip::Malformed);
    }
    if flags & HAS_OPTIONAL == 0 {
        return payload.behind(8);
    }
    let mut at = 12;
    let mut next = if flags & HAS_EXTENSION != 0 { payload.byte(11)? } else { 0 };
    while next != 0 {
        let length = usize::from(payload.byte(at)?) * 4;
        if length == 0 {
            return Err(Skip::Malformed);
        }
        at += length;
        next = payload.byte(at - 1)?;
    }
    payload.behind(at)
}

/// ICMP (RFC 792): "fragmentation needed" quotes the packet that was too big.
fn icmp(payload: Network<'_>) -> Result<Decoded, Skip> {
    const UNREACHABLE: u8 = 3;
    const FRAGMENTATION_NEEDED: u8 = 4;
    if [payload.byte(0)?, payload.byte(1)?] != [UNREACHABLE, FRAGMENTATION_NEEDED] {
        return Err(Skip::OtherTransport);
    }
    let mtu = u32::from(payload.word(6)?);
    let quoted = payload.behind(8)?;
    let fixed: &[u8; 20] = quoted.kept.first_chunk().ok_or(Skip::Cut)?;
    let ports = quoted.behind(usize::from(fixed[0] & 0x0f) * 4)?;
    let source = Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]);
    let destination = Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]);
    too_big(fixed[9], source.into(), destination.into(), ports, mtu)
}

/// ICMPv6 (RFC 4443): "packet too big".
fn icmpv6(payload: Network<'_>) -> Result<Decoded, Skip> {
    const PACKET_TOO_BIG: u8 = 2;
    if payload.byte(0)? != PACKET_TOO_BIG {
        return Err(Skip::OtherTransport);
    }
    let mtu = u32::from(payload.word(4)?) << 16 | u32::from(payload.word(6)?);
    let quoted = payload.behind(8)?;
    let fixed: &[u8; 40] = quoted.kept.first_chunk().ok_or(Skip::Cut)?;
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&fixed[at..at + 16]);
        IpAddr::from(Ipv6Addr::from(octets))
    };
    too_big(fixed[6], address(8), address(24), quoted.behind(40)?, mtu)
}

fn too_big(
    protocol: u8,
    source: IpAddr,
    destination: IpAddr,
    ports: Network<'_>,
    mtu: u32,
) -> Result<Decoded, Skip> {
    if protocol != TCP {
        return Err(Skip::OtherTransport);
    }
    Ok(Decoded {
        source: Endpoint { address: source, port: ports.word(0)? },
        destination: Endpoint { address: destination, port: ports.word(2)? },
        transport: Transport::PacketTooBig { mtu },
        is_fragment: false,
        ip_id: None,
    })
}
