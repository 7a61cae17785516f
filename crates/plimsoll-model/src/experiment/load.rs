//! Loads: what drives the services.
//!
//! A load is written as a table with one key for its kind, and carried out as a [`LoadKind`]. What a phase needs of any kind stands
//! here: its parts, and a window of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Metric;
use super::bulk::{BulkLoad, UdpLoad};
use super::diagnose::DiagnoseLoad;
use super::hops::HopsLoad;
use super::mail::SmtpLoad;
use super::messaging::MessagingLoad;
use super::open_loop::OpenLoop;
use super::share::share;
use super::storage::StorageLoad;
use crate::units::Span;

/// A generator. Exactly one of the kinds is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The host that it runs on.
    pub from: String,
    /// The service that it aims at; of a storage load, the volume; of a messaging load, nothing. There is no other way to name a target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// HTTP/1.1 requests, in closed loop (so many at a time, each sent when the one before it is done) or in open loop (at a rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpLoad>,
    /// As many bytes over TCP as go through, to or from a service of kind `bulk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<BulkLoad>,
    /// Datagrams at a rate, to a service of kind `bulk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpLoad>,
    /// Probes that find the hops of the path to the host of a service. The service itself is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<HopsLoad>,
    /// What the path to a service of kind `bulk` has for TCP at a rate and a round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnose: Option<DiagnoseLoad>,
    /// Messages over SMTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp: Option<SmtpLoad>,
    /// Reads and writes of a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageLoad>,
    /// Messages between workers of one host, as hackbench sends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messaging: Option<MessagingLoad>,
}

/// What a load is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// HTTP/1.1.
    Http(HttpLoad),
    /// Bytes over TCP.
    Bulk(BulkLoad),
    /// Datagrams at a rate.
    Udp(UdpLoad),
    /// Probes of the hops of a path.
    Hops(HopsLoad),
    /// Datagrams and TCP over a path that is looked at.
    Diagnose(DiagnoseLoad),
    /// Messages over SMTP.
    Smtp(SmtpLoad),
    /// Reads and writes.
    Storage(StorageLoad),
    /// Messages between workers.
    Messaging(MessagingLoad),
}

impl Load {
    /// What it is; nothing where the file does not say, which [`super::parse`] refuses.
    #[must_use]
    pub fn kind(&self) -> Option<LoadKind> {
        let http = self.http.clone().map(LoadKind::Http);
        let bulk = || self.bulk.clone().map(LoadKind::Bulk);
        let udp = || self.udp.clone().map(LoadKind::Udp);
        let hops = || self.hops.clone().map(LoadKind::Hops);
        let diagnose = || self.diagnose.clone().map(LoadKind::Diagnose);
        let smtp = || self.smtp.clone().map(LoadKind::Smtp);
        let storage = || self.storage.clone().map(LoadKind::Storage);
        let messaging = || self.messaging.clone().map(LoadKind::Messaging);
        http.or_else(bulk)
            .or_else(udp)
            .or_else(hops)
            .or_else(diagnose)
            .or_else(smtp)
            .or_else(storage)
            .or_else(messaging)
    }
}

impl LoadKind {
    /// One of `number` parts of it, from 0. What does not divide evenly goes to the first ones; no part is empty.
    #[must_use]
    pub fn part(&self, place: u32, number: u32) -> Self {
        match self {
            Self::Http(http) => Self::Http(HttpLoad {
                connections: http.connections.map(|all| share(all, place, number)),
                duration: http.duration.map(|all| Span(all.0 / number)),
                ..http.clone()
            }),
            Self::Bulk(bulk) => Self::Bulk(bulk.part(place, number)),
            Self::Udp(udp) => Self::Udp(udp.part(number)),
            Self::Hops(hops) => Self::Hops(hops.part(place, number)),
            // A part of a diagnosis is none.
            Self::Diagnose(_) => self.clone(),
            Self::Smtp(smtp) => Self::Smtp(smtp.part(place, number)),
            Self::Storage(storage) => Self::Storage(storage.part(place, number)),
            Self::Messaging(messaging) => Self::Messaging(messaging.part(place, number)),
        }
    }

