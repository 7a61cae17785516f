//! UDP loads: datagrams at a rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LoadKind, LoadPlace, LoadType, count};
use crate::experiment::Metric;
use crate::experiment::problem::{Checked, Part, in_range, problem};
use crate::units::{ByteSize, Span};

/// Datagrams at a rate, counted where they arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpLoad {
    /// How many flows there are, each a socket and a thread of its own (1 to 64).
    pub flows: u32,
    /// Datagrams per second of each flow (1 to 100000000); without it, as many as the system takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<u64>,
    /// The length of a datagram in bytes, without headers (32 to 65507).
    pub size: u32,
    /// How long it goes on.
    pub duration: Span,
    /// How many datagrams are handed over in one call, at most (`sendmmsg`; 1 to 1024).
    pub batch: u32,
    /// Whether the kernel, or the network card, cuts datagrams of equal length out of larger ones (`UDP_SEGMENT`).
    pub gso: bool,
    /// The send and receive buffers (`SO_SNDBUF`, `SO_RCVBUF`); by default the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<ByteSize>,
}

impl Default for UdpLoad {
    fn default() -> Self {
        Self {
            flows: 1,
            packets_per_second: None,
            size: 1448,
            duration: Span::secs(5),
            batch: 64,
            gso: true,
            buffer: None,
        }
    }
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
        at.aims_at_a_service()?;
        let here = |key: &str| path!["loads", at.name, "udp", key];
        in_range(u64::from(self.flows), 1, 64, here("flows"))?;
        in_range(u64::from(self.size), 32, 65_507, here("size"))?;
        in_range(u64::from(self.batch), 1, 1024, here("batch"))?;
        if let Some(rate) = self.packets_per_second {
            in_range(rate, 1, 100_000_000, here("packets_per_second"))?;
        }
        if self.duration.0.is_zero() {
            return Err(problem(here("duration"), "nothing can be sent in no time", "a length of time"));
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
}
