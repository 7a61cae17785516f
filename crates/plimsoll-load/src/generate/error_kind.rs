//! The kind under which an observation counts an error of the system. Storage loads have their own few, in `storage/worker.rs`.

use std::io;

use nix::errno::Errno;
use plimsoll_model::observation::ErrorKind;

/// The kind of an error number, before the connection is established or after.
pub(super) fn kind_of(error: Errno, established: bool) -> ErrorKind {
    match error {
        Errno::ECONNREFUSED => ErrorKind::Refused,
        Errno::ETIMEDOUT if established => ErrorKind::Timeout,
        Errno::ETIMEDOUT => ErrorKind::ConnectTimeout,
        Errno::EPROTO if established => ErrorKind::Garbage,
        Errno::EPROTO => ErrorKind::Handshake,
        Errno::ECONNRESET | Errno::EPIPE | Errno::ECONNABORTED => ErrorKind::Reset,
        Errno::EADDRNOTAVAIL | Errno::EADDRINUSE => ErrorKind::NoPort,
        Errno::EMFILE | Errno::ENFILE => ErrorKind::NoDescriptor,
        Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::ENETDOWN | Errno::EHOSTDOWN => {
            ErrorKind::Unreachable
        }
        _ => ErrorKind::Other,
    }
}

/// The kind of an error of the standard library, before the connection is established or after.
pub(super) fn kind_of_io(error: &io::Error, established: bool) -> ErrorKind {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock, _) if established => ErrorKind::Timeout,
        (io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock, _) => ErrorKind::ConnectTimeout,
        (io::ErrorKind::UnexpectedEof, _) => ErrorKind::Truncated,
        (io::ErrorKind::InvalidData, _) => ErrorKind::Garbage,
        (_, Some(number)) => kind_of(Errno::from_raw(number), established),
        _ => ErrorKind::Other,
    }
}
