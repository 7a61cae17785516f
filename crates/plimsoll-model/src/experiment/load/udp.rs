//! UDP loads: datagrams at a rate.

use super::facts::{FactsType, Join, per_second};
use crate::experiment::prelude::*;

use super::{LoadKind, LoadPlace, LoadType, count};

/// Datagrams at a rate, counted where they arrive.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct UdpLoad {
    /// How many flows there are, each a socket and a thread of its own (1 to 64).
    #[default(1)]
    pub flows: u32,
    /// Datagrams per second of each flow (1 to 100000000); without it, as many as the system takes.
    pub packets_per_second: Option<u64>,
    /// The length of a datagram in bytes, without headers (32 to 65507).
    #[default(1448)]
    pub size: u32,
    /// How long it goes on.
    #[default(Span::secs(5))]
    pub duration: Span,
    /// How many datagrams are handed over in one call, at most (`sendmmsg`; 1 to 1024).
    #[default(64)]
    pub batch: u32,
    /// Whether the kernel, or the network card, cuts datagrams of equal length out of larger ones (`UDP_SEGMENT`).
    #[default(true)]
    pub gso: bool,
    /// The send and receive buffers (`SO_SNDBUF`, `SO_RCVBUF`); by default the kernel's own.
    pub buffer: Option<ByteSize>,
}

impl UdpLoad {
    /// How long a window is where no rate says how long its datagrams take.
    const WINDOW: Span = Span::millis(100);
}

impl LoadType for UdpLoad {
    fn part(&self, _place: u32, number: u32) -> LoadKind {
        Self { duration: Span(self.duration.0 / number), ..self.clone() }.into()
    }

    fn window(&self, datagrams: u64) -> LoadKind {
        let length = |rate: u64| Span(std::time::Duration::from_secs_f64(datagrams as f64 / rate as f64));
        Self { duration: self.packets_per_second.map_or(Self::WINDOW, length), ..self.clone() }.into()
    }

    fn lasting(&self, duration: Span) -> LoadKind {
        Self { duration, ..self.clone() }.into()
    }

    fn lasts(&self) -> Option<Span> {
        Some(self.duration)
    }

    fn usual_metric(&self) -> Metric {
        Metric::PacketsPerSecond
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::BitsPerSecond,
            Metric::MegabytesPerSecond,
            Metric::PacketsPerSecond,
            Metric::LossShare,
            Metric::JitterMs,
        ]
    }

    fn operations(&self) -> &'static str {
        "datagrams"
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        in_range(u64::from(self.flows), 1, 64, at.key("flows"))?;
        in_range(u64::from(self.size), 32, 65_507, at.key("size"))?;
        in_range(u64::from(self.batch), 1, 1024, at.key("batch"))?;
        if let Some(rate) = self.packets_per_second {
            in_range(rate, 1, 100_000_000, at.key("packets_per_second"))?;
        }
        if self.duration.0.is_zero() {
            return Err(problem(at.key("duration"), "nothing can be sent in no time", "a length of time"));
        }
        let to = &at.load.to;
        if at.experiment.services[to].kind.bulk().is_some() {
            return Ok(());
        }
        let message = format!("the service `{to}` takes no datagrams");
        Err(problem(path!["loads", at.name, "to"], message, "a service of kind `bulk`"))
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        format!("datagrams {}, {}, {}", at.way(), count(self.flows, "flow"), self.duration)
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// Fate of datagrams, as the receiver counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// How many the rate called for; as many as were sent where no rate was asked for.
    pub intended: u64,
    /// Sent.
    pub sent: u64,
    /// Received, each counted once.
    pub received: u64,
    /// Received again.
    pub duplicates: u64,
    /// Received after one that was sent later.
    pub reordered: u64,
    /// The jitter of arrival at the end (RFC 3550, section 6.4.1), in microseconds; the mean over flows.
    pub jitter_us: f64,
    /// CPU time of the receiver's thread, in microseconds.
    pub receiver_cpu_us: u64,
}

impl Datagrams {
    /// Sent, but not received.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

impl FactsType for Datagrams {
    fn figure(&self, metric: Metric, seconds: f64) -> Option<f64> {
        match metric {
            Metric::PacketsPerSecond => per_second(self.received as f64, seconds),
            Metric::LossShare => (self.sent > 0).then(|| self.lost() as f64 / self.sent as f64),
            Metric::JitterMs => Some(self.jitter_us / 1e3),
            _ => None,
        }
    }

    fn rate(&self) -> Option<Metric> {
        Some(Metric::PacketsPerSecond)
    }

    fn is_in_report(&self) -> bool {
        true
    }

    fn measures_its_own_work(&self) -> bool {
        true
    }

    fn offered(&self) -> Option<(u64, u64)> {
        Some((self.sent, self.intended))
    }

    fn done(&self, _bytes: u64) -> Option<u64> {
        Some(self.received)
    }
}

impl Join for Datagrams {
    fn join(&mut self, other: &Self) {
        let (mine, theirs) = (self.received as f64, other.received as f64);
        let weighed = self.jitter_us * mine + other.jitter_us * theirs;
        *self = Self {
            intended: self.intended + other.intended,
            sent: self.sent + other.sent,
            received: self.received + other.received,
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
            jitter_us: weighed / (mine + theirs).max(1.0),
            receiver_cpu_us: self.receiver_cpu_us + other.receiver_cpu_us,
        };
    }
}
