//! What decoding a packet gives: what is handed on, or why it is not.

use plimsoll_model::packet::Transport;

/// Why a packet of the file is not among those handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// IP, with neither TCP nor UDP in it.
    OtherTransport,
    /// A fragment other than the first: it has no ports.
    LaterFragment,
    /// The capture kept too few bytes to see the ports and sequence numbers.
    Cut,
    /// The headers contradict themselves.
    Malformed,
    /// A link type that is not decoded here.
    UnknownLink(u32),
}

/// The fields of a frame that a [`Packet`] is made of.
pub(super) struct Decoded {
    pub(super) source: plimsoll_model::packet::Endpoint,
    pub(super) destination: plimsoll_model::packet::Endpoint,
    pub(super) transport: Transport,
    pub(super) is_fragment: bool,
    pub(super) ip_id: Option<u16>,
}
