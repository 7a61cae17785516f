//! The kinds of stall, and the sides of a connection.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a connection stood still. The names are a public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A request that got no answer until the client gave up, or until the capture ended.
    Unanswered,
    /// The receiver held an acknowledgement back, and the sender waited for it (typically 40 ms).
    DelayedAck,
    /// The sender's kernel held a partial segment back: Nagle, `TCP_CORK` or `MSG_MORE` (typically 200 ms).
    SenderHeld,
    /// The sender paused in the middle of its data, and the packets show no cause.
    SenderWaited,
    /// A retransmission timeout.
    Rto,
    /// A loss that duplicate acknowledgements or SACK brought to light.
    FastRetransmit,
    /// The last segment of a flight was lost, and only a timer could tell.
    TailLoss,
    /// The path delayed packets, and the sender sent again what had not been lost.
    PathDelay,
    /// A SYN was sent again because nothing answered.
    SynRetry,
    /// A SYN-ACK was sent again because nothing answered.
    SynackRetry,
    /// A SYN was not answered by a SYN-ACK because of an older connection with the same addresses and ports.
    SynIgnored,
    /// The receiver's window was closed.
    ZeroWindow,
    /// The receiver's window was open, but by less than the sender needed.
    SmallWindow,
    /// The server worked on a request.
    ServerThink,
    /// The client had nothing to ask.
    ClientIdle,
    /// The capture lacks the packets that would tell.
    CaptureGap,
}

impl Class {
    /// Every class, in the order of the reference.
    pub const ALL: [Self; 16] = [
        Self::Unanswered,
        Self::DelayedAck,
        Self::SenderHeld,
        Self::SenderWaited,
        Self::Rto,
        Self::FastRetransmit,
        Self::TailLoss,
        Self::PathDelay,
        Self::SynRetry,
        Self::SynackRetry,
        Self::SynIgnored,
        Self::ZeroWindow,
        Self::SmallWindow,
        Self::ServerThink,
        Self::ClientIdle,
        Self::CaptureGap,
    ];

    /// The public name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
            Self::DelayedAck => "delayed_ack",
            Self::SenderHeld => "sender_held",
            Self::SenderWaited => "sender_waited",
            Self::Rto => "rto",
            Self::FastRetransmit => "fast_retransmit",
            Self::TailLoss => "tail_loss",
            Self::PathDelay => "path_delay",
            Self::SynRetry => "syn_retry",
            Self::SynackRetry => "synack_retry",
            Self::SynIgnored => "syn_ignored",
            Self::ZeroWindow => "zero_window",
            Self::SmallWindow => "small_window",
            Self::ServerThink => "server_think",
            Self::ClientIdle => "client_idle",
            Self::CaptureGap => "capture_gap",
        }
    }

    /// Whether somebody had something to send in it. Else a side worked, or had nothing to say, or the packets do not
    /// show it.
    pub const fn held_up(self) -> bool {
        !matches!(self, Self::Unanswered | Self::ServerThink | Self::ClientIdle | Self::CaptureGap)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The side that had to act for a stall to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The side that opened the connection.
    Client,
    /// The side that it was opened to.
    Server,
    /// Neither: the network between them.
    Path,
    /// Neither: the capture has to be made again.
    Capture,
}

impl fmt::Display for Actor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Path => "path",
            Self::Capture => "capture",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_public_name_in_json() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
