//! The built-in relay for mail.

use super::{LARGEST_MESSAGE, ServiceKind, ServicePlace, ServiceType, check_queue, check_retry};
use crate::experiment::load::count;
use crate::experiment::prelude::*;

/// The built-in relay for mail: it stores each message before it says 250, and forwards it afterwards. After a crash it goes on with what
/// is in its queue. After a power cut it delivers up to 256 messages once more, and those that were on their way.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailRelayService {
    /// The service that it forwards messages to.
    pub to: String,
    /// A folder on the host for the queue; by default one beside the other files of services, which is in memory. It is made when it is
    /// not there.
    pub queue: Option<String>,
    /// The volume of the same host that the queue lies on, in a folder of the service's own, by name. Give this or `queue`.
    pub volume: Option<String>,
    /// How a message becomes durable before it is acknowledged.
    #[serde(default)]
    pub durability: Durability,
    /// How many threads write to the queue (1 to 256).
    #[serde(default = "crate::units::number::<8>")]
    pub writers: u32,
    /// How many sessions to the next service there may be at a time (1 to 1000).
    #[serde(default = "crate::units::number::<20>")]
    pub deliveries: u32,
    /// How long a message waits after its first failed delivery; after each further one twice as long as before, up to `retry_most`.
    #[serde(default = "Span::of_secs::<1>")]
    pub retry: Span,
    /// The longest that a message waits between two attempts.
    #[serde(default = "Span::of_secs::<60>")]
    pub retry_most: Span,
    /// The longest message that it takes.
    #[serde(default = "ByteSize::of_mib::<64>")]
    pub max_message: ByteSize,
    /// The most connections at a time (1 to 100000).
    #[serde(default = "crate::units::number::<1000>")]
    pub clients: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "crate::units::number::<511>")]
    pub backlog: u32,
}

/// How a message becomes durable before it is acknowledged. There is nothing less than this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Each message is a file; the file and its folder are flushed (fsync(2)) for each.
    #[default]
    Fsync,
    /// Messages that arrive while a flush is under way share the next file and the next flush.
    GroupCommit,
}

impl ServiceType for MailRelayService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        declared(&self.to, &at.experiment.services, "service", at.key("to"))?;
        in_range(u64::from(self.writers), 1, 256, at.key("writers"))?;
        in_range(u64::from(self.deliveries), 1, 1000, at.key("deliveries"))?;
        in_range(u64::from(self.clients), 1, 100_000, at.key("clients"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))?;
        in_range(self.max_message.0, 1, LARGEST_MESSAGE, at.key("max_message"))?;
        check_retry(self.retry, self.retry_most, at.key("retry"))?;
        check_queue(at, self.queue.as_deref(), self.volume.as_deref())
    }

    fn describe(&self) -> String {
        format!("relay for mail to {}, {}", self.to, count(self.deliveries, "delivery session"))
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        at.queue(self.queue.as_deref()).into_iter().collect()
    }

    relays_mail!();
}
