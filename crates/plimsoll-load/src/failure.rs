//! How what the system says becomes a [`Failure`].

use std::io;

use nix::errno::Errno;
use plimsoll_model::frame::Failure;

/// Requirement of a right over the network of a host.
pub(crate) const NET_ADMIN: &str = "CAP_NET_ADMIN over the host's network namespace";

/// The number of an error of the system that the standard library, or a library on top of it, hands on.
pub(crate) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EPROTO, Errno::from_raw)
}

/// A failure that has no kind of its own.
pub(crate) fn other(what: impl Into<String>, error: &impl ToString) -> Failure {
    Failure::Other { what: what.into(), error: error.to_string() }
}

/// The failure of a system call, with missing permission as a kind of its own.
pub(crate) fn refused(what: impl Into<String>, error: Errno) -> Failure {
    match error {
        Errno::EACCES | Errno::EPERM => Failure::Permission { what: what.into(), needs: None },
        error => other(what, &error.desc()),
    }
}

/// A refusal of a system call that takes a certain capability.
pub(crate) fn refused_without(needs: &str, what: impl Into<String>, error: Errno) -> Failure {
    match refused(what, error) {
        Failure::Permission { what, .. } => Failure::Permission { what, needs: Some(needs.to_owned()) },
        failure => failure,
    }
}
