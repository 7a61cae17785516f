//! Packets and look-ups that go past rules, none of which fits.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use plimsoll_model::frame::Failure;
use plimsoll_netlink::nft::{Batch, Kind, from_network};
use plimsoll_netlink::{Attributes, SockProtocol, ask};

use super::Path;
use crate::failure::{NET_ADMIN, errno, other, refused_without};
use crate::rule::Rules;

/// Mark of these rules, which relays do not use.
const OWN: u32 = 63;
/// An address of no host at all (RFC 5737): each look-up of it goes past the local table.
const ELSEWHERE: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 51, 100, 1), 9);
/// Another address of no host; no packet comes from here.
const NOBODY: Ipv4Addr = Ipv4Addr::new(240, 0, 0, 1);

fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| refused_without(NET_ADMIN, what, errno(&error))
}

/// Look-ups of a route, by connect(2) of a datagram socket, which sends nothing.
pub(super) struct Routing {
    socket: UdpSocket,
    rules: Rules,
}

impl Routing {
    pub(super) fn prepare(among: u32) -> Result<Self, Failure> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
        let socket = socket.map_err(|error| other("open a socket", &error))?;
        let mut path = Self { socket, rules: Rules::open(OWN, true)? };
        for _ in 0..among {
            path.rules.make().map_err(failed("change the host's routing rules"))?;
        }
        Ok(path)
    }
}

impl Path for Routing {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            match self.socket.connect(ELSEWHERE) {
                // Where no route leads there, all rules were asked as well.
                Err(error) if error.kind() == io::ErrorKind::NetworkUnreachable => {}
                other => other.map_err(|error| errno(&error))?,
            }
        }
        Ok(())
    }
}

impl Drop for Routing {
    fn drop(&mut self) {
        // The rules end with the host's network in any case.
        self.rules.take_back().ok();
    }
}

const TABLE: &str = "plimsoll-path";
const CHAIN: &str = "out";
/// Each rule is acknowledged, and acknowledgements have to fit into the socket's buffer.
const RULES_AT_ONCE: u32 = 64;

/// Datagrams over loopback, past rules for outgoing packets.
pub(super) struct Filter {
    socket: UdpSocket,
    _table: Table,
}

impl Filter {
    pub(super) fn prepare(among: u32) -> Result<Self, Failure> {
        let table = Table::make(among).map_err(failed("make rules of nftables"))?;
        let own = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.connect(socket.local_addr()?)?;
            Ok(socket)
        };
        let socket = own().map_err(|error| other("open a socket", &error))?;
        Ok(Self { socket, _table: table })
    }
}

impl Path for Filter {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        let mut byte = [b'.'];
        for _ in 0..times {
            self.socket.send(&byte).map_err(|error| errno(&error))?;
            self.socket.recv(&mut byte).map_err(|error| errno(&error))?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        1
    }
}

/// A table of nftables that goes when it is dropped.
struct Table;

impl Table {
    fn make(rules: u32) -> io::Result<Self> {
        // NFTA_TABLE_NAME; NFTA_CHAIN_TABLE, _NAME, _HOOK, _TYPE; NFTA_HOOK_HOOKNUM, _PRIORITY; NFTA_RULE_TABLE, _CHAIN, _EXPRESSIONS;
        // NFTA_LIST_ELEM
        const NF_INET_LOCAL_OUT: u32 = 3;
        let mut batch = Batch::new();
        batch.make(Kind::Table, &Attributes::new().text(1, TABLE));
        let hook = Attributes::new().number(1, NF_INET_LOCAL_OUT).number(2, 0);
        let chain = Attributes::new().text(1, TABLE).text(3, CHAIN).nested(4, &hook).text(7, "filter");
        batch.make(Kind::Chain, &chain);
        send(batch)?;
        let table = Self;
        let expressions = from_network(1, NOBODY, 32);
        let list = expressions.iter().fold(Attributes::new(), |list, expression| list.nested(1, expression));
        let rule = Attributes::new().text(1, TABLE).text(2, CHAIN).nested(4, &list);
        let mut left = rules;
        while left > 0 {
            let mut batch = Batch::new();
            let now = left.min(RULES_AT_ONCE);
            (0..now).for_each(|_| batch.make(Kind::Rule, &rule));
            send(batch)?;
            left -= now;
        }
        Ok(table)
    }
}

fn send(batch: Batch) -> io::Result<()> {
    let (bytes, answers) = batch.finish();
    ask(SockProtocol::NetlinkNetFilter, &bytes, answers)
}

impl Drop for Table {
    fn drop(&mut self) {
        let mut batch = Batch::new();
        batch.remove_table(TABLE);
        // It ends with the host's network in any case.
        send(batch).ok();
    }
}
