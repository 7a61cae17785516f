//! How many rules iptables-legacy has: the tables of `ip_tables` and `ip6_tables`, which nftables does not list.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// IPT_SO_GET_INFO and IP6T_SO_GET_INFO (linux/netfilter_ipv4/ip_tables.h, netfilter_ipv6/ip6_tables.h).
const GET_INFO: libc::c_int = 64;
/// Bytes of `struct ipt_getinfo`, and where its parts stand: a name, the hooks of the table, and the number of its entries.
const INFO: usize = 84;
const NAME: usize = 32;
const HOOKS: usize = 32;
const ENTRIES: usize = 76;

/// The rules of all tables of the calling thread's network namespace; `None` if none is loaded, or without the right to ask.
/// A table is asked for by a name that the kernel lists, since any other would be made.
pub(super) fn count_rules(proc: &Path) -> Option<u64> {
    let net = super::net_directory(proc);
    let families = [
        (AddressFamily::Inet, libc::SOL_IP, "ip_tables_names"),
        (AddressFamily::Inet6, libc::SOL_IPV6, "ip6_tables_names"),
    ];
    let counts = families.into_iter().filter_map(|(family, level, file)| {
        let names = fs::read_to_string(net.join(file)).ok()?;
        let socket = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
        let rules: Vec<u64> =
            names.lines().filter_map(|table| rules(&info(&socket, level, table)?)).collect();
        (!rules.is_empty()).then(|| rules.iter().sum::<u64>())
    });
    counts.reduce(|all, more| all + more)
}

/// Information about a table, from the kernel.
fn info(socket: &OwnedFd, level: libc::c_int, table: &str) -> Option<[u8; INFO]> {
    let mut info = [0_u8; INFO];
    // The name ends with a zero.
    info.get_mut(..NAME - 1)?.get_mut(..table.len())?.copy_from_slice(table.as_bytes());
    let mut length = INFO as libc::socklen_t;
    #[expect(unsafe_code, reason = "nix does not have this option")]
    // SAFETY: the kernel reads and writes `length` bytes at most, which the array has.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, GET_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    (done == 0 && length as usize == INFO).then_some(info)
}

/// The rules of a table: its entries without the policy of each hook and the entry at its end.
fn rules(info: &[u8; INFO]) -> Option<u64> {
    let number = |at: usize| Some(u32::from_ne_bytes(*info.get(at..)?.first_chunk()?));
    Some(u64::from(number(ENTRIES)?.saturating_sub(number(HOOKS)?.count_ones() + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_the_end_of_a_table_are_no_rules() {
        let mut info = [0; INFO];
        // INPUT, FORWARD and OUTPUT: bits 1 to 3 (linux/netfilter.h), so that an empty table has four entries.
        info[HOOKS..HOOKS + 4].copy_from_slice(&0b1110_u32.to_ne_bytes());
        for (entries, expected) in [(4_u32, 0), (1004, 1000)] {
            info[ENTRIES..ENTRIES + 4].copy_from_slice(&entries.to_ne_bytes());
            assert_eq!(rules(&info), Some(expected));
        }
    }
}
