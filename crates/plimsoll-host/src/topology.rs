//! Addresses and interfaces of links, and the routes that follow from them. A pure function of the rig's description.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use crate::spec::RigSpec;

/// The private range that links are numbered from; each takes four addresses of it. Namespaces are closed worlds, so every rig uses
/// the same.
const RANGE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);
/// The private range of the addresses that hosts have beside those of their links: a network for each host that has some.
const OWN_RANGE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 0);
/// The length of such a network's prefix.
pub(crate) const OWN_PREFIX: u8 = 24;
/// The length of a link's network prefix: two hosts, the network, and its broadcast address.
pub(crate) const PREFIX: u8 = 30;
/// The kernel's index of a host's first interface. Asking for indices saves looking them up; the low ones may be taken, because some
/// modules put a device of theirs into every new namespace.
const FIRST_INDEX: u32 = 100;

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The host, by its place in the description.
    pub(crate) host: usize,
    /// The interface's name: `eth0` is a host's first link.
    pub(crate) interface: String,
    /// The interface's index in the host's kernel.
    pub(crate) index: u32,
    /// The interface's address.
    pub(crate) address: Ipv4Addr,
}

/// A link with its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The end at `a`, then the one at `b`.
    pub(crate) ends: [End; 2],
    /// The largest packet, in bytes; `None` for the kernel's choice.
    pub(crate) mtu: Option<u32>,
}

impl Link {
    /// The end at this host, and the end across.
    fn seen_from(&self, host: usize) -> Option<(&End, &End)> {
        match &self.ends {
            [near, far] if near.host == host => Some((near, far)),
            [far, near] if near.host == host => Some((near, far)),
            _ => None,
        }
    }
}

/// Route to addresses beyond the host's own links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The address or network to reach.
    pub(crate) to: Ipv4Addr,
    /// The length of the network's prefix; 32 for a single address.
    pub(crate) prefix: u8,
    /// The neighbour that forwards to it.
    pub(crate) via: Ipv4Addr,
    /// The link to that neighbour.
    pub(crate) link: usize,
}

/// First and last link of the path from one host to another.
#[derive(Clone, Copy, Debug)]
struct EndLinks {
    first: usize,
    last: usize,
}

/// All links of a rig, and all paths through it.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) links: Vec<Link>,
    /// By host: the network and number of the addresses that it has beside those of its links.
    own: Vec<Option<(Ipv4Addr, u32)>>,
    /// `ways[from][to]`: `None` from a host to itself, or without a path.
    ways: Vec<Vec<Option<EndLinks>>>,
}

impl Topology {
    /// Numbers the links and finds the paths. The description must be valid.
    pub(crate) fn new(spec: &RigSpec) -> Self {
        let mut interfaces = vec![0u32; spec.hosts.len()];
        let mut links = Vec::with_capacity(spec.links.len());
        let joined = spec.links.iter().filter_map(|l| Some((l, spec.position(&l.a)?, spec.position(&l.b)?)));
        for ((link, a, b), network) in joined.zip((u32::from(RANGE)..).step_by(4)) {
            let mut end = |host: usize, offset: u32| {
                let n = interfaces[host];
                interfaces[host] += 1;
                let address = Ipv4Addr::from(network + offset);
                End { host, interface: format!("eth{n}"), index: FIRST_INDEX + n, address }
            };
            links.push(Link { ends: [end(a, 1), end(b, 2)], mtu: link.mtu });
        }
        let forwards: Vec<bool> = spec.hosts.iter().map(|h| h.forward).collect();
        let ways = (0..spec.hosts.len()).map(|from| ways_from(from, &links, &forwards)).collect();
        let mut networks = (u32::from(OWN_RANGE)..).step_by(1 << (32 - OWN_PREFIX)).map(Ipv4Addr::from);
        let own =
            spec.hosts.iter().map(|h| Some((networks.next().filter(|_| h.addresses > 0)?, h.addresses)));
        Self { links, own: own.collect(), ways }
    }

    /// The addresses that a host has beside those of its links.
    pub(crate) fn own_addresses(&self, host: usize) -> impl DoubleEndedIterator<Item = Ipv4Addr> + use<> {
        let (network, count) = self.own[host].unwrap_or((OWN_RANGE, 0));
        (1..=count).map(move |n| Ipv4Addr::from(u32::from(network) + n))
    }

