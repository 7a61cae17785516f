//! Routing-policy rules, left in the kernel one per connection.
//!
//! No packet matches them, for their source is an address that nobody has; but every route look-up that goes beyond the
//! local table walks past all of them (`fib_rules_lookup` in net/core/fib_rules.c). Only a fresh network namespace is rid
//! of them.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use plimsoll_model::frame::Failure;

use crate::failure::refused_without;

/// `struct nlmsghdr`: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// Rules are put before main's (32766), and each before all that are there: the kernel then finds its place at once.
const LAST_PRIORITY: u32 = 32_765;
/// The table that a rule leads to: the same as without it, should it ever match.
const RT_TABLE_MAIN: u32 = 254;
/// Attributes and values of `include/uapi/linux/fib_rules.h`.
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `struct fib_rule_hdr`.
const RULE_HEADER: usize = 12;

/// Leaves rules in the kernel of the network namespace that it was opened in.
pub(super) struct Rules {
    socket: OwnedFd,
    ipv4: bool,
    /// Tells the rules of several relays apart.
    relay: u32,
    /// The priority of the next rule. Those of an earlier life of the relay are still there, and stay behind it.
    priority: u32,
    made: u32,
    complained: bool,
}

impl Rules {
    /// A kept netlink socket, and proof that rules can be made with it.
    pub(super) fn open(relay: u32, ipv4: bool) -> Result<Self, Failure> {
        let failed = |error| {
            refused_without(
                "CAP_NET_ADMIN over the host's network namespace",
                "change the host's routing rules",
                error,
            )
        };
        let socket = open_socket().map_err(failed)?;
        let lowest = lowest_priority(&socket, ipv4).map_err(failed)?;
        let priority = lowest.map_or(LAST_PRIORITY, |lowest| lowest.saturating_sub(1).max(1));
        let rules = Self { socket, ipv4, relay, priority, made: 0, complained: false };
        rules.request(libc::RTM_NEWRULE).map_err(failed)?;
        rules.request(libc::RTM_DELRULE).map_err(failed)?;
        Ok(rules)
    }

    /// Leaves one more rule. Should the kernel refuse, it is said once, and the relay goes on.
    pub(super) fn add(&mut self) {
        let done = self.request(libc::RTM_NEWRULE);
        self.made += 1;
        self.priority = self.priority.saturating_sub(1).max(1);
        if let (Err(error), false) = (done, self.complained) {
            tracing::error!("relay: add a routing rule: {}", error.desc());
            self.complained = true;
        }
    }

    fn request(&self, kind: u16) -> nix::Result<()> {
        let message = message(kind, self.ipv4, &source(self.ipv4, self.relay, self.made), self.priority);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 512];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        acknowledged(&answer[..length])
    }
}

fn open_socket() -> nix::Result<OwnedFd> {
    let fd =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(fd)
}

/// What the kernel says to a request: an error number, 0 when it was carried out (netlink(7)).
fn acknowledged(answer: &[u8]) -> nix::Result<()> {
    let word = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match (kind, word(HEADER).map(i32::from_ne_bytes)) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(nix::Error::from_raw(-error)),
        _ => Err(nix::Error::EPROTO),
    }
}

/// The lowest priority of the rules that are there already, but for the one of the local table (0) and those after main's.
fn lowest_priority(socket: &OwnedFd, ipv4: bool) -> nix::Result<Option<u32>> {
    send(socket.as_raw_fd(), &dump_request(ipv4), MsgFlags::empty())?;
    let mut lowest = None;
    // As large as the kernel makes its part of a dump (NLMSG_GOODSIZE, at most 32 KiB).
    let mut answer = vec![0; 32 << 10];
    loop {
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        if priorities(&answer[..length], |priority| {
            if (1..=LAST_PRIORITY).contains(&priority) && lowest.is_none_or(|lowest| priority < lowest) {
                lowest = Some(priority);
            }
        })? {
            return Ok(lowest);
        }
    }
}

