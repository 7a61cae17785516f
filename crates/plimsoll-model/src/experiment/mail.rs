//! Mail: the SMTP source, its sink, and relays between the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::open_loop::Arrivals;
use super::share::share;
use crate::units::{ByteSize, Share, Span};

/// An SMTP source (RFC 5321): as fast as it goes, or at a rate per minute. Every message carries an id and a checksum, so that what
/// was acknowledged can be found again at the sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    pub generators: u32,
    /// How many messages each generator sends in all. Give this or `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// How long each generator works. Give this or `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// How many sessions each generator keeps going at a time (1 to 100000). At a rate it is the most that it may; a message for which
    /// none is free waits, and its latency counts all the same.
    pub sessions: u32,
    /// Send so many messages a minute (up to 600 million), over all generators, each when it is due, and time each from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<f64>,
    /// How messages follow one another at that rate.
    pub arrivals: Arrivals,
    /// How many messages a session carries before it says QUIT; 0 keeps it for good.
    pub messages_per_session: u64,
    /// How long messages are.
    pub size: MessageSize,
    /// The senders, in turn.
    pub senders: Vec<String>,
    /// The recipients, in turn.
    pub recipients: Vec<String>,
    /// How many recipients a message has (1 to 100).
    pub recipients_per_message: u32,
    /// Whether commands are sent together where the server offers PIPELINING (RFC 2920).
    pub pipelining: bool,
    /// How long a connection or a message may take before it counts as an error.
    pub timeout: Span,
    /// Where the random numbers of sizes and arrivals begin; by default somewhere else each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Default for SmtpLoad {
    fn default() -> Self {
        Self {
            generators: 1,
            messages: None,
            duration: None,
            sessions: 1,
            per_minute: None,
            arrivals: Arrivals::default(),
            messages_per_session: 1,
            size: MessageSize::default(),
            senders: vec!["source@plimsoll.example".into()],
            recipients: vec!["sink@plimsoll.example".into()],
            recipients_per_message: 1,
            pipelining: true,
            timeout: Span::secs(60),
            seed: None,
        }
    }
}

impl SmtpLoad {
    /// One of `number` parts of it, from 0.
    #[must_use]
    pub(super) fn part(&self, place: u32, number: u32) -> Self {
        Self {
            messages: self.messages.map(|all| share(all, place, number)),
            duration: self.duration.map(|all| Span(all.0 / number)),
            ..self.clone()
        }
    }

    /// The same with so many messages.
    #[must_use]
    pub(super) fn window(&self, messages: u64) -> Self {
        Self { messages: Some(messages), duration: None, ..self.clone() }
    }
}

/// How long messages are: the length of their text, without headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MessageSize {
    /// The shortest (from 128 bytes).
    pub least: ByteSize,
    /// The longest (up to 64M).
    pub most: ByteSize,
    /// How the lengths between the two are spread.
    pub shape: SizeShape,
    /// The mean of the `exponential` shape, before what is longer than `most` is drawn anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<ByteSize>,
}

impl Default for MessageSize {
    fn default() -> Self {
        Self { least: ByteSize(512), most: ByteSize(150_000), shape: SizeShape::Uniform, mean: None }
    }
}

/// How lengths are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeShape {
    /// Every length is as likely as any other, as with postal.
    #[default]
    Uniform,
    /// Every order of magnitude is as likely as any other.
    LogUniform,
    /// The longer, the rarer, about `mean`.
    Exponential,
}

/// The built-in sink for mail: it takes messages, checks each against its checksum, and keeps a list of their ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpSinkService {
    /// How long it waits before it acknowledges a message.
    pub delay: Span,
    /// The share of messages that it refuses for now (451), by the flip of a coin at each attempt.
    pub defer: Share,
    /// The share of messages that it refuses for good (550).
    pub reject: Share,
    /// Grey-listing: a sender and recipient that were never seen together are refused for now (451), until so long after their first
    /// attempt (RFC 6647).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greylist: Option<Span>,
    /// A time in which it is down: connections are refused, and those that are open are reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// The longest message that it takes.
    pub max_message: ByteSize,
    /// Whether it offers PIPELINING (RFC 2920).
    pub pipelining: bool,
    /// The most connections at a time (1 to 100000).
    pub clients: u32,
    /// The length of the listen queue (`listen(2)`).
    pub backlog: u32,
    /// Where the random numbers of `defer` and `reject` begin.
    pub seed: u64,
}

impl Default for SmtpSinkService {
    fn default() -> Self {
        Self {
            delay: Span::default(),
            defer: Share(0.0),
            reject: Share(0.0),
            greylist: None,
            outage: None,
            max_message: ByteSize(64 << 20),
            pipelining: true,
            clients: 10_000,
            backlog: 511,
            seed: 0,
        }
    }
}

/// A time in which a sink is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// So long after the first message that it was offered.
    pub after: Span,
    /// So long.
    pub length: Span,
}

/// The built-in relay for mail: it stores each message before it says 250, and forwards it afterwards. After a crash it goes on with what
/// is in its queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailRelayService {
    /// The service that it forwards messages to.
    pub to: String,
    /// A folder on the host for the queue; by default one beside the other files of services, which is in memory. It is made when it is
    /// not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The volume of the same host that the queue lies on, in a folder of the service's own, by name. Give this or `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// How a message becomes durable before it is acknowledged.
    #[serde(default)]
    pub durability: Durability,
    /// How many threads write to the queue (1 to 256).
    #[serde(default = "MailRelayService::default_writers")]
    pub writers: u32,
    /// How many sessions to the next service there may be at a time (1 to 1000).
    #[serde(default = "MailRelayService::default_deliveries")]
    pub deliveries: u32,
    /// How long a message waits after its first failed delivery; after each further one twice as long as before, up to `retry_most`.
    #[serde(default = "MailRelayService::default_retry")]
    pub retry: Span,
    /// The longest that a message waits between two attempts.
    #[serde(default = "MailRelayService::default_retry_most")]
    pub retry_most: Span,
    /// The longest message that it takes.
    #[serde(default = "MailRelayService::default_max_message")]
    pub max_message: ByteSize,
    /// The most connections at a time (1 to 100000).
    #[serde(default = "MailRelayService::default_clients")]
    pub clients: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "MailRelayService::default_backlog")]
    pub backlog: u32,
}

impl MailRelayService {
    /// A relay to this service, with every default.
    #[must_use]
    pub fn to(service: &str) -> Self {
        Self {
            to: service.to_owned(),
            queue: None,
            volume: None,
            durability: Durability::default(),
            writers: Self::default_writers(),
            deliveries: Self::default_deliveries(),
            retry: Self::default_retry(),
            retry_most: Self::default_retry_most(),
            max_message: Self::default_max_message(),
            clients: Self::default_clients(),
            backlog: Self::default_backlog(),
        }
    }

    fn default_writers() -> u32 {
        8
    }
    fn default_deliveries() -> u32 {
        20
    }
    fn default_retry() -> Span {
        Span::secs(1)
    }
    fn default_retry_most() -> Span {
        Span::secs(60)
    }
    fn default_max_message() -> ByteSize {
        ByteSize(64 << 20)
    }
    fn default_clients() -> u32 {
        1000
    }
    fn default_backlog() -> u32 {
        511
    }
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
