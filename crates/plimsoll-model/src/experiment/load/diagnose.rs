//! Whether a path is good enough for TCP at a rate: what is measured of it, and the claim.

use super::facts::{FactsType, Join};
use super::streams::Stream;
use crate::experiment::prelude::*;
use std::time::Duration;

use super::{LoadKind, LoadPlace, LoadType};

/// The most datagrams of a burst.
const LONGEST_BURST: u32 = 100_000;

/// Capacity of a path, and of the hosts at its ends, for TCP. It measures losses among datagrams that are far apart, what arrives at the rate that is
/// wanted, the longest burst that a queue takes, and the limits of TCP on both hosts. The path may be a part of a longer one. Its round-trip time is
/// then shorter than `rtt`, and it must be as good as the whole has to be (Mathis, Heffner, O'Neil & Siemsen 2008, *Pathdiag*). The service is of
/// kind `bulk`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseLoad {
    /// The rate that TCP is to reach over the whole path, in bits of data per second (10kbit to 10Gbit).
    pub rate: BitRate,
    /// The round-trip time of the whole path (100us to 10s).
    pub rtt: Span,
    /// The segment size of TCP, in bytes of data (256 to 8948).
    #[serde(default = "crate::units::number::<1448>")]
    pub segment: u32,
    /// C of Mathis' formula: rate = C·MSS / (RTT·√loss) (0.1 to 10).
    #[serde(default = "DiagnoseLoad::default_constant")]
    pub constant: f64,
    /// How many datagrams are sent far apart, to count losses (100 to 10000000). Fewer than three times as many as one of which may be
    /// lost cannot show that a path is good.
    #[serde(default = "crate::units::number::<8000>")]
    pub packets: u32,
    /// How long the rate is offered, and how long TCP sends (at most 10m).
    #[serde(default = "Span::of_secs::<3>")]
    pub duration: Span,
    /// How many bursts are sent (1 to 1000).
    #[serde(default = "crate::units::number::<9>")]
    pub bursts: u32,
}

impl DiagnoseLoad {
    fn default_constant() -> f64 {
        0.7
    }

    /// The headers of a segment: IP, TCP and its timestamps, in bytes.
    pub const HEADERS: u32 = 52;

    /// Bandwidth-delay product at that rate and time, in bytes of data: the window that TCP needs, and the queue.
    pub fn window(&self) -> f64 {
        self.rate.0 as f64 * self.rtt.0.as_secs_f64() / 8.0
    }

    /// How many datagrams a burst has: twice as many bytes as the queue is to take, and some.
    pub fn burst(&self) -> u32 {
        (2.0 * self.window() / f64::from(self.segment)).ceil() as u32 + 4
    }
}

impl LoadType for DiagnoseLoad {
    /// A part of a diagnosis is none.
    fn part(&self, _place: u32, _number: u32) -> LoadKind {
        self.clone().into()
    }

    fn window(&self, _operations: u64) -> LoadKind {
        self.clone().into()
    }

    fn lasting(&self, _duration: Span) -> LoadKind {
        self.clone().into()
    }

    fn lasts(&self) -> Option<Span> {
        None
    }

    fn usual_metric(&self) -> Metric {
        Metric::BitsPerSecond
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::BitsPerSecond, Metric::MegabytesPerSecond]
    }

    fn operations(&self) -> &'static str {
        "probes"
    }

    fn runs_on_groups(&self) -> bool {
        false
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        if at.experiment.services[&at.load.to].kind.bulk().is_none() {
            return Err(problem(
                path!["loads", at.name, "to"],
                format!("the service `{}` does not report what arrives", at.load.to),
                "a service of kind `bulk`",
            ));
        }
        in_range(self.rate.0, 10_000, 10_000_000_000, at.key("rate"))?;
        in_range(u64::from(self.segment), 256, 8948, at.key("segment"))?;
        in_range(u64::from(self.packets), 100, 10_000_000, at.key("packets"))?;
        in_range(u64::from(self.bursts), 1, 1000, at.key("bursts"))?;
        let shortest = Span(Duration::from_micros(100));
        within(self.rtt, shortest..=Span::secs(10), at.key("rtt"), "from 100us to 10s")?;
        within(self.duration, up_to(Span::secs(600)), at.key("duration"), "a length of time of at most 10m")?;
        within(self.constant, 0.1..=10.0, at.key("constant"), "a number from 0.1 to 10")?;
        if self.burst() > LONGEST_BURST {
            return Err(problem(
                at.key("rtt"),
                "a queue for that rate and that time takes more than a burst can show",
                format!("at most {LONGEST_BURST} segments under way"),
            ));
        }
        Ok(())
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        format!("the path {} is examined for TCP at {} over {}", at.way(), self.rate, self.rtt)
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// Capacity of a path for TCP, and the streams that TCP sent over it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnoseFacts {
    /// Capacity of the path.
    pub path: PathFacts,
    /// Streams of TCP.
    pub streams: Vec<Stream>,
}

/// Fate of datagrams over a path, and TCP's limits on the hosts at its ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathFacts {
    /// The length of each datagram as an Ethernet frame, in bytes.
    pub frame_bytes: u32,
    /// Datagrams that were sent far apart.
    pub apart: Train,
    /// Datagrams that were sent at the wanted rate.
    pub at_rate: Train,
    /// Datagrams that were sent as fast as the sender can, burst by burst.
    pub bursts: Vec<Train>,
    /// TCP's limits on the load's host.
    pub sender: TcpLimits,
    /// Limits on the service's host.
    pub receiver: TcpLimits,
}

/// Datagrams one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Train {
    /// How many were sent.
    pub sent: u64,
    /// How many arrived.
    pub received: u64,
    /// From the first to the last that was sent, in nanoseconds.
    pub elapsed_ns: u64,
}

/// TCP's limits on a host (`/proc/sys/net/ipv4/tcp_*`, ip-sysctl in the kernel's documentation).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpLimits {
    /// The largest send buffer that the kernel makes by itself, in bytes (`tcp_wmem`).
    pub send_buffer: u64,
    /// The largest receive buffer, likewise (`tcp_rmem`).
    pub receive_buffer: u64,
    /// Whether windows may be larger than 64 KiB (`tcp_window_scaling`, RFC 7323).
    pub window_scaling: bool,
    /// Whether several losses in a window are reported one by one (`tcp_sack`, RFC 2018).
    pub selective_acks: bool,
    /// The congestion control of new connections (`tcp_congestion_control`).
    pub congestion: String,
}

impl FactsType for DiagnoseFacts {
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
        let PathFacts { apart, at_rate, bursts, .. } = &self.path;
        let of_bursts = bursts.iter().map(|burst| burst.received).sum::<u64>();
        Some(bytes + apart.received + at_rate.received + of_bursts)
    }
}

impl Join for DiagnoseFacts {
    fn join(&mut self, other: &Self) {
        self.streams.extend(other.streams.iter().cloned());
    }
}
