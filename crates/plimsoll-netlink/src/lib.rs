//! Netlink requests to the kernel (netlink(7)) whose messages are built here: the few for which no crate has types, or
//! for which types would cost more than the answer.

mod attributes;
pub mod nft;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
pub use nix::sys::socket::SockProtocol;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockType, recv, sendto, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

pub use self::attributes::{Attributes, attribute};

/// linux/netlink.h
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
/// The kernel is to say whether it has done what was asked.
pub const NLM_F_ACK: u16 = 0x4;
/// The requested object must not exist yet.
pub const NLM_F_EXCL: u16 = 0x200;
/// The requested object is created.
pub const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The length of `struct nlmsghdr`: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// Whatever the kernel does, an answer is not waited for longer than this.
const PATIENCE_S: i64 = 5;
/// The kernel fills at most 32 KiB of a dump at a time (net/netlink/af_netlink.c, `netlink_dump`).
const BUFFER: usize = 32 << 10;

/// A way to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Opens one.
    ///
    /// # Errors
    /// When the kernel has no such protocol, or no descriptor to give.
    pub fn open(protocol: SockProtocol) -> io::Result<Self> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(PATIENCE_S, 0))?;
        Ok(Self(socket))
    }

    /// Sends these messages, and waits for `answers` acknowledgements.
    ///
    /// # Errors
    /// What the kernel answers to the first message that it refuses.
    pub fn ask(&self, messages: &[u8], answers: u32) -> io::Result<()> {
        self.send(messages)?;
        let mut buffer = [0; 8192];
        let mut heard = 0;
        while heard < answers {
            let length = self.receive(&mut buffer)?;
            each_message(&buffer[..length], |kind, payload| {
                if kind == NLMSG_ERROR {
                    heard += 1;
                    refusal(payload)?;
                }
                Ok(false)
            })?;
        }
        Ok(())
    }

    /// Asks for all objects of a kind (RFC 3549), and hands what each message is about to `each`.
    ///
    /// # Errors
    /// When the kernel refuses, or what it says is no netlink message.
    pub fn dump(&self, kind: u16, payload: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.send(&message(kind, NLM_F_DUMP, 0, payload))?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = self.receive(&mut buffer)?;
            if each_of_dump(&buffer[..length], &mut each)? {
                return Ok(());
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        sendto(self.0.as_raw_fd(), bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(self.0.as_raw_fd(), buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                received => return Ok(received?),
            }
        }
    }
}

/// Sends these messages in the network namespace of the calling thread, and waits for `answers` acknowledgements.
///
/// # Errors
/// As [`Socket::open`] and [`Socket::ask`].
pub fn ask(protocol: SockProtocol, messages: &[u8], answers: u32) -> io::Result<()> {
    Socket::open(protocol)?.ask(messages, answers)
}

/// Asks for all objects of a kind in the network namespace of the calling thread.
///
/// # Errors
/// As [`Socket::open`] and [`Socket::dump`].
pub fn dump(protocol: SockProtocol, kind: u16, payload: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
    Socket::open(protocol)?.dump(kind, payload, each)
}

/// One message: `struct nlmsghdr`, and what follows it.
///
/// # Panics
/// When it is longer than four gigabytes.
pub fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
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

/// Hands the kind and the payload of each message of a datagram to `take`, until that says that it was the last one, and tells whether it did.
fn each_message(
    mut datagram: &[u8],
    mut take: impl FnMut(u16, &[u8]) -> io::Result<bool>,
) -> io::Result<bool> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "netlink message with a wrong length");
    if datagram.len() < HEADER {
        return Err(broken());
    }
    while let Some(header) = datagram.first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let payload = datagram.get(HEADER..length).ok_or_else(broken)?;
        if take(u16::from_ne_bytes([header[4], header[5]]), payload)? {
            return Ok(true);
        }
        // Messages are aligned to four bytes; the last one of a datagram may be cut short of that.
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Takes a part of a dump; true when it was the last one.
fn each_of_dump(datagram: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    each_message(datagram, |kind, payload| match kind {
        NLMSG_DONE | NLMSG_ERROR => refusal(payload).map(|()| true),
        _ => {
            each(payload);
            Ok(false)
        }
    })
}

/// `struct nlmsgerr`, and what ends a dump, begin with a negative error number, or 0.
fn refusal(payload: &[u8]) -> io::Result<()> {
    match payload.first_chunk().map(|number| i32::from_ne_bytes(*number)) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Err(Errno::EBADMSG.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = message(kind, 0, 0, payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn messages_of_uneven_length_are_separated() {
        let mut lengths = Vec::new();
        let datagram = [answer(24, &[1; 5]), answer(24, &[2; 8])].concat();
        assert!(!each_of_dump(&datagram, &mut |payload| lengths.push(payload.len())).expect("whole"));
        assert_eq!(lengths, [5, 8]);
    }

    #[test]
    fn an_error_differs_from_the_end() {
        let error = answer(NLMSG_ERROR, &(-2_i32).to_ne_bytes());
        let error = each_of_dump(&error, &mut |_| ()).expect_err("ENOENT");
        assert_eq!(error.raw_os_error(), Some(Errno::ENOENT as i32));
        let end = answer(NLMSG_DONE, &0_i32.to_ne_bytes());
        assert!(each_of_dump(&end, &mut |_| ()).expect("the end"));
        each_of_dump(&answer(NLMSG_ERROR, &[]), &mut |_| ()).expect_err("an error without a number");
    }

    #[test]
    fn garbage_is_an_error_and_no_endless_loop() {
        for datagram in [vec![], vec![1, 2, 3], vec![0; 16], vec![255; 64]] {
            each_of_dump(&datagram, &mut |_| ()).expect_err("no netlink message");
        }
    }

    #[test]
    fn a_request_that_makes_no_sense_is_refused_by_the_kernel_itself() {
        // RTM_GETLINK of an interface that is not there: `struct ifinfomsg` with the index 2^31 - 1.
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
        let asked = ask(SockProtocol::NetlinkRoute, &message(18, NLM_F_ACK, 1, &body), 1);
        assert_eq!(asked.expect_err("no such interface").raw_os_error(), Some(Errno::ENODEV as i32));
    }
}
