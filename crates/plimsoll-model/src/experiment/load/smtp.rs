//! Mail: the SMTP source, its sink, and relays between the two.

use super::facts::{FactsType, Join};
use crate::experiment::prelude::*;
use crate::histogram::{Histogram, Percentiles};
use crate::ids::IdSet;
use std::collections::BTreeSet;

use super::extent::{amount, check_extent, check_timeout};
use super::{LATENCIES, LoadKind, LoadPlace, LoadType, count};
use crate::experiment::Experiment;
use crate::experiment::open_loop::Arrivals;

/// The longest address that SMTP knows (RFC 5321, section 4.5.3.1: path without its brackets).
const LONGEST_ADDRESS: usize = 254;

/// An SMTP source (RFC 5321): as fast as it goes, or at a rate per minute. Every message carries an id and a checksum, so that what
/// was acknowledged can be found again at the sink.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct SmtpLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    #[default(1)]
    pub generators: u32,
    /// How many messages each generator sends in all. Give this or `duration`.
    pub messages: Option<u64>,
    /// How long each generator works. Give this or `messages`.
    pub duration: Option<Span>,
    /// How many sessions each generator keeps going at a time (1 to 100000). At a rate it is the most that it may; a message for which
    /// none is free waits, and its latency counts all the same.
    #[default(1)]
    pub sessions: u32,
    /// Messages a minute (up to 600 million), over all generators, each when it is due, and time each from then on.
    pub per_minute: Option<f64>,
    /// How messages follow one another at that rate.
    pub arrivals: Arrivals,
    /// The most messages a minute (up to 600 million), over all generators: sessions go as fast as they can below that, and what a slow server
    /// has delayed is not made up for.
    pub most_per_minute: Option<f64>,
    /// How many messages a session carries before it says QUIT; 0 keeps it for good.
    #[default(1)]
    pub messages_per_session: u64,
    /// How long messages are.
    pub size: MessageSize,
    /// The senders, in turn.
    #[default(vec!["source@plimsoll.example".into()])]
    pub senders: Vec<String>,
    /// The recipients, in turn.
    #[default(vec!["sink@plimsoll.example".into()])]
    pub recipients: Vec<String>,
    /// How many recipients a message has (1 to 100).
    #[default(1)]
    pub recipients_per_message: u32,
    /// Whether commands are sent together where the server offers PIPELINING (RFC 2920).
    #[default(true)]
    pub pipelining: bool,
    /// How long a connection or a message may take before it counts as an error.
    #[default(Span::secs(60))]
    pub timeout: Span,
    /// Where the random numbers of sizes and arrivals begin; by default somewhere else each time.
    pub seed: Option<u64>,
}

/// How long messages are: the length of their text, without headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct MessageSize {
    /// The shortest (from 128 bytes).
    #[default(ByteSize(512))]
    pub least: ByteSize,
    /// The longest (up to 64M).
    #[default(ByteSize(150_000))]
    pub most: ByteSize,
    /// How the lengths between the two are spread.
    pub shape: SizeShape,
    /// The mean of the `exponential` shape, before what is longer than `most` is drawn again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<ByteSize>,
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

impl LoadType for SmtpLoad {
    by_count_or_time!(messages);

    fn usual_metric(&self) -> Metric {
        Metric::MessagesPerMinute
    }

    fn metrics(&self) -> Vec<Metric> {
        let rates = [
            Metric::ConnectionsPerSecond,
            Metric::RequestsPerSecond,
            Metric::CpuUsPerRequest,
            Metric::MessagesPerMinute,
            Metric::MegabytesPerSecond,
        ];
        [&rates[..], LATENCIES].concat()
    }