    /// The networks that a host's packets come from, each with the length of its prefix.
    pub(crate) fn sources(&self, host: usize) -> impl Iterator<Item = (Ipv4Addr, u8)> {
        let links = self.links.iter().filter_map(move |l| l.seen_from(host));
        links
            .map(|(near, _)| (near.address, 32))
            .chain(self.own[host].map(|(network, _)| (network, OWN_PREFIX)))
    }

    /// The links that end at this host.
    pub(crate) fn links_of(&self, host: usize) -> impl Iterator<Item = usize> {
        self.links.iter().enumerate().filter(move |(_, l)| l.seen_from(host).is_some()).map(|(n, _)| n)
    }

    /// The address of the host's first link.
    pub(crate) fn address(&self, host: usize) -> Option<Ipv4Addr> {
        self.links.iter().find_map(|l| l.seen_from(host)).map(|(near, _)| near.address)
    }

    /// Address of `host` on the last link of the path from `from`, if there is a path.
    pub(crate) fn address_towards(&self, from: usize, host: usize) -> Option<Ipv4Addr> {
        if from == host {
            return self.address(host);
        }
        let way = self.ways[from][host]?;
        self.links[way.last].seen_from(host).map(|(near, _)| near.address)
    }

    /// Routes of a host: to each address of each reachable host beyond its own links.
    pub(crate) fn routes(&self, from: usize) -> Vec<Route> {
        let foreign = self.links.iter().filter(|l| l.seen_from(from).is_none());
        let ends = foreign.flat_map(|l| &l.ends).map(|end| (end.host, end.address, 32));
        let own =
            self.own.iter().enumerate().filter_map(|(host, own)| Some((host, own.as_ref()?.0, OWN_PREFIX)));
        ends.chain(own).filter_map(|(host, to, prefix)| self.route(from, host, to, prefix)).collect()
    }

    fn route(&self, from: usize, host: usize, to: Ipv4Addr, prefix: u8) -> Option<Route> {
        let way = self.ways[from][host]?;
        let (_, next) = self.links[way.first].seen_from(from)?;
        Some(Route { to, prefix, via: next.address, link: way.first })
    }
}

