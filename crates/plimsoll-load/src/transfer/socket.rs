//! Settings of sockets that carry bulk loads.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use plimsoll_model::experiment::BulkLoad;
use plimsoll_model::units::ByteSize;

use super::Patience;

/// The buffers of a socket, where they are asked for. They must be set before the handshake to count in its window scale (tcp(7)).
pub(crate) fn buffers(
    socket: &impl AsFd,
    send: Option<ByteSize>,
    receive: Option<ByteSize>,
) -> nix::Result<()> {
    let size = |bytes: ByteSize| usize::try_from(bytes.0).unwrap_or(usize::MAX);
    if let Some(bytes) = send {
        setsockopt(socket, sockopt::SndBuf, &size(bytes))?;
    }
    if let Some(bytes) = receive {
        setsockopt(socket, sockopt::RcvBuf, &size(bytes))?;
    }
    Ok(())
}

/// Socket options of a load, on a connection of either side.
///
/// # Errors
/// When the kernel refuses; for a congestion control that it does not have, `NotFound`, and for one that this user may not choose,
/// `PermissionDenied`.
pub(crate) fn prepare(stream: &TcpStream, load: &BulkLoad) -> io::Result<()> {
    buffers(stream, load.send_buffer, load.receive_buffer)?;
    if let Some(name) = &load.congestion {
        setsockopt(stream, sockopt::TcpCongestion, &name.into()).map_err(|error| match error {
            Errno::ENOENT => {
                let what = format!("this kernel has no congestion control `{name}`, or not for this user");
                io::Error::new(io::ErrorKind::NotFound, what)
            }
            Errno::EPERM => {
                let what = format!(
                    "the congestion control `{name}` is not among those of net.ipv4.tcp_allowed_congestion_control, and others \
                     need CAP_NET_ADMIN"
                );
                io::Error::new(io::ErrorKind::PermissionDenied, what)
            }
            error => error.into(),
        })?;
    }
    stream.set_nodelay(load.no_delay)?;
    stream.set_read_timeout(Some(Patience::POLL))?;
    stream.set_write_timeout(Some(Patience::POLL))
}
