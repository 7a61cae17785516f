//! Dumps over netlink (RFC 3549): ask once, and get every object of a kind.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket, sockopt,
};

/// Bytes of `struct nlmsghdr` (linux/netlink.h): length, type, flags, sequence, port.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;

/// The kernel fills at most 32 KiB of a dump at a time (net/netlink/af_netlink.c, `netlink_dump`).
const BUFFER: usize = 64 << 10;

/// Whatever the kernel does, a dump does not wait longer than this for its next part.
const PATIENCE_S: i64 = 5;

/// What route netlink can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteObject {
    /// Routing-policy rules, as `ip rule` shows them.
    Rule,
    /// Routes of all tables.
    Route,
    /// Neighbours: resolved link-layer addresses.
    Neighbour,
}

impl RouteObject {
    fn request(self) -> u16 {
        match self {
            Self::Rule => libc::RTM_GETRULE,
            Self::Route => libc::RTM_GETROUTE,
            Self::Neighbour => libc::RTM_GETNEIGH,
        }
    }
}

/// How many objects of a kind the calling thread's network namespace has, over all address families.
pub(crate) fn count_route_objects(object: RouteObject) -> io::Result<u64> {
    // The kernel's `struct rtmsg`, `fib_rule_hdr` and `ndmsg` have 12 bytes and begin with the family; 0 is all of them.
    let mut count = 0;
    dump(SockProtocol::NetlinkRoute, object.request(), &[0; 12], |_| count += 1)?;
    Ok(count)
}

/// What the queueing disciplines of one kind have counted, over all interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueCounts {
    /// Packets that were dropped.
    pub(crate) drops: u64,
    /// How often a packet had to wait because its rate was used up.
    pub(crate) overlimits: u64,
}

/// Attributes of a queueing discipline: linux/rtnetlink.h (TCA_KIND, TCA_STATS2), linux/gen_stats.h (TCA_STATS_QUEUE).
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// Bytes of `struct tcmsg`, behind which the attributes stand.
const TCMSG: usize = 20;
/// Where `struct gnet_stats_queue` has drops and overlimits.
const DROPS: usize = 8;
const OVERLIMITS: usize = 16;

/// What the queueing disciplines of the calling thread's network namespace have counted, by their kinds: `tbf`, `netem`.
pub(crate) fn queueing_disciplines() -> io::Result<BTreeMap<String, QueueCounts>> {
    let mut kinds: BTreeMap<String, QueueCounts> = BTreeMap::new();
    dump(SockProtocol::NetlinkRoute, libc::RTM_GETQDISC, &[0; TCMSG], |message| {
        let Some((kind, counts)) = message.get(TCMSG..).and_then(discipline) else { return };
        let known = kinds.entry(kind).or_default();
        known.drops += counts.drops;
        known.overlimits += counts.overlimits;
    })?;
    Ok(kinds)
}

/// The kind and the counts of a queueing discipline, from its attributes.
fn discipline(attributes: &[u8]) -> Option<(String, QueueCounts)> {
    let kind = attribute(attributes, TCA_KIND)?.split(|byte| *byte == 0).next()?;
    let queue = attribute(attribute(attributes, TCA_STATS2)?, TCA_STATS_QUEUE)?;
    let number = |at: usize| Some(u64::from(u32::from_ne_bytes(*queue.get(at..)?.first_chunk()?)));
    let counts = QueueCounts { drops: number(DROPS)?, overlimits: number(OVERLIMITS)? };
    Some((String::from_utf8_lossy(kind).into_owned(), counts))
}

