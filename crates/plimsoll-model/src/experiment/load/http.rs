//! HTTP loads: requests in closed or open loop.

use super::extent::{amount, check_extent, check_open, check_timeout};
use super::facts::{FactsType, Join, per_second};
use super::{LATENCIES, LoadKind, LoadPlace, LoadType};
use crate::experiment::open_loop::{OpenLoop, check_rate};
use crate::experiment::prelude::*;
use crate::histogram::Histogram;

/// HTTP/1.1 or HTTP/2, in closed loop unless `open` says otherwise.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct HttpLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    #[default(1)]
    pub generators: u32,
    /// How many connections each generator makes in all (how many requests it sends, in open loop). Give this or `duration`.
    pub connections: Option<u64>,
    /// How long each generator works. Give this or `connections`.
    pub duration: Option<Span>,
    /// How many connections each generator keeps going at a time (1 to 100000). In open loop it is the most that it may; a request for
    /// which none is free waits, and its latency counts all the same.
    #[default(1)]
    pub concurrency: u32,
    /// Send requests at a rate, each when it is due, and time each from then on.
    pub open: Option<OpenLoop>,
    /// How many requests are sent on a connection before it is closed; 0 keeps it for good.
    #[default(1)]
    pub requests_per_connection: u64,
    /// How many requests are sent at a time on a connection, in closed loop (1 to 64): pipelining, RFC 9112, section 9.3.2. The next
    /// follow when all are answered. The latency of each counts from when they were sent until its answer is taken in, for most when the
    /// last is there.
    #[default(1)]
    pub pipeline: u32,
    /// The version of HTTP. HTTP/2 is agreed on by ALPN where `tls` is on, and else spoken from the start (RFC 9113, section 3.3).
    #[serde(skip_serializing_if = "HttpVersion::is_usual")]
    pub version: HttpVersion,
    /// How many requests are under way at a time on a connection of HTTP/2, each on a stream of its own (1 to 100), in closed loop. Another follows
    /// each that is answered.
    #[serde(skip_serializing_if = "is_one")]
    #[default(1)]
    pub streams: u32,
    /// Whether connections are TLS 1.3. The service has a certificate that is made for the run, and that is the only one that is trusted.
    #[serde(skip_serializing_if = "is_false")]
    pub tls: bool,
    /// Whether a connection resumes the TLS session of an earlier one, where the service has given it a ticket (RFC 8446, section 2.2);
    /// else each makes a full handshake.
    #[serde(skip_serializing_if = "is_false")]
    pub resume: bool,
    /// The side that closes a connection after its last request. That side keeps the connection in TIME_WAIT for a minute. A
    /// connection of HTTP/2 is closed by the client: there is no word with which to ask a server for that.
    #[default(Side::Server)]
    pub close_first: Side,
    /// The path that is asked for.
    #[default = "/"]
    pub path: String,
    /// Ask for documents of many sizes instead, as the clients of SPECweb96 did. The built-in web server has them.
    pub mix: Option<Mix>,
    /// How long a connection or a request may take before it counts as an error.
    #[default(Span::secs(10))]
    pub timeout: Span,
    /// Where the random numbers of `open` and `mix` begin; by default somewhere else each time.
    pub seed: Option<u64>,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    #[default]
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
}

impl HttpVersion {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Http1
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Outcomes of the TLS handshakes of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpFacts {
    /// How long they took, in microseconds, from the client's first message until it may send its request.
    pub handshakes: Histogram,
    /// How many of them resumed an earlier session.
    pub resumed: u64,
}

impl FactsType for HttpFacts {
    fn figure(&self, metric: Metric, seconds: f64) -> Option<f64> {
        let at = |share| {
            (!self.handshakes.is_empty()).then(|| self.handshakes.value_at_quantile(share) as f64 / 1e3)
        };
        match metric {
            Metric::HandshakesPerSecond => per_second(self.handshakes.len() as f64, seconds),
            Metric::HandshakeMedianMs => at(0.5),
            Metric::HandshakeP99Ms => at(0.99),
            Metric::ResumedShare => {
                let all = self.handshakes.len();
                (all > 0).then(|| self.resumed as f64 / all as f64)
            }
            _ => None,
        }
    }
}

impl Join for HttpFacts {
    fn join(&mut self, other: &Self) {
        self.handshakes.add(&other.handshakes);
        self.resumed += other.resumed;
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
    /// The client: it closes as soon as it has the last answer, without notice to the server.
    Client,
}

impl LoadType for HttpLoad {
    by_count_or_time!(connections);

    fn at_rate(&self, rate: f64) -> Option<LoadKind> {
        let open = self.open.as_ref()?.at_rate(rate)?;
        Some(Self { open: Some(open), ..self.clone() }.into())
    }

