//! How long clients are waited for, and how the kernel learns that more follows.

use std::time::Duration;

use nix::sys::socket::MsgFlags;

/// How long a client may take to send a head, from its first byte on.
pub(super) const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// How long a client is listened to after an answer that it may not have read yet.
pub(super) const LINGER: Duration = Duration::from_secs(2);
/// More follows at once; nothing is sent before a segment is full or the connection is closed.
pub(super) const MORE: MsgFlags = MsgFlags::from_bits_retain(libc::MSG_MORE);