/// Breadth first over the links in their order, through hosts that forward: the fewest links, and always the same ones.
fn ways_from(from: usize, links: &[Link], forwards: &[bool]) -> Vec<Option<EndLinks>> {
    let mut ways: Vec<Option<EndLinks>> = vec![None; forwards.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(host) = queue.pop_front() {
        if host != from && !forwards[host] {
            continue;
        }
        for (n, link) in links.iter().enumerate() {
            let Some((_, far)) = link.seen_from(host) else { continue };
            if far.host != from && ways[far.host].is_none() {
                ways[far.host] = Some(EndLinks { first: ways[host].map_or(n, |w| w.first), last: n });
                queue.push_back(far.host);
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::HostKind;

    use super::*;
    use crate::spec::{AgentStderr, HostSpec, LinkSpec};

    /// Hosts are single letters; capital ones forward.
    fn topology(hosts: &str, links: &[&str]) -> Topology {
        let hosts = hosts.chars().map(|c| HostSpec {
            forward: c.is_uppercase(),
            // `o` stands for a host with addresses of its own.
            addresses: if c == 'o' { 3 } else { 0 },
            ..HostSpec::new(c, HostKind::Namespace)
        });
        let links = links.iter().map(|l| LinkSpec::new(&l[..1], &l[1..]));
        Topology::new(&RigSpec {
            hosts: hosts.collect(),
            links: links.collect(),
            volumes: vec![],
            program: "agent".into(),
            args: vec![],
            stderr: AgentStderr::Inherit,
            supervisor: None,
        })
    }

    /// Forwards a packet as the hosts' kernels would; the number of links that it crossed.
    fn travel(topology: &Topology, from: usize, to: Ipv4Addr) -> Option<usize> {
        let mut at = from;
        for crossed in 0..=topology.links.len() {
            let own = |l: &&Link| l.seen_from(at).is_some();
            if topology.links.iter().any(|l| l.ends.iter().any(|e| e.host == at && e.address == to)) {
                return Some(crossed);
            }
            let connected = topology
                .links
                .iter()
                .filter(own)
                .find_map(|l| l.ends.iter().find(|e| e.address == to).map(|e| e.host));
            let routed = || {
                let route = topology.routes(at).into_iter().find(|r| r.to == to)?;
                topology.links[route.link].seen_from(at).map(|(_, far)| {
                    assert_eq!(far.address, route.via, "a route leads to the neighbour on its own link");
                    far.host
                })
            };
            at = connected.or_else(routed)?;
        }
        None
    }

    #[test]
    fn in_a_row_the_ends_reach_each_other_through_the_middle() {
        let row = topology("cFs", &["cF", "Fs"]);
        let server = Ipv4Addr::new(10, 77, 0, 6);
        assert_eq!(row.address_towards(0, 2), Some(server));
        assert_eq!(row.address_towards(0, 1), Some(Ipv4Addr::new(10, 77, 0, 2)));
        assert_eq!(row.address_towards(2, 1), Some(Ipv4Addr::new(10, 77, 0, 5)));
        assert_eq!(travel(&row, 0, server), Some(2));
        assert_eq!(travel(&row, 2, Ipv4Addr::new(10, 77, 0, 1)), Some(2));
        assert_eq!(row.routes(1), [], "the middle has both networks on its own links");
        assert_eq!(row.links[1].ends[0].interface, "eth1");
    }

    #[test]
    fn a_host_that_does_not_forward_is_no_way_through() {
        let row = topology("cfs", &["cf", "fs"]);
        assert_eq!(row.address_towards(0, 2), None);
        let route = Route { to: [10, 77, 0, 5].into(), prefix: 32, via: [10, 77, 0, 2].into(), link: 0 };
        assert_eq!(row.routes(0), [route]);
    }

    #[test]
    fn addresses_beside_those_of_links_are_routed_as_one_network() {
        let row = topology("oFs", &["oF", "Fs"]);
        let own: Vec<Ipv4Addr> = row.own_addresses(0).collect();
        assert_eq!(own, [1, 2, 3].map(|n| Ipv4Addr::new(10, 78, 0, n)));
        assert_eq!(row.own_addresses(1).count(), 0);
        let towards = |from: usize, via: [u8; 4], link| {
            let route = Route { to: [10, 78, 0, 0].into(), prefix: 24, via: via.into(), link };
            assert!(row.routes(from).contains(&route), "{:?}", row.routes(from));
        };
        towards(1, [10, 77, 0, 1], 0);
        towards(2, [10, 77, 0, 5], 1);
        assert!(row.routes(0).iter().all(|route| route.prefix == 32), "none to itself");
        let sources: Vec<_> = row.sources(0).collect();
        assert_eq!(sources, [([10, 77, 0, 1].into(), 32), ([10, 78, 0, 0].into(), 24)]);
    }

    #[test]
    fn every_address_is_reached_over_the_fewest_links() {
        // (hosts, links, the most links between any two hosts)
        let rigs: [(&str, &[&str], usize); 4] = [
            ("ABCDE", &["AB", "BC", "CD", "DE", "EA"], 2),
            ("abcX", &["aX", "bX", "cX"], 2),
            ("ABCDEF", &["AB", "BC", "CD", "DE", "EF", "AF", "AD"], 3),
            ("AB", &["AB", "AB"], 1),
        ];
        for (hosts, links, diameter) in rigs {
            let rig = topology(hosts, links);
            let mut longest = 0;
            for from in 0..hosts.len() {
                for to in 0..hosts.len() {
                    let address = rig.address_towards(from, to).expect("all are joined");
                    let crossed = travel(&rig, from, address).expect("routes lead there");
                    longest = longest.max(crossed);
                }
            }
            assert_eq!(longest, diameter, "in {links:?}");
        }
    }

    #[test]
    fn hosts_that_no_link_joins_have_no_way_and_no_address() {
        let rig = topology("ABc", &["AB"]);
        assert_eq!(rig.address_towards(0, 2), None);
        assert_eq!(rig.address(2), None);
        assert_eq!(rig.links_of(0).collect::<Vec<_>>(), [0]);
    }
}
