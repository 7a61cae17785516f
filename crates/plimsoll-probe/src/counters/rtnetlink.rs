//! Routes, routing rules, neighbours and queueing disciplines, from dumps over rtnetlink(7): one request returns every object of a kind.

use std::collections::BTreeMap;
use std::io;

use plimsoll_netlink::{SockProtocol, Socket, attribute, dump};

/// Objects that route netlink can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteObject {
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
pub(super) fn count_route_objects(object: RouteObject) -> io::Result<u64> {
    // The kernel's `struct rtmsg`, `fib_rule_hdr` and `ndmsg` have 12 bytes and begin with the family; 0 is all of them.
    let mut count = 0;
    dump(SockProtocol::NetlinkRoute, object.request(), &[0; 12], |_| count += 1)?;
    Ok(count)
}

/// Counts of the queueing disciplines of one kind, over all interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    /// Packets that were dropped.
    pub(super) drops: u64,
    /// How often a packet had to wait because its rate was used up.
    pub(super) overlimits: u64,
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

/// A socket to ask for what routes and queues the calling thread's network namespace has.
pub(super) fn route_socket() -> io::Result<Socket> {
    Socket::open(SockProtocol::NetlinkRoute)
}

/// Counts of the queueing disciplines of a network namespace, by their kinds: `tbf`, `netem`.
pub(super) fn queueing_disciplines(route: &Socket) -> io::Result<BTreeMap<String, QueueCounts>> {
    let mut kinds: BTreeMap<String, QueueCounts> = BTreeMap::new();
    route.dump(libc::RTM_GETQDISC, &[0; TCMSG], |message| {
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

#[cfg(test)]
mod tests {
    use plimsoll_netlink::Attributes;

    use super::*;

    #[test]
    fn the_counts_of_a_queueing_discipline_are_found_among_its_attributes() {
        let queue: Vec<u8> = [0_u32, 0, 7, 0, 900].iter().flat_map(|number| number.to_ne_bytes()).collect();
        let statistics = Attributes::new().bytes(TCA_STATS_QUEUE, &queue);
        let all = Attributes::new().text(TCA_KIND, "tbf").bytes(2, &[0; 5]);
        let all = all.bytes(TCA_STATS2, statistics.as_bytes());
        let all = all.as_bytes();
        let expected = QueueCounts { drops: 7, overlimits: 900 };
        assert_eq!(discipline(all), Some(("tbf".to_owned(), expected)));
        assert_eq!(discipline(&all[..all.len() - 3]), None, "it is cut off");
        assert_eq!(discipline(&[0; 16]), None, "an attribute without a length");
        queueing_disciplines(&route_socket().unwrap()).expect("a dump");
    }

    #[test]
    fn every_machine_has_its_three_rules() {
        // Local, main and default (net/ipv4/fib_rules.c, `fib_default_rules_init`).
        assert!(count_route_objects(RouteObject::Rule).expect("a dump of rules") >= 3);
    }
}
