//! Probes of a path, hop by hop, and the claim about what they find.

use super::facts::{FactsType, Join};
use crate::experiment::prelude::*;

use super::{LoadKind, LoadPlace, LoadType};

/// Datagrams of several sizes that expire at each router of the path in turn, so that each answers (as traceroute and pathchar do). Nothing
/// but IP is needed on the way, and no privilege. Routers limit how often they answer; for hosts of the experiment's own that is the setting
/// `"net.ipv4.icmp_ratemask" = 0`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct HopsLoad {
    /// How many probes of each size go to each hop (1 to 100000).
    #[default(64)]
    pub probes: u32,
    /// How many sizes there are (6 to 64): half of them below what an answer quotes of a probe, half above.
    #[default(14)]
    pub sizes: u32,
    /// The largest probe, in bytes with its IP header (700 to 65535). No link of the path may have a smaller MTU.
    #[default(1500)]
    pub largest: u32,
    /// How many hops are looked for, at most (1 to 64).
    #[default(30)]
    pub most_hops: u32,
    /// The first of the ports that probes go to, one after the other (1024 to 49152). No service should listen there.
    #[default(33_434)]
    pub port: u16,
    /// The shortest time between two probes. It is longer on a path on which probes would else queue behind each other.
    #[default(Span::millis(1))]
    pub spacing: Span,
    /// How long an answer may take (at most 10 s).
    #[default(Span::secs(1))]
    pub timeout: Span,
}

impl HopsLoad {
    /// The largest probe that is quoted whole: an answer has at most 576 bytes (RFC 1812, section 4.3.2.3), 28 of them its own headers.
    pub const QUOTED_WHOLE: u32 = 548;
    /// The smallest probe: the headers of IP and UDP.
    pub const SMALLEST: u32 = 28;

    /// The sizes in rising order, in bytes with the IP header.
    pub fn ladder(&self) -> Vec<u32> {
        let below = self.sizes / 2;
        let above = self.sizes - below;
        let step = |from: u32, to: u32, nth: u32, of: u32| from + (to - from) * nth / (of - 1).max(1);
        let small = (0..below).map(|nth| step(Self::SMALLEST, Self::QUOTED_WHOLE, nth, below));
        // The largest that is quoted whole stands on both lines.
        let large = (1..=above).map(|nth| step(Self::QUOTED_WHOLE, self.largest, nth, above + 1));
        small.chain(large).collect()
    }
}

impl LoadType for HopsLoad {
    fn part(&self, place: u32, number: u32) -> LoadKind {
        self.window(share(self.probes.into(), place, number))
    }

    fn window(&self, probes: u64) -> LoadKind {
        Self { probes: u32::try_from(probes).unwrap_or(u32::MAX), ..self.clone() }.into()
    }

    /// Probing ends when all probes are answered; as a background load it starts again.
    fn lasting(&self, _duration: Span) -> LoadKind {
        self.clone().into()
    }

    fn lasts(&self) -> Option<Span> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn operations(&self) -> &'static str {
        "probes"
    }

    fn runs_on_groups(&self) -> bool {
        false
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        in_range(u64::from(self.probes), 1, 100_000, at.key("probes"))?;
        in_range(u64::from(self.sizes), 6, 64, at.key("sizes"))?;
        in_range(u64::from(self.largest), 700, 65_535, at.key("largest"))?;
        in_range(u64::from(self.most_hops), 1, 64, at.key("most_hops"))?;
        in_range(u64::from(self.port), 1024, 49_152, at.key("port"))?;
        let expected = "a length of time of at most 10 s";
        within(self.spacing, ..=Span::secs(10), at.key("spacing"), expected)?;
        within(self.timeout, up_to(Span::secs(10)), at.key("timeout"), expected)
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let probes = u64::from(self.probes) * u64::from(self.sizes);
        format!("{probes} probes to each hop of the path {}", at.way())
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// The answers to the probes of a path, hop by hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedPath {
    /// Whether the last hop is the host that was aimed at.
    pub reached: bool,
    /// The hops, the nearest first.
    pub hops: Vec<ProbedHop>,
}

/// One hop: a link, and the router (or the target) behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedHop {
    /// Address that answered; absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Replies to the probes of each size, by rising size; empty where no router replied.
    pub sizes: Vec<ProbedSize>,
}

/// The probes of one size to one hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedSize {
    /// The length of a probe, in bytes with its IP header.
    pub bytes: u32,
    /// The length of an answer, likewise; 0 where there was none.
    pub answer_bytes: u32,
    /// How many were sent.
    pub sent: u32,
    /// The round-trip time of each that was answered, in nanoseconds, in the order of sending.
    pub rtt_ns: Vec<u64>,
}

impl FactsType for ProbedPath {}

impl Join for ProbedPath {
    /// Every slice probes one path, so the first stands for all.
    fn join(&mut self, _other: &Self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_rise_on_both_sides_of_what_is_quoted_whole() {
        let sizes = HopsLoad::default().ladder();
        assert_eq!(sizes.len(), 14);
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        assert_eq!((sizes[0], sizes[6], sizes[13]), (28, 548, 1500));
        let six = HopsLoad { sizes: 6, largest: 700, ..HopsLoad::default() }.ladder();
        assert_eq!((six.len(), six[2], six[5]), (6, 548, 700));
    }
}
