//! Receives datagrams, several at a time where the kernel has them together (`UDP_GRO`).

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use plimsoll_model::frame::Failure;

use super::desk::Desk;
use crate::clock::{self, CpuTime};
use crate::failure::{other, refused};
use crate::transfer::packet::Label;

/// The longest that the kernel gives at a time, in bytes.
const LONGEST: usize = 64 << 10;
/// The receive buffer that is asked for, in bytes; the kernel gives no more than `net.core.rmem_max`.
const BUFFER: usize = 8 << 20;
/// Calls between two readings of the CPU time.
const CPU_EVERY: u32 = 64;

/// A socket for datagrams, at the address that connections come to.
pub(super) struct Receiver {
    socket: UdpSocket,
    desk: Arc<Desk>,
}

impl Receiver {
    pub(super) fn bind(address: SocketAddr, desk: Arc<Desk>) -> Result<Self, Failure> {
        let socket = UdpSocket::bind(address).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => Failure::AddressInUse { address },
            _ => other(format!("take datagrams at {address}"), &error),
        })?;
        let what = "prepare the socket for datagrams";
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER).map_err(|error| refused(what, error))?;
        // A kernel that does not know it gives one datagram at a time.
        setsockopt(&socket, sockopt::UdpGroSegment, &true).ok();
        Ok(Self { socket, desk })
    }

    /// Receives until the process ends.
    pub(super) fn receive(&self) {
        let mut buffer = vec![0; LONGEST];
        let mut control = nix::cmsg_space!(i32);
        for turn in 0u32.. {
            let (length, segment) = match self.next(&mut buffer, &mut control) {
                Ok(got) => got,
                Err(Errno::EINTR | Errno::ECONNREFUSED | Errno::EAGAIN) => continue,
                Err(error) => {
                    tracing::error!("bulk: datagrams cannot be received any more: {error}");
                    return;
                }
            };
            let now_ns = clock::now();
            let labels = buffer[..length].chunks(segment.max(1)).filter_map(Label::read);
            let mut flows = self.desk.flows();
            flows.arrive(labels, now_ns);
            if turn.is_multiple_of(CPU_EVERY) {
                flows.cpu_us = CpuTime::of_this_thread().total_us();
            }
        }
    }

    /// Received bytes, and the length of each datagram in them.
    fn next(&self, buffer: &mut [u8], control: &mut [u8]) -> nix::Result<(usize, usize)> {
        let mut parts = [IoSliceMut::new(buffer)];
        let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(control), MsgFlags::empty())?;
        let segment = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::UdpGroSegments(length) => usize::try_from(length).ok(),
            _ => None,
        });
        Ok((message.bytes, segment.unwrap_or(message.bytes)))
    }
}
