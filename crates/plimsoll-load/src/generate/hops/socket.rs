//! The socket of a prober: it sends datagrams that expire on their way, and takes the answers of those who dropped them.
//!
//! The kernel queues ICMP errors of a socket that asks for them (`IP_RECVERR`, ip(7)), each with who sent it, what it quotes of the
//! datagram, and when it arrived. It takes no privilege, as a raw socket would.

use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt, sockopt};
use nix::time::{ClockId, clock_gettime};
use plimsoll_model::experiment::HopsLoad;

use crate::clock;

/// linux/errqueue.h
const FROM_ICMP: u8 = 2;
/// linux/icmp.h
const TIME_EXCEEDED: u8 = 11;
/// The headers of an answer: IP and ICMP, and those of IP and UDP that it quotes.
const HEADERS: usize = 28 + 28;
/// Room for the answers that arrive while the prober is not scheduled, in bytes.
const BUFFER: usize = 1 << 20;
/// The most tries of a datagram: each news of an earlier one, delivered as an error, takes a try.
const TRIES: u32 = 16;

/// A hop's answer to a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    /// The port that the probe went to.
    pub(super) port: u16,
    /// The answering address.
    pub(super) from: Ipv4Addr,
    /// Whether the probe expired there; else it came to its end.
    pub(super) expired: bool,
    /// The length of the answer, in bytes with the IP header.
    pub(super) bytes: u32,
    /// When it arrived, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub(super) at_ns: u64,
}

/// The socket.
pub(super) struct ProbeSocket {
    socket: UdpSocket,
    target: Ipv4Addr,
    payload: Vec<u8>,
}

impl ProbeSocket {
    /// Opens a socket for probes of up to `largest` bytes.
    pub(super) fn open(source: Ipv4Addr, target: Ipv4Addr, largest: u32) -> io::Result<Self> {
        let socket = UdpSocket::bind((source, 0))?;
        setsockopt(&socket, sockopt::Ipv4RecvErr, &true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER)?;
        never_fragment(&socket)?;
        let payload = vec![0; (largest - HopsLoad::SMALLEST) as usize];
        Ok(Self { socket, target, payload })
    }

    /// Sends a probe of `bytes` bytes, with the IP header, that may cross `ttl` links. Returns the time of sending, in
    /// nanoseconds of CLOCK_MONOTONIC_RAW.
    pub(super) fn send(&self, port: u16, ttl: u32, bytes: u32) -> io::Result<u64> {
        let to = SocketAddrV4::new(self.target, port);
        let payload = &self.payload[..(bytes - HopsLoad::SMALLEST) as usize];
        self.socket.set_ttl(ttl)?;
        let mut tries = 0;
        loop {
            let now = clock::now();
            tries += 1;
            match self.socket.send_to(payload, to) {
                Ok(_) => return Ok(now),
                Err(error) if tries < TRIES && is_news(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next answer that has arrived; `None` if there is none.
    pub(super) fn receive(&self) -> io::Result<Option<Reply>> {
        let mut quoted = [0; 2048];
        // Of each: its header, what it carries, and the offender's address behind the error.
        let mut control = nix::cmsg_space!([u8; 64], [u8; 32]);
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        loop {
            let mut parts = [io::IoSliceMut::new(&mut quoted)];
            let message =
                match recvmsg::<SockaddrIn>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
                    Ok(message) => message,
                    Err(Errno::EINTR) => continue,
                    Err(Errno::EAGAIN) => {
                        // An error that stands without an entry in the queue would make the socket look ready for ever.
                        self.socket.take_error()?;
                        return Ok(None);
                    }
                    Err(error) => return Err(error.into()),
                };
            let (now, real) = (clock::now(), real_now());
            let (mut error, mut stamp) = (None, None);
            for part in message.cmsgs()? {
                match part {
                    ControlMessageOwned::Ipv4RecvErr(what, who) => error = Some((what, who)),
                    ControlMessageOwned::ScmTimestampns(at) => {
                        stamp = Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64);
                    }
                    _ => {}
                }
            }
            let (Some((what, Some(who))), Some(to)) = (error, message.address) else { continue };
            if what.ee_origin != FROM_ICMP {
                continue;
            }
            // Counted from when the kernel had it, not from when this process came to see it.
            let age = stamp.map_or(0, |stamp| real.saturating_sub(stamp));
            return Ok(Some(Reply {
                port: to.port(),
                from: Ipv4Addr::from(u32::from_be(who.sin_addr.s_addr)),
                expired: what.ee_type == TIME_EXCEEDED,
                bytes: (message.bytes + HEADERS) as u32,
                at_ns: now.saturating_sub(age),
            }));
        }
    }
}

impl AsFd for ProbeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether an error of a call is the news of an earlier probe. The answer itself is in the queue.
fn is_news(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw),
        Some(
            Errno::ECONNREFUSED
                | Errno::EHOSTUNREACH
                | Errno::ENETUNREACH
                | Errno::EPROTO
                | Errno::EACCES
                | Errno::EINTR
        )
    )
}

fn real_now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_REALTIME).expect("the clock is there since the first Linux");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// A probe in pieces would measure something else (`IP_PMTUDISC_PROBE`, ip(7)).
fn never_fragment(socket: &UdpSocket) -> io::Result<()> {
    let value = libc::IP_PMTUDISC_PROBE;
    #[expect(unsafe_code, reason = "nix does not know the option")]
    // SAFETY: the value lives across the call, and its length is passed.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