/// The payload of the first attribute of a type (`struct rtattr`: its length with these four bytes, and its type).
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let header: &[u8; 4] = attributes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let payload = attributes.get(4..length)?;
        if u16::from_ne_bytes([header[2], header[3]]) == wanted {
            return Some(payload);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// NFNL_SUBSYS_NFTABLES (linux/netfilter/nfnetlink.h) and NFT_MSG_GETRULE (linux/netfilter/nf_tables.h).
const GET_NFT_RULE: u16 = 10 << 8 | 7;

/// How many rules the nftables of the calling thread's network namespace have, over all families and tables.
pub(crate) fn count_nft_rules() -> io::Result<u64> {
    // `struct nfgenmsg`: the family, 0 for all, the version, 0, and no resource.
    let mut count = 0;
    dump(SockProtocol::NetlinkNetFilter, GET_NFT_RULE, &[0; 4], |_| count += 1)?;
    Ok(count)
}

/// Asks for a dump and hands the payload of each message to `each`.
pub(crate) fn dump(
    protocol: SockProtocol,
    kind: u16,
    payload: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let socket = open(protocol)?;
    let mut request = Vec::with_capacity(HEADER + payload.len());
    request.extend(((HEADER + payload.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(payload);
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(length) => length,
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        if take_messages(&buffer[..length], &mut each)? {
            return Ok(());
        }
    }
}

fn open(protocol: SockProtocol) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &nix::sys::time::TimeVal::new(PATIENCE_S, 0))?;
    Ok(socket)
}

/// Takes a datagram apart; true when the dump is complete.
fn take_messages(mut datagram: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "netlink message with a wrong length");
    if datagram.len() < HEADER {
        return Err(broken());
    }
    while datagram.len() >= HEADER {
        let length = u32::from_ne_bytes([datagram[0], datagram[1], datagram[2], datagram[3]]) as usize;
        let kind = u16::from_ne_bytes([datagram[4], datagram[5]]);
        let payload = datagram.get(HEADER..length).ok_or_else(broken)?;
        match kind {
            NLMSG_DONE | NLMSG_ERROR => {
                let code = payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                return if code == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-code)) };
            }
            _ => each(payload),
        }
        // Messages are aligned to four bytes; the last one of a datagram may be cut short of that.
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + payload.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn messages_of_uneven_length_are_told_apart() {
        let mut lengths = Vec::new();
        let mut datagram = message(24, &[1; 5]);
        datagram.extend(message(24, &[2; 8]));
        assert!(!take_messages(&datagram, &mut |payload| lengths.push(payload.len())).expect("whole"));
        assert_eq!(lengths, [5, 8]);
    }

    #[test]
    fn an_error_and_the_end_are_told_apart() {
        let error =
            take_messages(&message(NLMSG_ERROR, &(-2_i32).to_ne_bytes()), &mut |_| ()).expect_err("ENOENT");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        assert!(take_messages(&message(NLMSG_DONE, &0_i32.to_ne_bytes()), &mut |_| ()).expect("the end"));
    }

    #[test]
    fn the_counts_of_a_queueing_discipline_are_found_among_its_attributes() {
        let attribute = |kind: u16, payload: &[u8]| {
            let mut bytes = ((4 + payload.len()) as u16).to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(payload);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let queue: Vec<u8> = [0_u32, 0, 7, 0, 900].iter().flat_map(|number| number.to_ne_bytes()).collect();
        let mut all = attribute(TCA_KIND, b"tbf\0");
        all.extend(attribute(2, &[0; 5]));
        all.extend(attribute(TCA_STATS2, &attribute(TCA_STATS_QUEUE, &queue)));
        let expected = QueueCounts { drops: 7, overlimits: 900 };
        assert_eq!(discipline(&all), Some(("tbf".to_owned(), expected)));
        assert_eq!(discipline(&all[..all.len() - 3]), None, "it is cut off");
        assert_eq!(discipline(&[0; 16]), None, "an attribute without a length");
        queueing_disciplines().expect("a dump");
    }

    #[test]
    fn garbage_is_an_error_and_no_endless_loop() {
        for datagram in [vec![], vec![1, 2, 3], vec![0; 16], vec![255; 64]] {
            take_messages(&datagram, &mut |_| ()).expect_err("no netlink message");
        }
    }

    #[test]
    fn every_machine_has_its_three_rules() {
        // Local, main and default (net/ipv4/fib_rules.c, `fib_default_rules_init`).
        assert!(count_route_objects(RouteObject::Rule).expect("a dump of rules") >= 3);
    }
}
