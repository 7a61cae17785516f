//! Bulk loads: bytes over TCP, as many as go through.

use super::extent::check_timeout;
use super::facts::{FactsType, Join};
use super::streams::Stream;
use crate::experiment::prelude::*;

use super::{LoadKind, LoadPlace, LoadType, count};
use crate::experiment::Experiment;

/// Bytes that a call moves where the file does not say: the size of iperf3's blocks.
pub const BLOCK: ByteSize = ByteSize(128 << 10);

/// The largest buffer that may be asked for, in bytes.
pub(in crate::experiment) const LARGEST_BUFFER: u64 = 1 << 30;

/// Bytes over TCP, as many as go through: streams side by side, each a connection and a thread of its own.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct BulkLoad {
    /// Which way the bytes go, seen from the load.
    pub direction: Direction,
    /// How many streams there are (1 to 256).
    #[default(1)]
    pub streams: u32,
    /// How the side that sends hands its bytes to the kernel.
    pub by: SendBy,
    /// How many bytes each call hands over (1 to 16M). Without it 128K, and 512K once a stream has carried more than 4 Gbit/s.
    pub chunk: Option<ByteSize>,
    /// Send messages of this size (1 to 1G), each after the one before it was answered with one byte; without it, a stream that
    /// nobody answers. Only where `direction` is `send`.
    pub message: Option<ByteSize>,
    /// Wait this long between two calls of a message, or of a stream (at most 10 s), as a program does that waits for its own input.
    pub pause: Span,
    /// Whether the last call of a message, or of a stream, says that nothing more follows. A sender that says `more` with its last byte
    /// as well has it held back by the kernel for up to 200 ms.
    #[default(true)]
    pub release: bool,
    /// How many bytes each stream sends in each direction. Give this or `duration`.
    pub total: Option<ByteSize>,
    /// How long each stream sends. Give this or `total`.
    pub duration: Option<Span>,
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    pub no_delay: bool,
    /// The send buffer of both sides (`SO_SNDBUF`); by default the kernel chooses and adapts it.
    pub send_buffer: Option<ByteSize>,
    /// The receive buffer of both sides (`SO_RCVBUF`); by default the kernel chooses and adapts it.
    pub receive_buffer: Option<ByteSize>,
    /// The congestion control of both sides, such as `cubic` or `bbr`.
    pub congestion: Option<String>,
    /// How long a stream may stand still before it counts as an error.
    #[default(Span::secs(10))]
    pub timeout: Span,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the load to the service.
    #[default]
    Send,
    /// From the service to the load.
    Receive,
    /// Both at a time, on the same connection.
    Both,
}

/// How bytes are handed to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendBy {
    /// send(2): the kernel copies them.
    #[default]
    Write,
    /// send(2) with `MSG_MORE`: what does not fill a segment waits for more.
    WriteMore,
    /// sendfile(2) from a file in memory: the kernel sends the file's own pages.
    Sendfile,
    /// splice(2) from a file in memory through a pipe.
    Splice,
    /// `splice` with `SPLICE_F_MORE`.
    SpliceMore,
    /// send(2) with `MSG_ZEROCOPY`: the kernel sends the program's own pages, and reports when it is done with them.
    Zerocopy,
}

impl SendBy {
    /// Whether data that does not fill a segment is sent with the order to wait for more.
    pub fn says_more(self) -> bool {
        matches!(self, Self::WriteMore | Self::SpliceMore)
    }
}

impl LoadType for BulkLoad {
    fn part(&self, place: u32, number: u32) -> LoadKind {
        let total = self.total.map(|all| ByteSize(share(all.0, place, number)));
        let duration = self.duration.map(|all| Span(all.0 / number));
        Self { total, duration, ..self.clone() }.into()
    }

    /// A piece with `calls` messages, or with as many bytes as `calls` calls pass on.
    fn window(&self, calls: u64) -> LoadKind {
        let each = self.message.or(self.chunk).unwrap_or(BLOCK).0;
        Self { total: Some(ByteSize(calls.saturating_mul(each))), duration: None, ..self.clone() }.into()
    }

    fn lasting(&self, duration: Span) -> LoadKind {
        Self { total: None, duration: Some(duration), ..self.clone() }.into()
    }

    fn lasts(&self) -> Option<Span> {
        self.duration
    }

    fn usual_metric(&self) -> Metric {
        Metric::BitsPerSecond
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::BitsPerSecond, Metric::MegabytesPerSecond]
    }

    fn operations(&self) -> &'static str {
        "streams"
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        if self.total.is_some() == self.duration.is_some() {
            return Err(problem(
                at.key("total")[..3].to_vec(),
                "the load does not state its length",
                "either `total` or `duration`",
            ));
        }
        check_timeout(at, self.timeout)?;
        in_range(u64::from(self.streams), 1, 256, at.key("streams"))?;
        if let Some(chunk) = self.chunk {
            in_range(chunk.0, 1, 16 << 20, at.key("chunk"))?;
        }
        for (key, bytes) in [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)] {
            if let Some(bytes) = bytes {
                in_range(bytes.0, 1, LARGEST_BUFFER, at.key(key))?;
            }
        }
        if self.pause > Span::secs(10) {
            return Err(problem(
                at.key("pause"),
                format!("{} is too long for a pause", self.pause),
                "at most 10 s",
            ));
        }
        if let Some(message) = self.message {
            in_range(message.0, 1, 1 << 30, at.key("message"))?;
            if self.direction != Direction::Send {
                return Err(problem(
                    at.key("message"),
                    "messages go from the load to the service",
                    "it only beside `direction = \"send\"`",
                ));
            }
        }
        ends_at_bulk(at.experiment, at.name, &at.load.to)
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let total = self.total.map(|total| total.to_string());
        let long = total.or(self.duration.map(|span| span.to_string())).unwrap_or_default();
        let (from, to) = (&at.load.from, &at.load.to);
        format!("bytes over TCP between {from} and {to}, {}, {long}", count(self.streams, "stream"))
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// A bulk load may pass any number of services that pass bytes on, but ends at one of its kind.
fn ends_at_bulk(experiment: &Experiment, name: &String, to: &str) -> Checked {
    let mut at = to;
    // A chain that leads back to itself is found when the services are checked.
    for _ in 0..=experiment.services.len() {
        match experiment.services.get(at) {
            Some(service) if service.kind.bulk().is_some() => return Ok(()),
            Some(service) => match service.onward() {
                Some(onward) => at = onward,
                None => break,
            },
            None => return Ok(()),
        }
    }
    Err(problem(
        path!["loads", name, "to"],
        format!("bulk loads that go to `{to}` end at `{at}`, which is not of their kind"),
        "a service of kind `bulk`, or one that passes connections on to such a service",
    ))
}

/// Results of a bulk load beside its bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkFacts {
    /// Its streams.
    pub streams: Vec<Stream>,
}

impl FactsType for BulkFacts {
    fn rate(&self) -> Option<Metric> {
        Some(Metric::BitsPerSecond)
    }

    fn measures_its_own_work(&self) -> bool {
        true
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn done(&self, bytes: u64) -> Option<u64> {
        (bytes == 0 && !self.streams.is_empty()).then_some(0)
    }
}

impl Join for BulkFacts {
    fn join(&mut self, other: &Self) {
        self.streams.extend(other.streams.iter().cloned());
    }
}
