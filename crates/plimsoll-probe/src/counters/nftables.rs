//! How many rules nftables has. Those of iptables-legacy are not among them.

use std::io;

use plimsoll_netlink::{SockProtocol, dump};

/// NFNL_SUBSYS_NFTABLES (linux/netfilter/nfnetlink.h) and NFT_MSG_GETRULE (linux/netfilter/nf_tables.h).
const GET_NFT_RULE: u16 = 10 << 8 | 7;

/// How many rules the nftables of the calling thread's network namespace have, over all families and tables.
pub(super) fn count_rules() -> io::Result<u64> {
    // `struct nfgenmsg`: the family, 0 for all, the version, 0, and no resource.
    let mut count = 0;
    dump(SockProtocol::NetlinkNetFilter, GET_NFT_RULE, &[0; 4], |_| count += 1)?;
    Ok(count)
}