/// Tells the priority of each rule in a part of a dump. True when it was the last part.
fn priorities(mut part: &[u8], mut tell: impl FnMut(u32)) -> nix::Result<bool> {
    while let Some(header) = part.get(..HEADER) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let body = part.get(HEADER..length).ok_or(nix::Error::EPROTO)?;
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => acknowledged(part)?,
            libc::RTM_NEWRULE => {
                let priority = body.get(RULE_HEADER..).and_then(priority_of);
                tell(priority.unwrap_or(0));
            }
            _ => {}
        }
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The priority among the attributes of a rule; the kernel leaves it out where it is 0.
fn priority_of(mut attributes: &[u8]) -> Option<u32> {
    while let Some(&[low, high, kind_low, kind_high]) = attributes.first_chunk() {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = attributes.get(4..length)?;
        if u16::from_ne_bytes([kind_low, kind_high]) == FRA_PRIORITY {
            return value.try_into().ok().map(u32::from_ne_bytes);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// Asks for all rules of a family.
fn dump_request(ipv4: bool) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + RULE_HEADER);
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    message.extend_from_slice(&((HEADER + RULE_HEADER) as u32).to_ne_bytes());
    message.extend_from_slice(&libc::RTM_GETRULE.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.push(family(ipv4));
    message.extend_from_slice(&[0; RULE_HEADER - 1]);
    message
}

fn family(ipv4: bool) -> u8 {
    (if ipv4 { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

/// A request about a rule.
fn message(kind: u16, ipv4: bool, source: &[u8], priority: u32) -> Vec<u8> {
    let mut message = Vec::with_capacity(80);
    let creates = if kind == libc::RTM_NEWRULE { libc::NLM_F_CREATE } else { 0 };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | creates) as u16;
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    // struct fib_rule_hdr: family, dst_len, src_len, tos, table, res1, res2, action, flags.
    message.extend_from_slice(&[
        family(ipv4),
        0,
        (source.len() * 8) as u8,
        0,
        RT_TABLE_MAIN as u8,
        0,
        0,
        FR_ACT_TO_TBL,
    ]);
    message.extend_from_slice(&[0; 4]);
    attribute(&mut message, FRA_SRC, source);
    attribute(&mut message, FRA_PRIORITY, &priority.to_ne_bytes());
    attribute(&mut message, FRA_TABLE, &RT_TABLE_MAIN.to_ne_bytes());
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
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

/// `struct rtattr` and its value; the values used here are multiples of four bytes, so none needs padding.
fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = (value.len() + 4) as u16;
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
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
    fn a_message_states_its_own_length_and_the_priority() {
        for ipv4 in [true, false] {
            let message = message(libc::RTM_DELRULE, ipv4, &source(ipv4, 3, 4), 77);
            assert_eq!(message[..4], (message.len() as u32).to_ne_bytes());
            assert_eq!(message.len() % 4, 0);
            assert_eq!(priority_of(&message[HEADER + RULE_HEADER..]), Some(77));
        }
    }

    #[test]
    fn the_priorities_of_a_dump_are_told_up_to_its_end() {
        let rule = |priority| message(libc::RTM_NEWRULE, true, &source(true, 0, 0), priority);
        let mut done = vec![20, 0, 0, 0, 3, 0, 2, 0];
        done.extend([0; 12]);
        let told = |part: &[u8]| {
            let mut all = Vec::new();
            (priorities(part, |priority| all.push(priority)), all)
        };
        assert_eq!(told(&[rule(9), rule(4)].concat()), (Ok(false), vec![9, 4]));
        assert_eq!(told(&[rule(9), done].concat()), (Ok(true), vec![9]));
        assert_eq!(told(&rule(9)[..30]), (Err(nix::Error::EPROTO), vec![]));
    }

    #[test]
    fn the_rules_of_this_machine_can_be_listed() {
        let socket = open_socket().unwrap();
        for ipv4 in [true, false] {
            let lowest = lowest_priority(&socket, ipv4).unwrap();
            assert!(lowest.is_none_or(|lowest| (1..=LAST_PRIORITY).contains(&lowest)));
        }
    }

    #[test]
    fn refusals_are_told_from_consent_and_nonsense() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = vec![0; HEADER + 4];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[HEADER..].copy_from_slice(&error.to_ne_bytes());
            bytes
        };
        assert_eq!(acknowledged(&answer(NLMSG_ERROR, 0)), Ok(()));
        assert_eq!(acknowledged(&answer(NLMSG_ERROR, -1)), Err(nix::Error::EPERM));
        assert_eq!(acknowledged(&answer(7, 0)), Err(nix::Error::EPROTO));
        assert_eq!(acknowledged(&[]), Err(nix::Error::EPROTO));
    }
}
