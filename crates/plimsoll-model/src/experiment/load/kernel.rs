//! A path through the kernel, taken again and again by one process.

use super::facts::{FactsType, Join};
use crate::experiment::prelude::*;

use super::extent::{amount, check_extent};
use super::{Carrier, LoadKind, LoadPlace, LoadType, Target};

/// The most objects that a path leads past.
const MOST_AMONG: u64 = 100_000;

/// One path through the kernel, taken again and again by one process: its rate shows how long it is. What it leads past is made before, is not
/// counted, and does not stay.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelLoad {
    /// Which path.
    pub path: KernelPath,
    /// Number of objects that the path leads past: routing rules, rules of nftables, sockets in TIME_WAIT, processes that sleep (0 to 100000).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub among: u32,
    /// How often it is taken. Give this or `duration`.
    pub operations: Option<u64>,
    /// How long it is taken. Give this or `operations`.
    pub duration: Option<Span>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A path through the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelPath {
    /// A system call that does next to nothing: getppid(2).
    SystemCall,
    /// A process that is forked, ends at once, and is waited for.
    Fork,
    /// Fork, then exec of a program that ends at once.
    Exec,
    /// A page of memory that is touched for the first time.
    PageFault,
    /// 64 KiB that go from a pipe to a TCP connection over loopback by four calls of splice(2), and are read at its other end.
    Splice,
    /// Splice where each call but the last announces more data (`SPLICE_F_MORE`).
    SpliceMore,
    /// A route that is looked up, behind `among` routing rules that do not fit (`fib_rules_lookup`).
    RoutingRules,
    /// A datagram over loopback that passes `among` rules of nftables, none of which fits (`nft_do_chain`).
    FilterRules,
    /// A TCP connection over loopback that is opened, accepted and closed, where at least `among` others are in TIME_WAIT.
    TimeWait,
    /// A byte to another process and back, by pipes, where `among` other processes sleep.
    Processes,
}

impl KernelPath {
    /// Objects that it leads past, where there are any.
    fn past(self) -> Option<&'static str> {
        match self {
            Self::RoutingRules => Some("routing rules"),
            Self::FilterRules => Some("rules of nftables"),
            Self::TimeWait => Some("sockets in TIME_WAIT"),
            Self::Processes => Some("processes that sleep"),
            _ => None,
        }
    }

    /// Whether it changes the network namespace that it runs in.
    pub fn changes_the_network(self) -> bool {
        matches!(self, Self::RoutingRules | Self::FilterRules)
    }

    fn words(self) -> &'static str {
        match self {
            Self::SystemCall => "a system call",
            Self::Fork => "fork, exit and wait",
            Self::Exec => "fork, exec, exit and wait",
            Self::PageFault => "a page fault",
            Self::Splice => "64 KiB from a pipe to TCP by splice",
            Self::SpliceMore => "64 KiB from a pipe to TCP by splice with SPLICE_F_MORE",
            Self::RoutingRules => "the look-up of a route",
            Self::FilterRules => "a datagram over loopback",
            Self::TimeWait => "a TCP connection over loopback",
            Self::Processes => "a byte to another process and back",
        }
    }
}

impl LoadType for KernelLoad {
    by_count_or_time!(operations);

    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::RequestsPerSecond, Metric::CpuUsPerRequest]
    }

    fn operations(&self) -> &'static str {
        "operations"
    }

    fn target(&self) -> Target {
        Target::Nothing
    }

    fn carrier(&self) -> Carrier {
        Carrier::Process
    }

    fn runs_on_groups(&self) -> bool {
        false
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        at.aims_at_nothing("a path through the kernel is taken on its own host")?;
        check_extent(at, ("operations", self.operations), 1_000_000_000, self.duration)?;
        in_range(u64::from(self.among), 0, MOST_AMONG, at.key("among"))?;
        if self.among > 0 && self.path.past().is_none() {
            let message = format!("{} leads past nothing", self.path.words());
            let expected = "`among` with `routing_rules`, `filter_rules`, `time_wait` or `processes`";
            return Err(problem(at.key("among"), message, expected));
        }
        if self.path.changes_the_network() && !at.experiment.hosts[&at.load.from].kind.own().network {
            let message = "its rules would be those of the machine";
            return Err(problem(at.key("path"), message, "a host with a network of its own"));
        }
        Ok(())
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let amount = amount(("operations", self.operations), self.duration);
        let past = match self.path.past() {
            Some(past) => format!(" past {} {past}", self.among),
            None => String::new(),
        };
        format!("{}{past}, {amount} on {}", self.path.words(), at.load.from)
    }

    fn effects(&self, at: &LoadPlace<'_>) -> Vec<Effect> {
        if self.path != KernelPath::Processes {
            return Vec::new();
        }
        let what = format!("{} processes at a time", self.among + 2);
        let effect = Effect::new(EffectKind::Machine, format!("loads.{}.kernel", at.name), what);
        vec![effect.on(&at.load.from)]
    }

    fn kernel_modules(&self) -> &'static [&'static str] {
        match self.path {
            KernelPath::FilterRules => &["nf_tables"],
            _ => &[],
        }
    }
}

/// Results of a load on a path through the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFacts {
    /// Number of these objects when the load began.
    pub among: u64,
}

impl FactsType for KernelFacts {
    fn rate(&self) -> Option<Metric> {
        Some(Metric::RequestsPerSecond)
    }

    fn is_in_report(&self) -> bool {
        true
    }

    fn measures_its_own_work(&self) -> bool {
        true
    }
}

impl Join for KernelFacts {
    fn join(&mut self, other: &Self) {
        self.among = self.among.max(other.among);
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::parse;

    fn refusal(load: &str, host: &str) -> Option<String> {
        let text = format!(
            "question = \"q\"\n[hosts.a]\n{host}\n[loads.l]\nfrom = \"a\"\nkernel = {{ {load} }}\n[[phases]]\nname = \"p\"\nmeasure = \"l\"\n"
        );
        parse(&text, &[]).err().map(|error| error.message)
    }

    #[test]
    fn paths_that_make_no_sense_are_refused() {
        assert_eq!(refusal("path = \"fork\", operations = 10", ""), None);
        assert_eq!(refusal("path = \"processes\", among = 100, duration = \"1s\"", ""), None);
        let cases = [
            ("path = \"fork\"", "", "does not state its length"),
            ("path = \"fork\", among = 3, operations = 10", "", "fork, exit and wait leads past nothing"),
            ("path = \"time_wait\", among = 100001, operations = 10", "", "100001 is out of range"),
            ("path = \"fork\", operations = 0", "", "0 is out of range"),
            (
                "path = \"filter_rules\", operations = 10",
                "kind = \"local\"",
                "its rules would be those of the machine",
            ),
        ];
        for (load, host, expected) in cases {
            let message = refusal(load, host).unwrap_or_default();
            assert!(message.contains(expected), "{load}: {message}");
        }
    }
}
