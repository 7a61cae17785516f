//! Addresses at which existing machines reach each other.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plimsoll_model::experiment::Address;
use plimsoll_model::frame::Greeting;

use super::RemoteHost;
use super::error::{ErrorKind, RemoteError};

/// The addresses of all hosts of a rig.
#[derive(Debug)]
pub(super) struct Network {
    hosts: BTreeMap<String, Reachability>,
}

#[derive(Debug)]
struct Reachability {
    said: Option<Address>,
    own: Vec<IpAddr>,
    reached_at: Option<IpAddr>,
    /// The network address of all hosts that share a loopback interface.
    network: String,
}

impl Network {
    /// Network of these hosts. Addresses that a machine does not report as its own must be among the user's targets.
    pub(super) fn new<'h>(
        hosts: impl Iterator<Item = (&'h RemoteHost, &'h Greeting)>,
        targets: &[IpAddr],
    ) -> Result<Self, RemoteError> {
        let place = |(host, greeting): (&RemoteHost, &Greeting)| {
            let place = Reachability {
                said: host.address.clone(),
                own: greeting.addresses.clone(),
                reached_at: greeting.reached_at.filter(|at| greeting.addresses.contains(at)),
                network: greeting.network.clone(),
            };
            (host.name.clone(), place)
        };
        let network = Self { hosts: hosts.map(place).collect() };
        for (name, place) in &network.hosts {
            let said = place.said.iter().flat_map(Address::all);
            let allowed = |address: &IpAddr| {
                targets.contains(address)
                    || place.own.contains(address)
                    || address.is_loopback() && network.is_one()
            };
            if let Some(address) = said.into_iter().find(|address| !allowed(address)) {
                return Err(ErrorKind::ForeignAddress { address, own: place.own.clone() }.of(name));
            }
        }
        Ok(network)
    }

    /// Whether all hosts share one loopback interface.
    fn is_one(&self) -> bool {
        self.hosts.values().map(|place| &place.network).collect::<BTreeSet<_>>().len() <= 1
    }

    pub(super) fn address(&self, from: &str, to: &str) -> Result<IpAddr, ErrorKind> {
        if from == to {
            return Ok(match self.listen(to)? {
                all if all.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                one => one,
            });
        }
        let place = self.place(to)?;
        if let Some(said) = place.said.as_ref().and_then(|address| address.towards(from)) {
            return Ok(said);
        }
        if self.place(from)?.network == place.network {
            return Ok(Ipv4Addr::LOCALHOST.into());
        }
        place.found().ok_or_else(|| ErrorKind::NoAddress { own: place.own.clone() })
    }

    pub(super) fn listen(&self, host: &str) -> Result<IpAddr, ErrorKind> {
        let place = self.place(host)?;
        let others = self.hosts.keys().filter(|other| *other != host);
        let reached: BTreeSet<IpAddr> =
            others.map(|other| self.address(other, host)).collect::<Result<_, _>>()?;
        let own = |address: &IpAddr| place.own.contains(address) || address.is_loopback();
        let mut reached = reached.into_iter();
        Ok(match (reached.next(), reached.next()) {
            (None, _) => Ipv4Addr::LOCALHOST.into(),
            (Some(one), None) if own(&one) => one,
            (Some(IpAddr::V6(_)), _) | (_, Some(IpAddr::V6(_))) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        })
    }

    fn place(&self, host: &str) -> Result<&Reachability, ErrorKind> {
        self.hosts.get(host).ok_or(ErrorKind::NoPipes)
    }
}

