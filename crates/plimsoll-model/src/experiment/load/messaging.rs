//! Messaging: workers that send each other messages, as hackbench does.

use super::facts::{FactsType, Join};
use crate::experiment::prelude::*;

use super::extent::{amount, check_extent};
use super::{Carrier, LATENCIES, LoadKind, LoadPlace, LoadType, Target, count};

/// The largest message, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 20;

/// Groups of workers that send each other messages. A round is as one of hackbench (rt-tests). All workers are started and wait. At a signal each
/// sender writes its messages to every receiver of its group; the round is over when the last worker has ended. Its time does not contain the making
/// of the workers, but their end.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct MessagingLoad {
    /// How many groups there are (1 to 1000). They have nothing to do with each other.
    #[default(10)]
    pub groups: u32,
    /// How many workers send in each group, and how many receive (1 to 500): hackbench's `--fds`. There are at most 32000 workers in all.
    #[default(20)]
    pub pairs: u32,
    /// How many messages each sender writes to each receiver (1 to 1000000): hackbench's `--loops`.
    #[default(100)]
    pub messages: u32,
    /// Bytes in a message (1 to 1M).
    #[default(ByteSize(100))]
    pub size: ByteSize,
    /// Channel of the messages.
    pub over: Channel,
    /// Form of a worker.
    #[default(Workers::Processes)]
    pub workers: Workers,
    /// How many rounds there are, each with workers of its own. Give this or `duration`.
    pub rounds: Option<u64>,
    /// Begin no further round after this time. Give this or `rounds`.
    pub duration: Option<Span>,
}

impl MessagingLoad {
    /// The most workers that a load may have.
    pub const MOST_WORKERS: u64 = 32_000;

    /// How many workers there are, senders and receivers.
    pub fn workers(&self) -> u64 {
        2 * u64::from(self.groups) * u64::from(self.pairs)
    }

    /// How many messages are sent in a round.
    pub fn messages_in_a_round(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.pairs).pow(2) * u64::from(self.messages)
    }
}

/// Channel of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A pair of connected sockets (socketpair(2), `AF_UNIX`, `SOCK_STREAM`) for each receiver.
    #[default]
    Sockets,
    /// A pipe (pipe(2)) for each receiver.
    Pipes,
}

/// Form of a worker.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Workers {
    /// A process of its own (fork(2)).
    #[default]
    Processes,
    /// A thread; all are of one process.
    Threads,
}

impl LoadType for MessagingLoad {
    by_count_or_time!(rounds);

    fn metrics(&self) -> Vec<Metric> {
        let rates = [
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
        at.aims_at_nothing("the workers of a messaging load send to each other")?;
        check_extent(at, ("rounds", self.rounds), 1_000_000, self.duration)?;
        in_range(u64::from(self.groups), 1, 1000, at.key("groups"))?;
        in_range(u64::from(self.pairs), 1, 500, at.key("pairs"))?;
        in_range(u64::from(self.messages), 1, 1_000_000, at.key("messages"))?;
        in_range(self.size.0, 1, LARGEST_MESSAGE, at.key("size"))?;
        if self.workers() > MessagingLoad::MOST_WORKERS {
            return Err(problem(
                at.key("groups"),
                format!("these are {} workers", self.workers()),
                format!("at most {} in all: 2 x groups x pairs", MessagingLoad::MOST_WORKERS),
            ));
        }
        Ok(())
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let over = match self.over {
            Channel::Sockets => "sockets",
            Channel::Pipes => "pipes",
        };
        let amount = amount(("rounds", self.rounds), self.duration);
        let groups = count(self.groups, "group");
        format!(
            "messages of {} bytes over {over}, {groups} of {pairs} sending and {pairs} receiving {}, {} each to each, {amount} on {}",
            self.size.0,
            self.workers.name(),
            self.messages,
            at.load.from,
            pairs = self.pairs,
        )
    }

    fn effects(&self, at: &LoadPlace<'_>) -> Vec<Effect> {
        let what = format!("{} {} at a time", self.workers(), self.workers.name());
        let effect = Effect::new(EffectKind::Machine, format!("loads.{}.messaging", at.name), what);
        vec![effect.on(&at.load.from)]
    }
}

impl Workers {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// Results of a messaging load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagingFacts {
    /// Workers in a round, senders and receivers.
    pub workers: u64,
    /// Rounds.
    pub rounds: u64,
    /// The memory of all workers of the first round while they waited for its start; absent where the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<WorkersMemory>,
}

/// Memory that workers need before they send anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersMemory {
    /// Pages of the workers themselves in bytes, shared ones in equal parts (`Pss` of `/proc/PID/smaps_rollup`).
    pub own_bytes: u64,
    /// Growth of the kernel's stacks, page tables and other structures meanwhile, in bytes (`KernelStack`, `PageTables` and `SUnreclaim` of
    /// `/proc/meminfo`). It is that of the whole machine, so that others may be in it.
    pub kernel_bytes: u64,
}

impl FactsType for MessagingFacts {
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

impl Join for MessagingFacts {
    fn join(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.memory = self.memory.or(other.memory);
    }
}

impl MessagingFacts {
    /// The mean time of a round of a load of this duration, in milliseconds; absent where there was none.
    pub fn ms_per_round(&self, elapsed_ns: u64) -> Option<f64> {
        (self.rounds > 0).then(|| elapsed_ns as f64 / 1e6 / self.rounds as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_and_messages_are_counted_as_hackbench_does() {
        let load = MessagingLoad::default();
        assert_eq!((load.workers(), load.messages_in_a_round()), (400, 400_000));
    }
}