    /// What is usually asked of such a load.
    #[must_use]
    pub fn usual_metric(&self) -> Metric {
        match self {
            Self::Http(http) if http.requests_per_connection == 1 => Metric::ConnectionsPerSecond,
            Self::Http(_) | Self::Messaging(_) => Metric::RequestsPerSecond,
            Self::Bulk(_) | Self::Diagnose(_) => Metric::BitsPerSecond,
            Self::Udp(_) => Metric::PacketsPerSecond,
            Self::Hops(_) => Metric::RequestsPerSecond,
            Self::Smtp(_) => Metric::MessagesPerMinute,
            Self::Storage(_) => Metric::MegabytesPerSecond,
        }
    }

    /// Whether a result of such a load has a figure. This is the table of loads and metrics; a claim about any other is refused.
    #[must_use]
    pub fn has(&self, metric: Metric) -> bool {
        let requests = matches!(self, Self::Http(_) | Self::Smtp(_) | Self::Storage(_) | Self::Messaging(_));
        let datagrams = matches!(self, Self::Udp(_));
        match metric {
            Metric::ConnectionsPerSecond => matches!(self, Self::Http(_) | Self::Smtp(_)),
            Metric::RequestsPerSecond | Metric::CpuUsPerRequest => requests,
            Metric::MessagesPerMinute => matches!(self, Self::Smtp(_) | Self::Messaging(_)),
            Metric::MedianMs
            | Metric::P90Ms
            | Metric::P95Ms
            | Metric::P99Ms
            | Metric::P999Ms
            | Metric::MeanMs
            | Metric::MaxMs => requests,
            // Whatever a load does may fail.
            Metric::ErrorShare => true,
            Metric::BitsPerSecond => {
                matches!(self, Self::Bulk(_) | Self::Udp(_) | Self::Diagnose(_) | Self::Http(_))
            }
            Metric::MegabytesPerSecond => !matches!(self, Self::Hops(_)),
            Metric::PacketsPerSecond | Metric::LossShare | Metric::JitterMs => datagrams,
            // From the packets of a phase, whatever load it has; `[capture]` is asked for beside.
            Metric::StallShare => true,
            Metric::DeviceShare => matches!(self, Self::Storage(_)),
        }
    }

    /// The same at another rate, in requests per second; nothing for a load that offers no constant rate.
    #[must_use]
    pub fn at_rate(&self, rate: f64) -> Option<Self> {
        match self {
            Self::Http(http) => {
                let open = http.open.as_ref().filter(|open| open.is_constant())?;
                Some(Self::Http(HttpLoad { open: Some(OpenLoop { rate, ..open.clone() }), ..http.clone() }))
            }
            Self::Bulk(_)
            | Self::Udp(_)
            | Self::Hops(_)
            | Self::Diagnose(_)
            | Self::Smtp(_)
            | Self::Storage(_)
            | Self::Messaging(_) => None,
        }
    }

    /// A small piece of it: so many connections (or requests, messages ...).
    #[must_use]
    pub fn window(&self, connections: u64) -> Self {
        match self {
            Self::Http(http) => {
                Self::Http(HttpLoad { connections: Some(connections), duration: None, ..http.clone() })
            }
            Self::Bulk(bulk) => Self::Bulk(bulk.window(connections)),
            Self::Udp(udp) => Self::Udp(udp.window(connections)),
            Self::Hops(hops) => Self::Hops(hops.window(connections)),
            Self::Diagnose(_) => self.clone(),
            Self::Smtp(smtp) => Self::Smtp(smtp.window(connections)),
            Self::Storage(storage) => Self::Storage(storage.window(connections)),
            Self::Messaging(messaging) => Self::Messaging(messaging.window(connections)),
        }
    }