    fn usual_metric(&self) -> Metric {
        match self.requests_per_connection {
            1 => Metric::ConnectionsPerSecond,
            _ => Metric::RequestsPerSecond,
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        let rates = [
            Metric::ConnectionsPerSecond,
            Metric::RequestsPerSecond,
            Metric::CpuUsPerRequest,
            Metric::BitsPerSecond,
            Metric::MegabytesPerSecond,
        ];
        let handshakes: &[Metric] = match self.tls {
            true => &[
                Metric::HandshakesPerSecond,
                Metric::HandshakeMedianMs,
                Metric::HandshakeP99Ms,
                Metric::ResumedShare,
            ],
            false => &[],
        };
        [&rates[..], LATENCIES, handshakes].concat()
    }

    fn operations(&self) -> &'static str {
        if self.requests_per_connection == 1 { "connections" } else { "requests" }
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        check_extent(at, ("connections", self.connections), 1_000_000_000, self.duration)?;
        check_timeout(at, self.timeout)?;
        in_range(u64::from(self.generators), 1, 64, at.key("generators"))?;
        in_range(u64::from(self.concurrency), 1, 100_000, at.key("concurrency"))?;
        if self.requests_per_connection == 0 && self.connections.is_some() {
            return Err(problem(
                at.key("requests_per_connection"),
                "connections that are kept for good never come to a number",
                "`duration` instead of `connections`, or at least one request per connection",
            ));
        }
        check_pipeline(at, self)?;
        check_version(at, self)?;
        check_tls(at, self)?;
        if let Some(open) = &self.open {
            check_open(at, open)?;
        }
        if let Some(mix) = &self.mix {
            let here = at.key("mix");
            match mix.rate {
                Some(rate) => check_rate(rate, here)?,
                None if self.open.is_none() => {
                    return Err(problem(
                        here,
                        "how many documents there are follows from a rate",
                        "`rate`, or `open`",
                    ));
                }
                None => {}
            }
        }
        if !self.path.starts_with('/') || self.path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(problem(
                at.key("path"),
                "this is no path",
                "a path that starts with `/`, without spaces",
            ));
        }
        Ok(())
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let amount = amount(("connections", self.connections), self.duration);
        let (generators, concurrency) = (self.generators, self.concurrency);
        let version = match (self.version, self.tls) {
            (HttpVersion::Http1, false) => "HTTP",
            (HttpVersion::Http1, true) => "HTTPS",
            (HttpVersion::Http2, false) => "HTTP/2",
            (HttpVersion::Http2, true) => "HTTP/2 over TLS",
        };
        format!("{version} {}, {generators} x {amount}, {concurrency} at a time", at.way())
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// Checks settings of a single version, and the number of streams.
fn check_version(at: &LoadPlace<'_>, http: &HttpLoad) -> Checked {
    if http.version == HttpVersion::Http1 {
        if http.streams == 1 {
            return Ok(());
        }
        let expected = "`version = \"http2\"` beside it, or `pipeline`";
        return Err(problem(at.key("streams"), "HTTP/1.1 has no streams", expected));
    }
    if http.pipeline != 1 {
        return Err(problem(at.key("pipeline"), "HTTP/2 sends requests on streams", "`streams`"));
    }
    in_range(u64::from(http.streams), 1, 100, at.key("streams"))?;
    check_several(at, "streams", http.streams, http)
}

/// TLS has to be what the service speaks, where that is known.
fn check_tls(at: &LoadPlace<'_>, http: &HttpLoad) -> Checked {
    if http.resume && !http.tls {
        return Err(problem(at.key("resume"), "there is no TLS session to resume", "`tls = true` beside it"));
    }
    let service = &at.load.to;
    match (at.service().speaks_tls(), http.tls) {
        (Some(false), true) => {
            let message = format!("the service `{service}` speaks no TLS");
            Err(problem(at.key("tls"), message, "`tls = true` in the service, too"))
        }
        (Some(true), false) => {
            let message = format!("the service `{service}` speaks TLS only");
            Err(problem(at.table(), message, "`tls = true`"))
        }
        _ => Ok(()),
    }
}

/// Requests that are sent at a time are of one kind, sent when there is time for them, and no more than a connection may carry.
fn check_pipeline(at: &LoadPlace<'_>, http: &HttpLoad) -> Checked {
    in_range(u64::from(http.pipeline), 1, 64, at.key("pipeline"))?;
    check_several(at, "pipeline", http.pipeline, http)
}

fn check_several(at: &LoadPlace<'_>, key: &str, several: u32, http: &HttpLoad) -> Checked {
    if several == 1 {
        return Ok(());
    }
    let carried = http.requests_per_connection;
    if carried != 0 && carried < u64::from(several) {
        return Err(problem(
            at.key(key),
            format!("a connection of the load `{}` is closed after fewer requests", at.name),
            format!("at most {carried}, or a larger `requests_per_connection` (0 keeps connections)"),
        ));
    }
    let other = [("open", http.open.is_some()), ("mix", http.mix.is_some())];
    match other.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((other, _)) => Err(problem(
            at.key(key),
            format!("requests of a load with `{other}` go out one by one"),
            format!("`{key}` without `{other}`, in closed loop and for one path"),
        )),
    }
}
