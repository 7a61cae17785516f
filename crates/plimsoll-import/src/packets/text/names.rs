//! Hosts and ports that tcpdump prints as names.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plimsoll_model::packet::Endpoint;

/// No more names than this get an address: memory must not grow with the file.
const MOST: usize = 1 << 16;

/// Where addresses for names are taken from: 240.0.0.0/4 is reserved (RFC 1112) and seen on no wire.
const RESERVED: u32 = 0xf000_0000;

/// Addresses for host names. A name server is not asked: a name that is no address gets an address of no host.
#[derive(Default)]
pub(super) struct Names {
    invented: HashMap<String, IpAddr>,
}

impl Names {
    /// The endpoint that `host.port` names.
    pub(super) fn endpoint(&mut self, (host, port): (&str, &str)) -> Option<Endpoint> {
        let port = port.parse().ok().or_else(|| service(port))?;
        Some(Endpoint { address: self.address(host)?, port })
    }

    fn address(&mut self, host: &str) -> Option<IpAddr> {
        if let Ok(address) = host.parse() {
            return Some(address);
        }
        match host {
            "localhost" => return Some(Ipv4Addr::LOCALHOST.into()),
            "ip6-localhost" | "localhost6" => return Some(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        if let Some(address) = self.invented.get(host) {
            return Some(*address);
        }
        let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if !is_name || !host.bytes().any(|byte| byte.is_ascii_alphabetic()) || self.invented.len() >= MOST {
            return None;
        }
        let address = Ipv4Addr::from(RESERVED + 1 + self.invented.len() as u32).into();
        self.invented.insert(host.to_owned(), address);
        Some(address)
    }

    /// Every name that got an address of its own, in the order met.
    pub(super) fn into_invented(self) -> Vec<(IpAddr, String)> {
        let mut invented: Vec<_> = self.invented.into_iter().map(|(name, address)| (address, name)).collect();
        invented.sort();
        invented
    }
}

/// The port of a service by its name in the registry of IANA.
fn service(name: &str) -> Option<u16> {
    SERVICES.binary_search_by_key(&name, |&(known, _)| known).ok().map(|at| SERVICES[at].1)
}

/// Names that captures of the last decades show, sorted.
const SERVICES: [(&str, u16); 62] = [
    ("amqp", 5672),
    ("auth", 113),
    ("bgp", 179),
    ("bootpc", 68),
    ("bootps", 67),
    ("chargen", 19),
    ("daytime", 13),
    ("discard", 9),
    ("domain", 53),
    ("echo", 7),
    ("epmd", 4369),
    ("finger", 79),
    ("ftp", 21),
    ("ftp-data", 20),
    ("git", 9418),
    ("gopher", 70),
    ("http", 80),
    ("http-alt", 8080),
    ("https", 443),
    ("imap", 143),
    ("imap2", 143),
    ("imaps", 993),
    ("ipp", 631),
    ("irc", 194),
    ("ircd", 6667),
    ("iscsi-target", 3260),
    ("kerberos", 88),
    ("ldap", 389),
    ("ldaps", 636),
    ("loc-srv", 135),
    ("mdns", 5353),
    ("microsoft-ds", 445),
    ("ms-sql-s", 1433),
    ("mysql", 3306),
    ("netbios-ns", 137),
    ("netbios-ssn", 139),
    ("nfs", 2049),
    ("nntp", 119),
    ("ntp", 123),
    ("pop3", 110),
    ("pop3s", 995),
    ("postgresql", 5432),
    ("printer", 515),
    ("radius", 1812),
    ("rsync", 873),
    ("rtsp", 554),
    ("shell", 514),
    ("sip", 5060),
    ("sip-tls", 5061),
    ("smtp", 25),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("socks", 1080),
    ("ssh", 22),
    ("submission", 587),
    ("submissions", 465),
    ("sunrpc", 111),
    ("svn", 3690),
    ("telnet", 23),
    ("time", 37),
    ("webcache", 8080),
    ("x11", 6000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_names_are_sorted_for_the_search() {
        assert!(SERVICES.is_sorted());
    }

    #[test]
    fn a_name_keeps_its_invented_address() {
        let mut names = Names::default();
        let first = names.endpoint(("alpha.example", "http")).unwrap();
        let other = names.endpoint(("beta.example", "http")).unwrap();
        assert_ne!(first.address, other.address);
        assert_eq!(names.endpoint(("alpha.example", "80")), Some(first));
        assert_eq!(names.into_invented()[0], (first.address, "alpha.example".to_owned()));
    }

    #[test]
    fn what_is_no_name_gets_no_address() {
        let mut names = Names::default();
        assert_eq!(names.endpoint(("10.0.0", "1")), None);
        assert_eq!(names.endpoint(("a(b", "80")), None);
        assert_eq!(names.endpoint(("10.0.0.1", "nosuchservice")), None);
    }
}
