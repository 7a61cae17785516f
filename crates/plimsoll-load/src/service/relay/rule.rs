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

use crate::failure::refused;

/// `struct nlmsghdr`: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// Rules are put before main's (32766), and each before the one made last: the kernel then finds its place at once.
const LAST_PRIORITY: u32 = 32_765;
/// The table that a rule leads to: the same as without it, should it ever match.
const RT_TABLE_MAIN: u32 = 254;
/// Attributes and values of `include/uapi/linux/fib_rules.h`.
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;
const NLMSG_ERROR: u16 = 2;

/// Leaves rules in the kernel of the network namespace that it was opened in.
pub(super) struct Rules {
    socket: OwnedFd,
    ipv4: bool,
    /// Tells the rules of several relays apart.
    relay: u32,
    made: u32,
    complained: bool,
}

impl Rules {
    /// A kept netlink socket, and proof that rules can be made with it.
    pub(super) fn open(relay: u32, ipv4: bool) -> Result<Self, Failure> {
        let failed = |error| refused("change the host's routing rules", error);
        let socket = open_socket().map_err(failed)?;
        let rules = Self { socket, ipv4, relay, made: 0, complained: false };
        rules.request(libc::RTM_NEWRULE, 0).map_err(failed)?;
        rules.request(libc::RTM_DELRULE, 0).map_err(failed)?;
        Ok(rules)
    }

    /// Leaves one more rule. Should the kernel refuse, it is said once, and the relay goes on.
    pub(super) fn add(&mut self) {
        let done = self.request(libc::RTM_NEWRULE, self.made);
        self.made += 1;
        if let (Err(error), false) = (done, self.complained) {
            eprintln!("relay: add a routing rule: {}", error.desc());
            self.complained = true;
        }
    }

    fn request(&self, kind: u16, nth: u32) -> nix::Result<()> {
        let message = message(kind, self.ipv4, self.relay, nth);
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

/// A request about the `nth` rule of a relay.
fn message(kind: u16, ipv4: bool, relay: u32, nth: u32) -> Vec<u8> {
    let source = source(ipv4, relay, nth);
    let family = if ipv4 { libc::AF_INET } else { libc::AF_INET6 } as u8;
    let mut message = Vec::with_capacity(80);
    let creates = if kind == libc::RTM_NEWRULE { libc::NLM_F_CREATE } else { 0 };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | creates) as u16;
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&nth.to_ne_bytes());
    message.extend_from_slice(&[0; 4]);
    // struct fib_rule_hdr: family, dst_len, src_len, tos, table, res1, res2, action, flags.
    message.extend_from_slice(&[
        family,
        0,
        (source.len() * 8) as u8,
        0,
        RT_TABLE_MAIN as u8,
        0,
        0,
        FR_ACT_TO_TBL,
    ]);
    message.extend_from_slice(&[0; 4]);
    attribute(&mut message, FRA_SRC, &source);
    attribute(&mut message, FRA_PRIORITY, &LAST_PRIORITY.saturating_sub(nth).max(1).to_ne_bytes());
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
    fn each_rule_has_a_source_of_its_own_and_stands_before_the_last() {
        let priority = |nth| message(libc::RTM_NEWRULE, true, 0, nth)[40..44].to_vec();
        assert_eq!(priority(0), LAST_PRIORITY.to_ne_bytes());
        assert_eq!(priority(1), (LAST_PRIORITY - 1).to_ne_bytes());
        assert_eq!(priority(1_000_000), 1u32.to_ne_bytes());
        assert_ne!(source(true, 0, 1), source(true, 1, 1));
        assert_eq!(source(true, 1, 5), [0xf0, 0x40, 0, 5]);
        assert_eq!(source(false, 1, 5), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5]);
    }

    #[test]
    fn a_message_states_its_own_length() {
        for ipv4 in [true, false] {
            let message = message(libc::RTM_DELRULE, ipv4, 3, 4);
            assert_eq!(message[..4], (message.len() as u32).to_ne_bytes());
            assert_eq!(message.len() % 4, 0);
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
