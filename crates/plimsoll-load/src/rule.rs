//! Routing-policy rules, left in the kernel one per connection.
//!
//! No packet matches them, for their source is an address of no host; but every route look-up that goes beyond the
//! local table walks past all of them (`fib_rules_lookup` in net/core/fib_rules.c). Only a fresh network namespace is rid
//! of them.

use std::io;

use plimsoll_model::frame::Failure;
use plimsoll_netlink::{Attributes, NLM_F_ACK, NLM_F_CREATE, SockProtocol, Socket, attribute, message};

use crate::failure::{NET_ADMIN, errno, refused_without};

/// Rules are put before main's (32766), and each before all that are there: the kernel then finds its place at once.
const LAST_PRIORITY: u32 = 32_765;
/// The table that a rule leads to: the same as without it, should it ever match.
const RT_TABLE_MAIN: u32 = 254;
/// Attributes and values of `include/uapi/linux/fib_rules.h`.
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;
/// `struct fib_rule_hdr`.
const RULE_HEADER: usize = 12;

/// Leaves rules in the kernel of the network namespace that it was opened in.
pub(crate) struct Rules {
    socket: Socket,
    ipv4: bool,
    /// Mark of this relay's rules.
    relay: u32,
    /// The priority of the next rule. Those of an earlier life of the relay are still there, and stay behind it.
    priority: u32,
    made: u32,
    complained: bool,
}

impl Rules {
    /// A kept netlink socket, and proof that rules can be made with it.
    pub(crate) fn open(relay: u32, ipv4: bool) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| refused_without(NET_ADMIN, "change the host's routing rules", errno(&error));
        let socket = Socket::open(SockProtocol::NetlinkRoute).map_err(failed)?;
        let lowest = lowest_priority(&socket, ipv4).map_err(failed)?;
        let priority = lowest.map_or(LAST_PRIORITY, |lowest| lowest.saturating_sub(1).max(1));
        let rules = Self { socket, ipv4, relay, priority, made: 0, complained: false };
        rules.request(libc::RTM_NEWRULE).map_err(failed)?;
        rules.request(libc::RTM_DELRULE).map_err(failed)?;
        Ok(rules)
    }

    /// Makes one more rule.
    pub(crate) fn make(&mut self) -> io::Result<()> {
        let done = self.request(libc::RTM_NEWRULE);
        self.made += 1;
        self.priority = self.priority.saturating_sub(1).max(1);
        done
    }

    /// Removes those that were made.
    pub(crate) fn take_back(&mut self) -> io::Result<()> {
        while self.made > 0 {
            self.made -= 1;
            self.priority += 1;
            self.request(libc::RTM_DELRULE)?;
        }
        Ok(())
    }

    /// Leaves one more rule. Should the kernel refuse, it is said once, and the relay goes on.
    pub(crate) fn add(&mut self) {
        if let (Err(error), false) = (self.make(), self.complained) {
            tracing::error!("relay: add a routing rule: {}", errno(&error).desc());
            self.complained = true;
        }
    }

    fn request(&self, kind: u16) -> io::Result<()> {
        let request = request(kind, self.ipv4, &source(self.ipv4, self.relay, self.made), self.priority);
        self.socket.ask(&request, 1)
    }
}

/// The lowest priority of the existing rules, except that of the local table (0) and those after main's.
fn lowest_priority(socket: &Socket, ipv4: bool) -> io::Result<Option<u32>> {
    let mut asked = [0; RULE_HEADER];
    asked[0] = family(ipv4);
    let mut lowest = None;
    socket.dump(libc::RTM_GETRULE, &asked, |rule| {
        if let Some(priority) = priority_of(rule)
            && (1..=LAST_PRIORITY).contains(&priority)
            && lowest.is_none_or(|lowest| priority < lowest)
        {
            lowest = Some(priority);
        }
    })?;
    Ok(lowest)
}

/// The priority of a rule; the kernel leaves it out where it is 0.
fn priority_of(rule: &[u8]) -> Option<u32> {
    attribute(rule.get(RULE_HEADER..)?, FRA_PRIORITY)?.try_into().ok().map(u32::from_ne_bytes)
}

fn family(ipv4: bool) -> u8 {
    (if ipv4 { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

/// A request about a rule.
fn request(kind: u16, ipv4: bool, source: &[u8], priority: u32) -> Vec<u8> {
    let creates = if kind == libc::RTM_NEWRULE { NLM_F_CREATE } else { 0 };
    // struct fib_rule_hdr: family, dst_len, src_len, tos, table, res1, res2, action, flags.
    let header =
        [family(ipv4), 0, (source.len() * 8) as u8, 0, RT_TABLE_MAIN as u8, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    let attributes = Attributes::new()
        .bytes(FRA_SRC, source)
        .bytes(FRA_PRIORITY, &priority.to_ne_bytes())
        .bytes(FRA_TABLE, &RT_TABLE_MAIN.to_ne_bytes());
    message(kind, NLM_F_ACK | creates, 0, &[&header[..], attributes.as_bytes()].concat())
}

/// An address that no packet comes from: of 240.0.0.0/4, reserved (RFC 1112, section 4), or of 100::/64, which is there
/// to be discarded (RFC 6666).
fn source(ipv4: bool, relay: u32, nth: u32) -> Vec<u8> {
    if ipv4 {
        // Room for 64 relays of four million connections each.
        let low = ((relay % 64) << 22) | (nth % (1 << 22));
        return (0xf000_0000 | low).to_be_bytes().into();
    }
    let mut address = vec![1, 0, 0, 0, 0, 0, 0, 0];
    address.extend_from_slice(&relay.to_be_bytes());
    address.extend_from_slice(&nth.to_be_bytes());
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_source_of_its_own() {
        assert_ne!(source(true, 0, 1), source(true, 1, 1));
        assert_eq!(source(true, 1, 5), [0xf0, 0x40, 0, 5]);
        assert_eq!(source(false, 1, 5), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5]);
    }

    #[test]
    fn a_request_states_its_own_length_and_the_priority() {
        for ipv4 in [true, false] {
            let request = request(libc::RTM_DELRULE, ipv4, &source(ipv4, 3, 4), 77);
            assert_eq!(request[..4], (request.len() as u32).to_ne_bytes());
            assert_eq!(request.len() % 4, 0);
            // `struct nlmsghdr` has 16 bytes.
            assert_eq!(priority_of(&request[16..]), Some(77));
        }
    }

    #[test]
    fn the_rules_of_this_machine_can_be_listed() {
        let socket = Socket::open(SockProtocol::NetlinkRoute).unwrap();
        for ipv4 in [true, false] {
            let lowest = lowest_priority(&socket, ipv4).unwrap();
            assert!(lowest.is_none_or(|lowest| (1..=LAST_PRIORITY).contains(&lowest)));
        }
    }
}
