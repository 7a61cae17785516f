//! From an IP packet to its TCP or UDP header: RFC 791, RFC 8200, RFC 9293, RFC 768.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plimsoll_model::packet::{Endpoint, Flags, Segment, TcpOptions, Transport};

use super::decoded::{Decoded, Skip};
use super::link::Network;
use super::tunnel::{self, Carried};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// The authentication header (RFC 4302), which IPv4 may have as well.
const AUTHENTICATION: u8 = 51;

/// More extension headers than this in one IPv6 packet are taken for an attack.
const MAX_EXTENSIONS: usize = 16;

/// Content of the IP header.
struct Ip<'a> {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// The kept part behind the IP headers.
    kept: &'a [u8],
    /// Bytes behind the IP headers on the wire.
    wire_bytes: u32,
    is_fragment: bool,
    id: Option<u16>,
}

/// Decodes an IP packet that carries TCP or UDP, in other packets or not, or reports that one was too big.
#[inline]
pub(super) fn decode(network: Network<'_>) -> Result<Decoded, Skip> {
    let ip = match network.kept.first().ok_or(Skip::Cut)? >> 4 {
        4 => ipv4(&network)?,
        6 => ipv6(&network)?,
        _ => return Err(Skip::NotIp),
    };
    let (ports, transport) = match ip.protocol {
        TCP => tcp(ip.kept, ip.wire_bytes)?,
        UDP => {
            let datagram = udp(ip.kept, ip.wire_bytes)?;
            let payload = network.part(ip.kept, ip.wire_bytes).behind(8)?;
            let inner = tunnel::in_udp(datagram.0.1, payload);
            match inner.map(decode) {
                Some(Ok(inner)) => return Ok(inner),
                _ => datagram,
            }
        }
        protocol => {
            let payload = network.part(ip.kept, ip.wire_bytes);
            return match tunnel::carried(protocol, payload)? {
                Carried::Packet(inner) => decode(inner),
                Carried::TooBig(report) => Ok(report),
            };
        }
    };
    Ok(Decoded {
        source: Endpoint { address: ip.source, port: ports.0 },
        destination: Endpoint { address: ip.destination, port: ports.1 },
        transport,
        is_fragment: ip.is_fragment,
        ip_id: ip.id,
    })
}

#[inline]
fn ipv4<'a>(network: &Network<'a>) -> Result<Ip<'a>, Skip> {
    let fixed: &[u8; 20] = network.kept.first_chunk().ok_or(Skip::Cut)?;
    let header = usize::from(fixed[0] & 0x0f) * 4;
    if header < 20 {
        return Err(Skip::Malformed);
    }
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
    if fragment & 0x1fff != 0 {
        return Err(Skip::LaterFragment);
    }
    let total = match u16::from_be_bytes([fixed[2], fixed[3]]) {
        // A packet that the kernel hands to the card in one piece of more than 64 KiB has no length that would fit.
        0 => network.wire_bytes,
        total => u32::from(total),
    };
    let mut ip = Ip {
        source: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]).into(),
        destination: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]).into(),
        protocol: fixed[9],
        kept: network.kept.get(header..).ok_or(Skip::Cut)?,
        wire_bytes: total.checked_sub(header as u32).ok_or(Skip::Malformed)?,
        is_fragment: fragment & 0x2000 != 0,
        id: Some(u16::from_be_bytes([fixed[4], fixed[5]])),
    };
    if ip.protocol == AUTHENTICATION {
        extensions(&mut ip)?;
    }
    Ok(ip)
}

#[inline]
fn ipv6<'a>(network: &Network<'a>) -> Result<Ip<'a>, Skip> {
    let fixed: &[u8; 40] = network.kept.first_chunk().ok_or(Skip::Cut)?;
    let length = match u16::from_be_bytes([fixed[4], fixed[5]]) {
        // A jumbogram, or a packet that the kernel has not cut yet.
        0 => network.wire_bytes.saturating_sub(40),
        length => u32::from(length),
    };
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&fixed[at..at + 16]);
        Ipv6Addr::from(octets).into()
    };
    let mut ip = Ip {
        source: address(8),
        destination: address(24),
        protocol: fixed[6],
        kept: &network.kept[40..],
        wire_bytes: length,
        is_fragment: false,
        id: None,
    };
    extensions(&mut ip)?;
    Ok(ip)
}

