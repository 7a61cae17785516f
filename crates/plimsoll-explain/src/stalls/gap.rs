//! A silence, with what was known when it began and the packet that ended it.

use plimsoll_model::packet::Segment;

use super::rtt::Rtt;

/// The last data that a side sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastData {
    /// Bytes in it.
    pub(super) payload: u32,
    /// Whether it carried PSH: the sender had nothing more to add.
    pub(super) pushed: bool,
}

/// Who has to act next in a conversation, by who spoke last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastWord {
    /// Nobody has sent data.
    None,
    /// The side that ended the silence.
    Own,
    /// The other side.
    Other,
}

/// A silence that a packet of the side `by` ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the client ended it.
    pub(super) by_client: bool,
    /// The packet that ended it.
    pub(super) segment: Segment,
    pub(super) last_word: LastWord,
    /// What the side that ended it had sent before.
    pub(super) own_data: Option<LastData>,
    /// Bytes that it had in flight.
    pub(super) in_flight: u32,
    /// What the other side's window left it.
    pub(super) usable_window: Option<u32>,
    /// The window that the other side had announced.
    pub(super) window: Option<u32>,
    /// The largest window that it ever announced.
    pub(super) largest_window: u32,
    /// The payload of a full segment of the side that ended it.
    pub(super) segment_size: u32,
    /// Whether the other side had closed before.
    pub(super) other_closed: bool,
    /// Requests that the server had answered.
    pub(super) answered: u32,
    /// Whether the client sends without waiting for answers.
    pub(super) one_way: bool,
    pub(super) rtt: Option<Rtt>,
    /// Since when nothing that the side had sent was in flight, and it had heard all that it answers: the persist timer of data that is
    /// held back runs from then on at the earliest.
    pub(super) free_since: u64,
    /// The smoothed round trip that the sender's own timer goes by, in nanoseconds.
    pub(super) felt: u64,
}

impl Gap {
    pub(super) fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// An acknowledgement, or a window, that came after a silence. Whether anybody waited for it shows in what follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct LateAck {
    /// The silence; `by_client` tells who acknowledged, the other figures are those of the side that may have waited.
    pub(super) gap: Gap,
    /// Bytes that it acknowledged.
    pub(super) acked: u32,
    /// How soon after it the other side sent.
    pub(super) followed_after: u64,
}