impl Reachability {
    /// The address at which it was reached, or its only one.
    fn found(&self) -> Option<IpAddr> {
        let only = |of: &dyn Fn(&&IpAddr) -> bool| {
            let mut all = self.own.iter().filter(of);
            let first = all.next().copied();
            first.filter(|_| all.next().is_none())
        };
        self.reached_at.or_else(|| only(&|own| own.is_ipv4())).or_else(|| only(&|_| true))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::experiment::Reach;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn host(name: &str, address: Option<Address>) -> RemoteHost {
        let (reach, lost_after) = (Reach::Command(vec!["x".into()]), Duration::from_secs(30));
        RemoteHost { name: name.into(), reach, address, may_be_root: false, lost_after }
    }

    fn greeting(network: &str, addresses: &[&str]) -> Greeting {
        let addresses = addresses.iter().map(|one| ip(one)).collect();
        Greeting { network: network.into(), addresses, ..Greeting::default() }
    }

    fn network(hosts: &[(RemoteHost, Greeting)], targets: &[IpAddr]) -> Result<Network, RemoteError> {
        Network::new(hosts.iter().map(|(host, greeting)| (host, greeting)), targets)
    }

    #[test]
    fn an_address_that_is_not_the_machines_is_refused_unless_the_user_named_it() {
        let hosts = [
            (host("client", None), greeting("1", &["192.0.2.1"])),
            (
                host("server", Some(Address::One(ip("203.0.113.9")))),
                greeting("2", &["192.0.2.2", "198.51.100.2"]),
            ),
        ];
        let error = network(&hosts, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "host server: its address should be 203.0.113.9, but the machine has 192.0.2.2, 198.51.100.2"
        );
        assert!(error.advice().unwrap().contains("--allow-target 203.0.113.9"));
        let allowed = network(&hosts, &[ip("203.0.113.9")]).unwrap();
        assert_eq!(allowed.address("client", "server").unwrap(), ip("203.0.113.9"));
        assert_eq!(
            allowed.listen("server").unwrap(),
            ip("0.0.0.0"),
            "it cannot listen on an address that it has not"
        );
    }

    #[test]
    fn a_loopback_address_leads_to_another_machine_only_where_there_is_one() {
        let to_itself = Some(Address::One(ip("127.0.0.1")));
        let apart =
            [(host("a", None), greeting("1", &[])), (host("b", to_itself.clone()), greeting("2", &[]))];
        assert!(network(&apart, &[]).is_err());
        let one = [(host("a", None), greeting("1", &[])), (host("b", to_itself), greeting("1", &[]))];
        assert_eq!(network(&one, &[]).unwrap().address("a", "b").unwrap(), ip("127.0.0.1"));
    }

    #[test]
    fn what_the_file_does_not_say_is_found() {
        let reached = Greeting {
            reached_at: Some(ip("198.51.100.2")),
            ..greeting("2", &["192.0.2.2", "198.51.100.2"])
        };
        let hosts = [
            (host("client", None), greeting("1", &["192.0.2.1", "2001:db8::1"])),
            (host("server", None), reached),
            (host("third", None), greeting("3", &["192.0.2.3", "198.51.100.3"])),
        ];
        let network = network(&hosts, &[]).unwrap();
        assert_eq!(network.address("client", "server").unwrap(), ip("198.51.100.2"), "where it was reached");
        assert_eq!(network.listen("server").unwrap(), ip("198.51.100.2"), "and nowhere else");
        assert_eq!(network.address("server", "client").unwrap(), ip("192.0.2.1"), "its only one of IPv4");
        let error = network.address("client", "third").unwrap_err().of("third");
        assert!(error.to_string().contains("192.0.2.3, 198.51.100.3"), "{error}");
        assert_eq!(error.advice().unwrap(), "`hosts.third.address`");
    }

    #[test]
    fn a_machine_that_is_reached_at_two_addresses_listens_on_all() {
        let by =
            Address::By([("a".to_owned(), ip("192.0.2.9")), ("b".to_owned(), ip("198.51.100.9"))].into());
        let hosts = [
            (host("a", None), greeting("1", &["192.0.2.1"])),
            (host("b", None), greeting("2", &["198.51.100.1"])),
            (host("s", Some(by)), greeting("3", &["192.0.2.9", "198.51.100.9"])),
        ];
        let network = network(&hosts, &[]).unwrap();
        assert_eq!(network.address("a", "s").unwrap(), ip("192.0.2.9"));
        assert_eq!(network.address("b", "s").unwrap(), ip("198.51.100.9"));
        assert_eq!(network.listen("s").unwrap(), ip("0.0.0.0"));
        assert_eq!(network.address("s", "s").unwrap(), ip("127.0.0.1"));
    }
}
