//! Packet sockets: every frame that one interface receives, and frames sent from it (packet(7)).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, RecvMsg, recvmsg, send, setsockopt, sockopt};

/// linux/if_packet.h
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Bytes of the receive buffer, enough for bursts while the reader is not scheduled.
const BUFFER: usize = 16 << 20;

/// Which way frames leave an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// By its queueing discipline, which may delay or lose them.
    ThroughQueue,
    /// At once.
    PastQueue,
}

/// A packet socket that is bound to an interface.
pub(crate) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// On an interface of the namespace of this process. It does not see what is sent from the interface.
    pub(crate) fn open(interface: &str, sending: Sending) -> io::Result<Self> {
        let all = i32::from((libc::ETH_P_ALL as u16).to_be());
        #[expect(unsafe_code, reason = "nix cannot make packet sockets of a chosen protocol")]
        // SAFETY: socket(2) takes three numbers and returns a new descriptor or -1.
        let fd = unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, all)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        #[expect(unsafe_code, reason = "the descriptor is known by its number alone")]
        // SAFETY: it was just returned by socket(2), and nothing else has it.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        let index = if_nametoindex(interface)?;
        socket.set(PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(PACKET_QDISC_BYPASS, i32::from(sending == Sending::PastQueue))?;
        // More than the machine's limit needs privilege over its first network namespace, which a user namespace lacks.
        if setsockopt(&socket.0, sockopt::RcvBufForce, &BUFFER).is_err() {
            setsockopt(&socket.0, sockopt::RcvBuf, &BUFFER)?;
        }
        setsockopt(&socket.0, sockopt::ReceiveTimestampns, &true)?;
        socket.bind(index)?;
        Ok(socket)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
            sll_ifindex: index.cast_signed(),
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        #[expect(unsafe_code, reason = "nix has no way to make such an address")]
        // SAFETY: the address lives across the call, and its length is passed.
        let done = unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn set(&self, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        #[expect(unsafe_code, reason = "nix does not know the options of packet sockets")]
        // SAFETY: the value lives across the call, and its length is passed.
        let done = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), libc::SOL_PACKET, option, (&raw const value).cast(), length)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Length and arrival of the next frame, in nanoseconds of CLOCK_REALTIME; `None` if there is no frame.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, u64)>> {
        match self.try_receive(buffer) {
            // The interface went down: it is being removed with its host, and nothing more will come.
            Err(nix::Error::ENETDOWN) => Ok(None),
            other => Ok(other?),
        }
    }

    fn try_receive(&self, buffer: &mut [u8]) -> nix::Result<Option<(usize, u64)>> {
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let mut parts = [io::IoSliceMut::new(buffer)];
        let message: RecvMsg<'_, '_, ()> =
            match recvmsg(self.0.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT) {
                Ok(message) => message,
                Err(nix::Error::EAGAIN) => return Ok(None),
                Err(error) => return Err(error),
            };
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(at) => {
                Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
            }
            _ => None,
        });
        Ok(Some((message.bytes, stamp.unwrap_or(0))))
    }

    /// Waits for a frame, and returns its length. An interface that is gone is reported once, by an error.
    pub(crate) fn wait(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((length, _)) = self.try_receive(buffer)? {
                return Ok(length);
            }
            match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sends a frame. One that the interface does not take is lost, as on any wire whose end was pulled out.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        send(self.0.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT).is_ok()
    }

    /// Number of frames since the last call for which the kernel had no room.
    pub(crate) fn overruns(&self) -> u64 {
        // `struct tpacket_stats`: packets, drops.
        let mut counts = [0u32; 2];
        let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
        #[expect(unsafe_code, reason = "nix does not know the options of packet sockets")]
        // SAFETY: the kernel writes at most as many bytes as the length says, which are there.
        let done = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut length,
            )
        };
        if done == 0 { u64::from(counts[1]) } else { 0 }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