    /// The same for as long as told, whatever it says of its own length.
    #[must_use]
    pub fn lasting(&self, duration: Span) -> Self {
        match self {
            Self::Http(http) => {
                Self::Http(HttpLoad { connections: None, duration: Some(duration), ..http.clone() })
            }
            Self::Bulk(bulk) => {
                Self::Bulk(BulkLoad { total: None, duration: Some(duration), ..bulk.clone() })
            }
            Self::Udp(udp) => Self::Udp(UdpLoad { duration, ..udp.clone() }),
            // It ends when its probes are answered; a neighbour of that kind begins anew.
            Self::Hops(_) | Self::Diagnose(_) => self.clone(),
            Self::Smtp(smtp) => {
                Self::Smtp(SmtpLoad { messages: None, duration: Some(duration), ..smtp.clone() })
            }
            Self::Storage(storage) => Self::Storage(storage.lasting(duration)),
            Self::Messaging(messaging) => Self::Messaging(messaging.lasting(duration)),
        }
    }
}

/// HTTP/1.1, in closed loop unless `open` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    pub generators: u32,
    /// How many connections each generator makes in all (how many requests it sends, in open loop). Give this or `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// How long each generator works. Give this or `connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// How many connections each generator keeps going at a time (1 to 100000). In open loop it is the most that it may; a request for
    /// which none is free waits, and its latency counts all the same.
    pub concurrency: u32,
    /// Send requests at a rate, each when it is due, and time each from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenLoop>,
    /// How many requests are sent on a connection before it is closed; 0 keeps it for good.
    pub requests_per_connection: u64,
    /// How many requests are sent at a time on a connection, in closed loop (1 to 64): pipelining, RFC 9112, section 9.3.2. The next
    /// follow when all are answered. The latency of each counts from when they were sent until its answer is taken in, for most when the
    /// last is there.
    pub pipeline: u32,
    /// Who closes a connection after its last request. The side that does keeps the connection in TIME_WAIT for a minute.
    pub close_first: Side,
    /// The path that is asked for.
    pub path: String,
    /// Ask for documents of many sizes instead, as the clients of SPECweb96 did. The built-in web server has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// How long a connection or a request may take before it counts as an error.
    pub timeout: Span,
    /// Where the random numbers of `open` and `mix` begin; by default somewhere else each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Default for HttpLoad {
    fn default() -> Self {
        Self {
            generators: 1,
            connections: None,
            duration: None,
            concurrency: 1,
            open: None,
            requests_per_connection: 1,
            pipeline: 1,
            close_first: Side::Server,
            path: "/".into(),
            mix: None,
            timeout: Span::secs(10),
            seed: None,
        }
    }
}

/// Documents of four classes of size: 35 % below 1 KB, 50 % below 10 KB, 14 % below 100 KB, 1 % below 1 MB. Inside of a class the n-th
/// most popular document is asked for in proportion to 1/n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// The rate that the server is to carry, in requests per second: there are 10·√(rate/5) directories of 36 documents and 5 MB. By
    /// default it is the highest rate of `open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The server: the last request on a connection asks it to close (`Connection: close`).
    #[default]
    Server,
    /// The client: it closes as soon as it has the last answer, without having told the server that it would.
    Client,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_load_add_up_to_the_whole() {
        let whole = LoadKind::Http(HttpLoad { connections: Some(403), ..HttpLoad::default() });
        let connections = |place| match whole.part(place, 10) {
            LoadKind::Http(http) => http.connections.expect("the whole says how many"),
            other => panic!("a part of another kind: {other:?}"),
        };
        let parts: Vec<u64> = (0..10).map(connections).collect();
        assert_eq!(parts.iter().sum::<u64>(), 403);
        assert_eq!((parts[0], parts[9]), (41, 40));
    }
}
