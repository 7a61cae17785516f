//! The built-in sink for mail.

use super::{LARGEST_MESSAGE, ServicePlace, ServiceType};
use crate::experiment::prelude::*;

/// The built-in sink for mail: it takes messages, checks each against its checksum, and keeps a list of their ids.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpSinkService {
    /// How long it waits before it acknowledges a message.
    pub delay: Span,
    /// The share of messages that it refuses for now (451), by the flip of a coin at each attempt.
    pub defer: Share,
    /// The share of messages that it refuses for good (550).
    pub reject: Share,
    /// Grey-listing: a sender and recipient that were never seen together are refused for now (451), until this long after their first
    /// attempt (RFC 6647).
    pub greylist: Option<Span>,
    /// A time in which it is down: connections are refused, and those that are open are reset.
    pub outage: Option<Outage>,
    /// The longest message that it takes.
    #[default(ByteSize(64 << 20))]
    pub max_message: ByteSize,
    /// Whether it offers PIPELINING (RFC 2920).
    #[default(true)]
    pub pipelining: bool,
    /// The most connections at a time (1 to 100000).
    #[default(10_000)]
    pub clients: u32,
    /// The length of the listen queue (`listen(2)`).
    #[default(511)]
    pub backlog: u32,
    /// Where the random numbers of `defer` and `reject` begin.
    pub seed: u64,
}

/// A time in which a sink is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Time from the first offered message to the outage.
    pub after: Span,
    /// Duration of the outage.
    pub length: Span,
}

impl ServiceType for SmtpSinkService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        in_range(u64::from(self.clients), 1, 100_000, at.key("clients"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))?;
        in_range(self.max_message.0, 1, LARGEST_MESSAGE, at.key("max_message"))?;
        if self.defer.0 + self.reject.0 > 1.0 {
            return Err(problem(
                at.key("reject"),
                "more would be refused than there is",
                "`defer` and `reject` that are no more than 1 together",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        "sink for mail".to_owned()
    }

    fn effects(&self, _: &ServicePlace<'_>) -> Vec<Effect> {
        Vec::new()
    }

    fn takes_mail(&self) -> bool {
        true
    }

    fn keeps_files(&self) -> bool {
        true
    }
}
