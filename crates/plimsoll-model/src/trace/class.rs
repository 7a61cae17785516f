//! The kinds of stall, and the sides of a connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// Why a connection stood still. The names are a public contract.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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
    /// The last segment of a flight was lost, and only a timer could notice.
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
    /// The capture lacks the packets that would decide.
    CaptureGap,
}

impl Class {
    /// Every class, in the order of the reference.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The public name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a side had something to send in it. Else a side worked, or had nothing to say, or the packets do not
    /// show it.
    pub const fn held_up(self) -> bool {
        !matches!(self, Self::Unanswered | Self::ServerThink | Self::ClientIdle | Self::CaptureGap)
    }
}

/// The side that had to act for a stall to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_public_name_in_json() {
        for &class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