/// Steps over the extension headers of IPv6.
#[inline]
fn extensions(ip: &mut Ip<'_>) -> Result<(), Skip> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const DESTINATION: u8 = 60;
    const MOBILITY: u8 = 135;
    for _ in 0..MAX_EXTENSIONS {
        let length = match ip.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => {
                (usize::from(*ip.kept.get(1).ok_or(Skip::Cut)?) + 1) * 8
            }
            AUTHENTICATION => (usize::from(*ip.kept.get(1).ok_or(Skip::Cut)?) + 2) * 4,
            FRAGMENT => {
                let field = [*ip.kept.get(2).ok_or(Skip::Cut)?, *ip.kept.get(3).ok_or(Skip::Cut)?];
                if u16::from_be_bytes(field) & 0xfff8 != 0 {
                    return Err(Skip::LaterFragment);
                }
                ip.is_fragment |= u16::from_be_bytes(field) & 1 != 0;
                8
            }
            _ => return Ok(()),
        };
        ip.protocol = *ip.kept.first().ok_or(Skip::Cut)?;
        ip.kept = ip.kept.get(length..).ok_or(Skip::Cut)?;
        ip.wire_bytes = ip.wire_bytes.checked_sub(length as u32).ok_or(Skip::Malformed)?;
    }
    Err(Skip::Malformed)
}

#[inline]
fn tcp(kept: &[u8], wire_bytes: u32) -> Result<((u16, u16), Transport), Skip> {
    // Sequence numbers, flags and window are in the first sixteen bytes; the checksum behind them is not needed.
    let fixed: &[u8; 16] = kept.first_chunk().ok_or(Skip::Cut)?;
    let header = usize::from(fixed[12] >> 4) * 4;
    if header < 20 {
        return Err(Skip::Malformed);
    }
    let mut options = options(kept.get(20..kept.len().min(header)).unwrap_or_default());
    options.is_cut = kept.len() < header;
    let segment = Segment {
        seq: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        ack: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
        flags: Flags(fixed[13]),
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        payload: wire_bytes.checked_sub(header as u32).ok_or(Skip::Malformed)?,
        options,
    };
    Ok((ports(fixed), Transport::Tcp(segment)))
}

#[inline]
fn udp(kept: &[u8], wire_bytes: u32) -> Result<((u16, u16), Transport), Skip> {
    let fixed: &[u8; 8] = kept.first_chunk().ok_or(Skip::Cut)?;
    let length = match u16::from_be_bytes([fixed[4], fixed[5]]) {
        0 => wire_bytes,
        length => u32::from(length),
    };
    Ok((ports(fixed), Transport::Udp { payload: length.checked_sub(8).ok_or(Skip::Malformed)? }))
}

#[inline]
fn ports<const N: usize>(header: &[u8; N]) -> (u16, u16) {
    (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]))
}

/// Reads options as far as they were kept and make sense.
#[inline]
fn options(bytes: &[u8]) -> TcpOptions {
    // Nearly every segment of a modern stack has two no-operations and a time stamp, and nothing else.
    if let [1, 1, 8, 10, stamps @ ..] = bytes
        && let Some(stamps) = stamps.first_chunk::<8>()
        && bytes.len() == 12
    {
        return TcpOptions { timestamps: Some(pair(stamps)), ..TcpOptions::default() };
    }
    any_options(bytes)
}

fn any_options(mut bytes: &[u8]) -> TcpOptions {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const MSS: u8 = 2;
    const WINDOW_SCALE: u8 = 3;
    const SACK_PERMITTED: u8 = 4;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    let mut found = TcpOptions::default();
    while let [kind, rest @ ..] = bytes {
        match *kind {
            END => break,
            NO_OPERATION => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some(value) = rest.first().and_then(|&length| bytes.get(2..usize::from(length))) else { break };
        match (*kind, value) {
            (MSS, [high, low]) => found.mss = Some(u16::from_be_bytes([*high, *low])),
            (WINDOW_SCALE, [shift]) => found.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => found.sack_permitted = true,
            (SACK, ranges) => {
                for range in ranges.as_chunks::<8>().0 {
                    let (left, right) = pair(range);
                    found.sack.push(left, right);
                }
            }
            (TIMESTAMPS, stamps) => found.timestamps = stamps.first_chunk().map(pair),
            _ => {}
        }
        bytes = &bytes[value.len() + 2..];
    }
    found
}

#[inline]
fn pair(bytes: &[u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}
