//! Packets without their payload, and without their addresses.

/// Protocol numbers (IANA): TCP and UDP.
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// TCP options that hold no address (RFC 9293, RFC 7323, RFC 2018): end, no operation, segment size, window scale, SACK permitted, SACK, time stamps.
const PLAIN_OPTIONS: [u8; 7] = [0, 1, 2, 3, 4, 5, 8];
const NO_OPERATION: u8 = 1;

/// The place of the transport header, and its protocol; nothing of a packet without one.
fn transport(packet: &[u8]) -> Option<(usize, u8)> {
    match packet.first()? >> 4 {
        4 => Some((usize::from(packet[0] & 0xf) * 4, *packet.get(9)?)),
        6 => Some((IPV6_HEADER, *packet.get(6)?)),
        _ => None,
    }
    .filter(|(at, protocol)| *at >= TCP_HEADER && [TCP, UDP].contains(protocol) && packet.len() > *at)
}

/// Leaves the headers of a packet that begins with IP. Whether it has any.
pub fn cut(packet: &mut Vec<u8>) -> bool {
    let Some((at, protocol)) = transport(packet) else { return false };
    let length = match packet.get(at + 12) {
        _ if protocol == UDP => UDP_HEADER,
        Some(offset) => usize::from(offset >> 4) * 4,
        None => return false,
    };
    packet.truncate(at + length.max(UDP_HEADER));
    true
}

/// Replaces both addresses of a packet that [`cut`] has cut, and what else reveals them: checksums, options of IPv4, unusual options of TCP.
pub fn replace_addresses(packet: &mut [u8], mut replace: impl FnMut(&mut [u8])) {
    let Some((at, protocol)) = transport(packet) else { return };
    if packet[0] >> 4 == 4 {
        packet[10..12].fill(0);
        replace(&mut packet[12..16]);
        replace(&mut packet[16..20]);
        packet[20..at].fill(0);
    } else {
        replace(&mut packet[8..24]);
        replace(&mut packet[24..40]);
    }
    let checksum = if protocol == TCP { at + 16 } else { at + 6 };
    if let Some(checksum) = packet.get_mut(checksum..checksum + 2) {
        checksum.fill(0);
    }
    if protocol == TCP && packet.len() > at + TCP_HEADER {
        blank_options(&mut packet[at + TCP_HEADER..]);
    }
}

/// Replaces options other than the plain ones by no operation: a path of Multipath TCP announces addresses (RFC 8684).
fn blank_options(options: &mut [u8]) {
    let mut at = 0;
    while at < options.len() {
        let length = match options[at] {
            0 => return options[at..].fill(0),
            NO_OPERATION => 1,
            // An option that is cut ends the list.
            _ => options.get(at + 1).map_or(options.len(), |length| usize::from(*length).max(2)),
        };
        let end = (at + length).min(options.len());
        if !PLAIN_OPTIONS.contains(&options[at]) {
            options[at..end].fill(NO_OPERATION);
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 segment with time stamps and an option of Multipath TCP (ADD_ADDR of 192.0.2.1), and a payload.
    fn segment() -> Vec<u8> {
        let mut packet = vec![0x46, 0, 0, 0, 0, 1, 0, 0, 64, TCP, 0xab, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2];
        // The option "router alert" of IPv4.
        packet.extend([0x94, 4, 0, 0]);
        packet.extend([0x1f, 0x90, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0xa0, 0x10, 1, 0, 0xbe, 0xef, 0, 0]);
        packet.extend([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
        packet.extend([30, 8, 0x30, 1, 192, 0, 2, 1]);
        packet.extend(b"GET /secret");
        packet
    }

    #[test]
    fn no_payload_is_left() {
        let mut packet = segment();
        assert!(cut(&mut packet));
        assert_eq!(packet.len(), 24 + 40);
        let mut datagram = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        datagram.extend([0, 53, 0, 53, 0, 14, 1, 2]);
        datagram.extend(b"secret");
        assert!(cut(&mut datagram) && datagram.len() == 28);
        for other in
            [vec![], vec![0x45; 10], vec![0x10; 60], [&segment()[..9], &[1], &segment()[10..]].concat()]
        {
            assert!(!cut(&mut other.clone()), "{other:?}");
        }
    }

    #[test]
    fn nothing_that_depends_on_an_address_is_left_and_ports_and_times_are() {
        let mut packet = segment();
        cut(&mut packet);
        replace_addresses(&mut packet, |address| address.fill(7));
        assert_eq!(&packet[10..24], &[0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0]);
        assert_eq!(&packet[24..28], &[0x1f, 0x90, 0, 80]);
        assert_eq!(&packet[40..42], &[0, 0], "the checksum covers the addresses");
        assert_eq!(&packet[44..56], &[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
        assert_eq!(&packet[56..], &[NO_OPERATION; 8]);
        let mut cut_option = [30, 200, 1];
        blank_options(&mut cut_option);
        assert_eq!(cut_option, [NO_OPERATION; 3]);
    }
}