    fn operations(&self) -> &'static str {
        "messages"
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        check_extent(at, ("messages", self.messages), 1_000_000_000, self.duration)?;
        check_timeout(at, self.timeout)?;
        in_range(u64::from(self.generators), 1, 64, at.key("generators"))?;
        in_range(u64::from(self.sessions), 1, 100_000, at.key("sessions"))?;
        for (key, rate) in [("per_minute", self.per_minute), ("most_per_minute", self.most_per_minute)] {
            if rate.is_some_and(|rate| !(rate > 0.0 && rate <= 6e8)) {
                return Err(problem(
                    at.key(key),
                    "this is no rate",
                    "messages per minute: more than 0, at most 600 million",
                ));
            }
        }
        if self.per_minute.is_some() && self.most_per_minute.is_some() {
            return Err(problem(
                at.key("most_per_minute"),
                "the load has a rate already",
                "either `per_minute` or `most_per_minute`",
            ));
        }
        check_size(&self.size, |key| [at.key("size").as_slice(), &path![key]].concat())?;
        in_range(u64::from(self.recipients_per_message), 1, 100, at.key("recipients_per_message"))?;
        for (key, list) in [("senders", &self.senders), ("recipients", &self.recipients)] {
            if list.is_empty() {
                return Err(problem(at.key(key), "the list is empty", "at least one address"));
            }
            for (index, address) in list.iter().enumerate() {
                if !is_address(address) {
                    let here = [at.key(key).as_slice(), &path![index]].concat();
                    return Err(problem(
                        here,
                        format!("`{address}` is no address"),
                        "such as `someone@plimsoll.example`",
                    ));
                }
            }
        }
        if takes_mail(at.experiment, &at.load.to) {
            return Ok(());
        }
        Err(problem(
            path!["loads", at.name, "to"],
            format!("the service `{}` takes no mail", at.load.to),
            "a service of kind `smtp_sink`, `mail_relay`, `postfix` or `exec`, or one that passes bytes on to such a service",
        ))
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let amount = amount(("messages", self.messages), self.duration);
        let rate = match (self.per_minute, self.most_per_minute) {
            (Some(rate), _) => format!(", {rate} a minute"),
            (None, Some(most)) => format!(", at most {most} a minute"),
            (None, None) => String::new(),
        };
        let (generators, sessions) = (self.generators, count(self.sessions, "session"));
        format!("mail {}, {generators} x {amount}, up to {sessions}{rate}", at.way())
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// Whether mail that goes to this service comes to one that takes it: at once, or by services that pass bytes on.
fn takes_mail(experiment: &Experiment, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut name = name;
    while let Some(service) = experiment.services.get(name).filter(|_| seen.insert(name)) {
        let is_server = service.kind.takes_mail();
        match service.onward().filter(|_| service.kind.passes_bytes() && !is_server) {
            Some(next) => name = next,
            None => return is_server,
        }
    }
    false
}

fn check_size(size: &MessageSize, here: impl Fn(&str) -> Vec<Part>) -> Checked {
    in_range(size.least.0, 128, 64 << 20, here("least"))?;
    in_range(size.most.0, size.least.0, 64 << 20, here("most"))?;
    match (size.shape, size.mean) {
        (SizeShape::Exponential, Some(mean)) => in_range(mean.0, size.least.0, size.most.0, here("mean")),
        (SizeShape::Exponential, None) => {
            Err(problem(here("shape"), "this shape has a mean", "`mean` beside it"))
        }
        (_, Some(_)) => Err(problem(
            here("mean"),
            "the mean follows from the ends",
            "it only beside `shape = \"exponential\"`",
        )),
        (_, None) => Ok(()),
    }
}

/// Whether an address can stand in a command as it is: printable ASCII without what SMTP gives a meaning to.
fn is_address(address: &str) -> bool {
    let fits = |b: u8| b.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&b);
    let (local, domain) = address.rsplit_once('@').unwrap_or_default();
    !local.is_empty()
        && !domain.is_empty()
        && !local.contains('@')
        && address.len() <= LONGEST_ADDRESS
        && address.bytes().all(fits)
}

/// Results of a load of mail beside those of every load. Its requests are messages, its connections sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailFacts {
    /// The load that it was.
    pub load: String,
    /// The ids of messages that the server took responsibility for (it said 250 after the end of the data).
    pub acknowledged: IdSet,
    /// The ids of messages that were sent whole, without any answer: they may arrive or not.
    pub uncertain: IdSet,
    /// Recipients that were refused in messages that others were accepted for.
    pub refused_recipients: u64,
    /// How long the server took to answer each command: `greeting`, `EHLO`, `MAIL`, `RCPT`, `DATA`, `end of data`. Commands that were sent
    /// together count from when they were sent.
    pub commands: BTreeMap<String, CommandLatency>,
}

/// How long a server took to answer a command, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLatency {
    /// Percentiles.
    pub percentiles: Percentiles,
    /// Histogram of those times.
    pub histogram: Histogram,
}

impl FactsType for MailFacts {
    fn rate(&self) -> Option<Metric> {
        Some(Metric::MessagesPerMinute)
    }
}

impl Join for MailFacts {
    fn join(&mut self, other: &Self) {
        self.acknowledged.extend(&other.acknowledged);
        self.uncertain.extend(&other.uncertain);
        self.refused_recipients += other.refused_recipients;
        for (command, latency) in &other.commands {
            let mine = self.commands.entry(command.clone()).or_default();
            mine.histogram.add(&latency.histogram);
            mine.percentiles = mine.histogram.percentiles();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_two_parts_and_nothing_that_would_end_a_command() {
        for good in ["a@b", "first.last+tag@mail.example"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b>\r\nQUIT", "<a@b>", "ü@b"] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
