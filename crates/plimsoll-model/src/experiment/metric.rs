//! Figures that claims can be about.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::reader::{Better, NamedMetric};
use crate::units::Unit;

/// Share of transactions that the server has aborted.
pub(super) const ABORTED_SHARE: &str = "aborted_share";
/// Share of questions without an answer from a server.
pub(super) const SERVFAIL_SHARE: &str = "servfail_share";

/// A figure that claims can be about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Metric {
    /// Connections completed without error, per second.
    #[default]
    ConnectionsPerSecond,
    /// Requests answered without error, per second.
    RequestsPerSecond,
    /// Messages acknowledged, per minute.
    MessagesPerMinute,
    /// The median time of a request (of messaging: of a round), in milliseconds.
    MedianMs,
    /// The 90th percentile of the time of a request, in milliseconds.
    P90Ms,
    /// The 95th percentile of the time of a request, in milliseconds.
    P95Ms,
    /// The 99th percentile of the time of a request, in milliseconds.
    P99Ms,
    /// The 99.9th percentile of the time of a request, in milliseconds.
    #[serde(rename = "p99_9_ms")]
    #[strum(serialize = "p99_9_ms")]
    P999Ms,
    /// The share of requests (or connections, where each carries one) that failed, in whatever way.
    ErrorShare,
    /// Bits that arrived per second, without headers, both directions together.
    BitsPerSecond,
    /// Datagrams that arrived per second.
    PacketsPerSecond,
    /// The share of datagrams that did not arrive.
    LossShare,
    /// The jitter of datagrams (RFC 3550), in milliseconds.
    JitterMs,
    /// The share of the connections' time in which there was something to send and nothing went, from the packets that `[capture]`
    /// keeps.
    StallShare,
    /// Millions of bytes that were read and written, or that arrived, per second.
    MegabytesPerSecond,
    /// The mean time of a request, in milliseconds.
    MeanMs,
    /// The longest time of a request, in milliseconds.
    MaxMs,
    /// CPU time that the generator used for each request, in programs and in the kernel together, in microseconds.
    CpuUsPerRequest,
    /// CPU time that the experiment's services used for each request, in programs and in the kernel together, in microseconds: of all their processes,
    /// on all hosts. Known where the phase measures one load, and all services are started by the run.
    ServiceCpuUsPerRequest,
    /// The share of the bytes read that the device delivered; the others were in memory.
    DeviceShare,
    /// TLS handshakes per second.
    HandshakesPerSecond,
    /// The median time of a TLS handshake, in milliseconds.
    HandshakeMedianMs,
    /// The 99th percentile of the time of a TLS handshake, in milliseconds.
    #[serde(rename = "handshake_p99_ms")]
    HandshakeP99Ms,
    /// The share of TLS handshakes that resumed an earlier session.
    ResumedShare,
    /// A figure that only a program of the user's own gives, by the name that its load has for it.
    #[serde(untagged)]
    #[strum(disabled)]
    Named(Named),
}

/// One of the figures with a name of the user's own. Each that was ever named stays in memory, so that it can be passed about as freely as any
/// other metric; there are as many as experiments name.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Named(&'static NamedMetric);

static NAMED: Mutex<BTreeSet<&'static NamedMetric>> = Mutex::new(BTreeSet::new());

impl From<NamedMetric> for Named {
    fn from(metric: NamedMetric) -> Self {
        let mut known = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&metric) {
            return Self(known);
        }
        let kept: &'static NamedMetric = Box::leak(Box::new(metric));
        known.insert(kept);
        Self(kept)
    }
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Named {
    /// The name alone, as claims have it, or all that is known of the figure.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(String),
            Whole { name: String, unit: String, better: Better },
        }
        let (name, unit, better) = match Written::deserialize(deserializer)? {
            Written::Name(name) => (name, String::new(), Better::Higher),
            Written::Whole { name, unit, better } => (name, unit, better),
        };
        Ok(NamedMetric { name: name.into(), unit: unit.into(), better }.into())
    }
}

impl JsonSchema for Named {
    fn schema_name() -> Cow<'static, str> {
        "NamedMetric".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A figure that the load's program gives, by the name that `metrics` or the reader has for it.",
            "type": "string",
        })
    }
}

impl Metric {
    /// Every metric but those that programs of the user's own give.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Named(Named(metric)) => &metric.name,
            known => known.into(),
        }
    }

    /// Heading of its column, where there is little room.
    pub fn short(self) -> &'static str {
        match self {
            Self::ConnectionsPerSecond => "conn/s",
            Self::RequestsPerSecond => "req/s",
            Self::MessagesPerMinute => "msg/min",
            Self::PacketsPerSecond => "packets/s",
            Self::BitsPerSecond | Self::MegabytesPerSecond => self.unit().name(),
            Self::Named(Named(metric)) if metric.name == "rate" && !metric.unit.is_empty() => &metric.unit,
            _ => self.name(),
        }
    }

    /// The unit in which reports state the metric, and whether less of it is better.
    fn unit_and_direction(self) -> (Unit, bool) {
        match self {
            Self::MedianMs
            | Self::P90Ms
            | Self::P95Ms
            | Self::P99Ms
            | Self::P999Ms
            | Self::JitterMs
            | Self::MeanMs
            | Self::MaxMs
            | Self::HandshakeMedianMs
            | Self::HandshakeP99Ms => (Unit::Milliseconds, true),
            Self::CpuUsPerRequest | Self::ServiceCpuUsPerRequest => (Unit::Microseconds, true),
            Self::LossShare | Self::StallShare | Self::DeviceShare | Self::ErrorShare => (Unit::Share, true),
            Self::ResumedShare => (Unit::Share, false),
            Self::BitsPerSecond => (Unit::BitsPerSecond, false),
            Self::MegabytesPerSecond => (Unit::MegabytesPerSecond, false),
            Self::ConnectionsPerSecond
            | Self::RequestsPerSecond
            | Self::PacketsPerSecond
            | Self::HandshakesPerSecond => (Unit::PerSecond, false),
            Self::MessagesPerMinute => (Unit::PerMinute, false),
            Self::Named(Named(metric)) => (Unit::named(&metric.unit), metric.better == Better::Lower),
        }
    }

    /// The unit in which reports state the metric.
    pub fn unit(self) -> Unit {
        self.unit_and_direction().0
    }

    /// The share of requests that are faster, of a metric that is a percentile of their time.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::MedianMs => Some(0.5),
            Self::P90Ms => Some(0.9),
            Self::P95Ms => Some(0.95),
            Self::P99Ms => Some(0.99),
            Self::P999Ms => Some(0.999),
            _ => None,
        }
    }

    /// The built-in metric with this public name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|metric| metric.name() == name)
    }

    /// Whether the metric is a share of failed operations: a claim about it asks about failures.
    pub fn is_of_failures(self) -> bool {
        match self {
            Self::ErrorShare => true,
            Self::Named(_) => [ABORTED_SHARE, SERVFAIL_SHARE].contains(&self.name()),
            _ => false,
        }
    }

    /// Whether it is a share, from 0 to 1. Shares are compared by their difference, and margins on them are in percentage points.
    pub fn is_share(self) -> bool {
        self.unit() == Unit::Share
    }

    /// Whether less of it is better.
    pub fn lower_is_better(self) -> bool {
        self.unit_and_direction().1
    }
}
