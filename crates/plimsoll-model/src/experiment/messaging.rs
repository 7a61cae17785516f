//! Messaging: workers that send each other messages, as hackbench does; and the claim on how its time grows with their number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteSize, Span};

/// Groups of workers that send each other messages. A round is as one of hackbench (rt-tests): all workers are started and wait; at a signal
/// each sender writes its messages to every receiver of its group; the round is over when the last worker has ended. Its time does not contain
/// the making of the workers, but their end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MessagingLoad {
    /// How many groups there are (1 to 1000). They have nothing to do with each other.
    pub groups: u32,
    /// How many workers send in each group, and how many receive (1 to 500): hackbench's `--fds`. There are at most 32000 workers in all.
    pub pairs: u32,
    /// How many messages each sender writes to each receiver (1 to 1000000): hackbench's `--loops`.
    pub messages: u32,
    /// Bytes in a message (1 to 1M).
    pub size: ByteSize,
    /// What messages go through.
    pub over: Channel,
    /// What a worker is.
    pub workers: Workers,
    /// How many rounds there are, each with workers of its own. Give this or `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Begin no further round after this time. Give this or `rounds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

impl Default for MessagingLoad {
    fn default() -> Self {
        Self {
            groups: 10,
            pairs: 20,
            messages: 100,
            size: ByteSize(100),
            over: Channel::Sockets,
            workers: Workers::Processes,
            rounds: None,
            duration: None,
        }
    }
}

impl MessagingLoad {
    /// The most workers that a load may have.
    pub const MOST_WORKERS: u64 = 32_000;

    /// How many workers there are, senders and receivers.
    #[must_use]
    pub fn workers(&self) -> u64 {
        2 * u64::from(self.groups) * u64::from(self.pairs)
    }

    /// How many messages are sent in a round.
    #[must_use]
    pub fn messages_in_a_round(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.pairs).pow(2) * u64::from(self.messages)
    }

    /// One of `number` parts of it, from 0.
    pub(super) fn part(&self, place: u32, number: u32) -> Self {
        Self {
            rounds: self.rounds.map(|all| super::share::share(all, place, number)),
            duration: self.duration.map(|all| Span(all.0 / number)),
            ..self.clone()
        }
    }

    /// So many rounds of it.
    pub(super) fn window(&self, rounds: u64) -> Self {
        Self { rounds: Some(rounds), duration: None, ..self.clone() }
    }

    /// The same for as long as told.
    pub(super) fn lasting(&self, duration: Span) -> Self {
        Self { rounds: None, duration: Some(duration), ..self.clone() }
    }
}

/// What messages go through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A pair of connected sockets (socketpair(2), `AF_UNIX`, `SOCK_STREAM`) for each receiver.
    #[default]
    Sockets,
    /// A pipe (pipe(2)) for each receiver.
    Pipes,
}

/// What a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workers {
    /// A process of its own (fork(2)).
    #[default]
    Processes,
    /// A thread; all are of one process.
    Threads,
}

/// How the time of a messaging load grows with the number of its workers: not at all, in proportion, by a power of it, or in proportion up to a
/// knee and faster from there on. The estimate is by what the time is multiplied when the workers are doubled, at the most that were measured:
/// 1 is constant, 2 linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthClaim {
    /// The measured phase; its load is of kind `messaging`.
    pub phase: String,
    /// The factors whose levels are points of one curve, such as the number of groups. Every combination of levels of the others, such as
    /// processes and threads, is a curve of its own.
    pub over: Vec<String>,
}

impl GrowthClaim {
    /// The fewest levels, over all of its factors, that tell kinds of growth apart.
    pub const LEAST_LEVELS: usize = 5;
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
