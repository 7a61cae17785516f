//! Questions to the kernel by netlink(7) whose messages are made here: the few for which no crate has types.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeVal;

/// linux/netlink.h
const NLM_F_REQUEST: u16 = 0x1;
pub(crate) const NLM_F_ACK: u16 = 0x4;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_CREATE: u16 = 0x400;
const NLA_F_NESTED: u16 = 1 << 15;
/// The length of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Whatever the kernel does, an answer is not waited for longer than this.
const PATIENCE_S: i64 = 5;

/// Sends these messages in the network namespace of the calling thread, and waits for so many answers.
pub(crate) fn ask(protocol: SockProtocol, messages: &[u8], answers: u32) -> io::Result<()> {
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(PATIENCE_S, 0))?;
    sendto(socket.as_raw_fd(), messages, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    hear(&socket, answers)
}

/// Waits for that many answers; the first that tells of an error ends it.
fn hear(socket: &OwnedFd, answers: u32) -> io::Result<()> {
    const NLMSG_ERROR: u16 = 2;
    let mut buffer = [0; 8192];
    let mut heard = 0;
    while heard < answers {
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some((size, kind, body)) = next_message(rest) {
            if kind == NLMSG_ERROR {
                // `struct nlmsgerr` begins with a negative error number, or 0.
                let error = body.first_chunk().map_or(-(Errno::EBADMSG as i32), |n| i32::from_ne_bytes(*n));
                if error != 0 {
                    return Err(io::Error::from_raw_os_error(-error));
                }
                heard += 1;
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
    }
    Ok(())
}

/// The size, type and body of the message at the start.
fn next_message(bytes: &[u8]) -> Option<(usize, u16, &[u8])> {
    let size = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    Some((size, kind, bytes.get(HEADER..size)?))
}

/// One message: `struct nlmsghdr`, and what follows it.
pub(crate) fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).expect("a message is short");
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(body);
    bytes
}

/// Attributes: length, type and value of each, padded to four bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        const HEADER: usize = 4;
        let length = u16::try_from(HEADER + value.len()).expect("an attribute is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// A number in network byte order, as netfilter has them, and nobody else.
    pub(crate) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    /// A text, with the zero that ends it.
    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    pub(crate) fn nested(self, kind: u16, inner: &Self) -> Self {
        self.bytes(NLA_F_NESTED | kind, &inner.0)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_and_their_length_says_what_is_value() {
        let attributes = Attributes::new().text(1, "nat").number(2, 7).bytes(3, &[9]);
        let length = |n: u16| n.to_ne_bytes();
        let expected = [
            [length(8), length(1)].concat(),
            b"nat\0".to_vec(),
            [length(8), length(2)].concat(),
            vec![0, 0, 0, 7],
            [length(5), length(3)].concat(),
            vec![9, 0, 0, 0],
        ];
        assert_eq!(attributes.0, expected.concat());
    }
}
