//! Translation of source addresses by a forwarding host, with nf_tables over netlink (nft(8); net/netfilter/nft_nat.c, nft_masq.c).
//!
//! The rules are made in the host's network namespace and go with it. A user namespace may make them, too.

use std::io;
use std::net::Ipv4Addr;

use nix::libc::{IPPROTO_TCP, IPPROTO_UDP};
use plimsoll_netlink::nft::{Batch, Kind, NFPROTO_IPV4, equal, expression, from_network, value};
use plimsoll_netlink::{self as netlink, Attributes, SockProtocol};
use serde::{Deserialize, Serialize};

/// A translation of addresses: which packets, and to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Translation {
    /// The networks that packets come from, each with the length of its prefix.
    pub(crate) sources: Vec<(Ipv4Addr, u8)>,
    /// First and last address of the pool; without a pool, the address of the link by which a packet leaves.
    pub(crate) pool: Option<(Ipv4Addr, Ipv4Addr)>,
    /// First and last port of the pool; without one, a free port is kept.
    pub(crate) ports: Option<(u16, u16)>,
}

const TABLE: &str = "plimsoll";
const CHAIN: &str = "nat";

/// Makes the rules in the network namespace of the calling thread.
pub(crate) fn make(translation: &Translation) -> io::Result<()> {
    let (batch, answers) = batch(translation);
    netlink::ask(SockProtocol::NetlinkNetFilter, &batch, answers)
}

fn batch(translation: &Translation) -> (Vec<u8>, u32) {
    // NFTA_TABLE_NAME; NFTA_CHAIN_TABLE, _NAME, _HOOK, _TYPE; NFTA_HOOK_HOOKNUM, _PRIORITY
    const NF_INET_POST_ROUTING: u32 = 4;
    const NF_IP_PRI_NAT_SRC: u32 = 100;
    let mut batch = Batch::new();
    batch.make(Kind::Table, &Attributes::new().text(1, TABLE));
    let hook = Attributes::new().number(1, NF_INET_POST_ROUTING).number(2, NF_IP_PRI_NAT_SRC);
    let chain = Attributes::new().text(1, TABLE).text(3, CHAIN).nested(4, &hook).text(7, "nat");
    batch.make(Kind::Chain, &chain);
    for source in &translation.sources {
        // Ports are those of a protocol that has some; anything else, such as ICMP, gets an address alone.
        for protocol in [IPPROTO_TCP, IPPROTO_UDP].into_iter().filter(|_| translation.ports.is_some()) {
            let protocol = u8::try_from(protocol).expect("a protocol's number has 8 bits");
            let start = [network(*source), of_protocol(protocol)].concat();
            batch.make(Kind::Rule, &rule(&start, translation, translation.ports));
        }
        batch.make(Kind::Rule, &rule(&network(*source), translation, None));
    }
    batch.finish()
}

/// A rule: what a packet must be, and what its source becomes.
fn rule(matches: &[Attributes], translation: &Translation, ports: Option<(u16, u16)>) -> Attributes {
    // NFTA_RULE_TABLE, _CHAIN, _EXPRESSIONS; NFTA_LIST_ELEM
    let action = translate(translation.pool, ports);
    let expressions = matches.iter().chain(&action);
    let list = expressions.fold(Attributes::new(), |list, expression| list.nested(1, expression));
    Attributes::new().text(1, TABLE).text(2, CHAIN).nested(4, &list)
}

/// Registers for values between expressions (enum nft_registers): one for each end of a range.
const ADDRESS: [u32; 2] = [1, 2];
const PORT: [u32; 2] = [3, 4];

/// The packet's source address is of this network.
fn network((network, prefix): (Ipv4Addr, u8)) -> Vec<Attributes> {
    from_network(ADDRESS[0], network, prefix)
}

/// The packet is of this protocol.
fn of_protocol(protocol: u8) -> Vec<Attributes> {
    // NFTA_META_DREG, _KEY
    const NFT_META_L4PROTO: u32 = 16;
    let load = Attributes::new().number(1, ADDRESS[0]).number(2, NFT_META_L4PROTO);
    vec![expression("meta", &load), equal(ADDRESS[0], &[protocol])]
}

/// Gives the packet a source address of the pool, or that of the link that it leaves by, and a port.
fn translate(pool: Option<(Ipv4Addr, Ipv4Addr)>, ports: Option<(u16, u16)>) -> Vec<Attributes> {
    let mut all = Vec::new();
    let mut set = |registers: [u32; 2], values: [&[u8]; 2]| {
        for (register, bytes) in registers.into_iter().zip(values) {
            // NFTA_IMMEDIATE_DREG, _DATA
            let data = Attributes::new().number(1, register).nested(2, &value(bytes));
            all.push(expression("immediate", &data));
        }
    };
    if let Some((first, last)) = pool {
        set(ADDRESS, [&first.octets(), &last.octets()]);
    }
    if let Some((first, last)) = ports {
        set(PORT, [&first.to_be_bytes(), &last.to_be_bytes()]);
    }
    all.push(match pool {
        Some(_) => {
            // NFTA_NAT_TYPE, _FAMILY, _REG_ADDR_MIN, _REG_ADDR_MAX, _REG_PROTO_MIN, _REG_PROTO_MAX
            const NFT_NAT_SNAT: u32 = 0;
            let data = Attributes::new().number(1, NFT_NAT_SNAT).number(2, u32::from(NFPROTO_IPV4));
            let data = data.number(3, ADDRESS[0]).number(4, ADDRESS[1]);
            expression(
                "nat",
                &if ports.is_some() { data.number(5, PORT[0]).number(6, PORT[1]) } else { data },
            )
        }
        None => {
            // NFTA_MASQ_FLAGS, _REG_PROTO_MIN, _REG_PROTO_MAX
            const NF_NAT_RANGE_PROTO_SPECIFIED: u32 = 1 << 1;
            let data = Attributes::new();
            let data = match ports {
                Some(_) => data.number(1, NF_NAT_RANGE_PROTO_SPECIFIED).number(2, PORT[0]).number(3, PORT[1]),
                None => data,
            };
            expression("masq", &data)
        }
    });
    all
}
