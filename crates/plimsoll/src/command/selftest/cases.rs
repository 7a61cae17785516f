//! The cases: known faults and known innocents, each with the truth about it.
//!
//! The truth stands here alone. The experiments do not have it, and another process runs and judges them, started as a
//! user would.

use plimsoll_host::Access;
use plimsoll_model::cause::CauseId;
use plimsoll_model::report::StateLivesIn;
use plimsoll_model::verdict::Outcome;

/// One question whose answer is known.
#[derive(Debug)]
pub(super) struct Case {
    /// Name on the command line.
    pub(super) name: &'static str,
    /// The question, in a sentence.
    pub(super) question: &'static str,
    /// The experiment that asks it.
    pub(super) experiment: Source,
    /// More words for `plimsoll run`.
    pub(super) words: &'static [&'static str],
    /// The truth about the case.
    pub(super) truth: Truth,
    /// Requirements of the case.
    pub(super) needs: Need,
}

/// Where an experiment comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A shipped experiment, by its name.
    Shipped(&'static str),
    /// One of the self-test's own: its text.
    Own(&'static str),
}

/// The truth about a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth {
    /// Whether something is wrong in it.
    pub(super) kind: Kind,
    /// The verdict that the first claim must get.
    pub(super) outcome: Outcome,
    /// The cause that the run must name.
    pub(super) cause: ExpectedCause,
}

/// Whether something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There is something to be found.
    Fault,
    /// There is nothing.
    Innocent,
}

/// The cause that a run must name.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpectedCause {
    /// This cause, before all others.
    Cause(CauseId),
    /// Where the state lives that holds the figure down.
    LivesIn(StateLivesIn),
    /// No cause may be named.
    NoCause,
    /// Any cause, or none.
    Any,
}

/// A requirement of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Neither root nor namespaces.
    Nothing,
    /// Hosts with a kernel's network of their own.
    Namespaces,
    /// Loop devices, and limits on them.
    Root,
}

impl Need {
    /// Why it cannot be had here; `None` if it can.
    pub(super) fn missing(self, access: &Access) -> Option<String> {
        match (self, access) {
            (Self::Nothing, _) | (_, Access::Root) | (Self::Namespaces, Access::UserNamespace) => None,
            (Self::Namespaces, Access::Local(why)) => {
                Some(format!("needs namespaces, and user namespaces are forbidden here {why}"))
            }
            (Self::Root, _) => Some("needs root".to_owned()),
        }
    }

    /// As a list has it; `None` if nothing is needed.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Namespaces => Some("namespaces"),
            Self::Root => Some("root"),
        }
    }
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Innocent => "innocent",
        }
    }
}

const fn fault(outcome: Outcome, cause: ExpectedCause) -> Truth {
    Truth { kind: Kind::Fault, outcome, cause }
}

const fn innocent(outcome: Outcome, cause: ExpectedCause) -> Truth {
    Truth { kind: Kind::Innocent, outcome, cause }
}

/// Floods are asked whether a third is lost: the leaks take much more, and a busy machine can measure that.
const WIDE: &[&str] = &["--set", "claims.0.recovery.margin=30 %"];

const GATEWAY: Source = Source::Own(include_str!("own/gateway.toml"));
const QUEUE: Source = Source::Own(include_str!("own/queue.toml"));
const SENDERS: Source = Source::Own(include_str!("own/senders.toml"));
const PATH: Source = Source::Own(include_str!("own/path.toml"));

/// All cases, most faults beside a similar innocent, in the order of the tries: when time runs out, the later ones are skipped.
pub(super) const ALL: &[Case] = &[
    Case {
        name: "few-ports",
        question: "A gateway has 400 ports and reuses them too soon: is it slower, and is the cause named?",
        experiment: GATEWAY,
        words: &[],
        truth: fault(Outcome::Slower, ExpectedCause::Cause(CauseId::NetTimeWaitReuse)),
        needs: Need::Namespaces,
    },
    Case {
        name: "many-ports",
        question: "The gateway loses a thousand ports and still has enough: does the verdict say `same`?",
        experiment: GATEWAY,
        words: &["--set", r#"factors.ports.levels=["1024-65535", "2000-65535"]"#],
        truth: innocent(Outcome::Same, ExpectedCause::NoCause),
        needs: Need::Namespaces,
    },
    Case {
        name: "leaky-service",
        question: "A relay keeps a record of each connection of a flood: is it `not recovered`, with the state in the service?",
        experiment: Source::Shipped("recovery/flood-relay-leaky-service"),
        words: WIDE,
        truth: fault(Outcome::NotRecovered, ExpectedCause::LivesIn(StateLivesIn::Service)),
        needs: Need::Nothing,
    },
    Case {
        name: "flood-relay",
        question: "A relay keeps no record of the same flood: is it `recovered`?",
        experiment: Source::Shipped("recovery/flood-relay"),
        words: WIDE,
        truth: innocent(Outcome::Recovered, ExpectedCause::NoCause),
        needs: Need::Nothing,
    },
    Case {
        name: "two-writes",
        question: "A sender writes in two pieces and waits for the reply: is the delayed acknowledgement named?",
        experiment: Source::Shipped("bulk/splice-stalls"),
        words: &["--factor", "sender=steady,write_write_read"],
        truth: fault(Outcome::Slower, ExpectedCause::Cause(CauseId::NetDelayedAck)),
        needs: Need::Namespaces,
    },
    Case {
        name: "steady-senders",
        question: "Two senders keep the same path busy: does the report name no stall?",
        experiment: SENDERS,
        words: &[],
        truth: innocent(Outcome::Same, ExpectedCause::NoCause),
        needs: Need::Namespaces,
    },
    Case {
        name: "lossy-path",
        question: "A path loses one packet in twenty: is the TCP rate `not reached`?",
        experiment: PATH,
        words: &["--set", "links.0.loss=0.05"],
        truth: fault(Outcome::NotReached, ExpectedCause::Any),
        needs: Need::Namespaces,
    },
    Case {
        name: "good-path",
        question: "The same path loses no packet: is the TCP rate `reached`?",
        experiment: PATH,
        words: &[],
        truth: innocent(Outcome::Reached, ExpectedCause::NoCause),
        needs: Need::Namespaces,
    },
    Case {
        name: "leaky-kernel",
        question: "A relay leaves routing rules in its host's kernel: is the state found there, not in the relay?",
        experiment: Source::Shipped("recovery/flood-relay-leaky-host"),
        words: WIDE,
        truth: fault(Outcome::NotRecovered, ExpectedCause::LivesIn(StateLivesIn::HostKernel)),
        needs: Need::Namespaces,
    },
    Case {
        name: "short-queue",
        question: "A server's listen queue holds one connection: is the queue named?",
        experiment: QUEUE,
        words: &[],
        truth: fault(Outcome::Slower, ExpectedCause::Cause(CauseId::NetListenOverflow)),
        needs: Need::Namespaces,
    },
    Case {
        name: "long-queue",
        question: "A server's listen queue is twice as long as needed: does the verdict say `same`?",
        experiment: QUEUE,
        words: &["--set", "factors.queue.levels=[511, 1024]"],
        truth: innocent(Outcome::Same, ExpectedCause::NoCause),
        needs: Need::Namespaces,
    },
    Case {
        name: "two-modes",
        question: "Another reader uses the disk from time to time: are two modes found?",
        experiment: Source::Shipped("storage/two-modes"),
        words: &[],
        truth: fault(Outcome::SeveralModes, ExpectedCause::Any),
        needs: Need::Nothing,
    },
    Case {
        name: "one-mode",
        question: "The kernel limits a device to one rate: is one mode found?",
        experiment: Source::Shipped("storage/one-mode"),
        words: &[],
        truth: innocent(Outcome::OneMode, ExpectedCause::NoCause),
        needs: Need::Root,
    },
    Case {
        name: "foreign-sync",
        question: "Another process flushes a mail relay's disk: is the cause named?",
        experiment: Source::Shipped("mail/foreign-sync"),
        words: &[],
        truth: fault(Outcome::Slower, ExpectedCause::Cause(CauseId::DiskForeignSync)),
        needs: Need::Root,
    },
    Case {
        name: "interaction",
        question: "Few ports and a server that closes first are slow only together: is it an interaction?",
        experiment: Source::Shipped("web/port-reuse-matrix"),
        words: &[],
        truth: fault(Outcome::Interaction, ExpectedCause::Any),
        needs: Need::Namespaces,
    },
    Case {
        name: "no-interaction",
        question: "A longer path and more clients act independently: is the verdict `additive`?",
        experiment: Source::Shipped("web/additive-matrix"),
        // The interaction beside it is one of nine tenths.
        words: &["--set", "claims.0.interaction.margin=30 %"],
        truth: innocent(Outcome::Additive, ExpectedCause::Any),
        needs: Need::Namespaces,
    },
];

impl Truth {
    /// In a few words: `slower, net.time_wait_reuse`.
    pub(super) fn text(&self) -> String {
        let outcome = in_words(self.outcome);
        match self.cause {
            ExpectedCause::Cause(cause) => format!("{outcome}, {}", cause.id()),
            ExpectedCause::LivesIn(place) => format!("{outcome}, {}", place_in_words(place)),
            ExpectedCause::NoCause => format!("{outcome}, no cause"),
            ExpectedCause::Any => outcome,
        }
    }
}

/// An outcome without its underscores.
pub(super) fn in_words(outcome: Outcome) -> String {
    outcome.name().replace('_', " ")
}

pub(super) fn place_in_words(place: StateLivesIn) -> &'static str {
    match place {
        StateLivesIn::Service => "state in the service",
        StateLivesIn::Cache => "state in a cache",
        StateLivesIn::HostKernel => "state in the host's kernel",
        StateLivesIn::Elsewhere => "state elsewhere",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::{Args, Command, RunArgs};
    use crate::command;
    use crate::shipped;
    use clap::Parser;

    fn run_args(words: &[&str]) -> Box<RunArgs> {
        let all = ["plimsoll", "run", "x", "--quick"].iter().chain(words);
        match Args::try_parse_from(all).expect("words for `plimsoll run`").command {
            Command::Run(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_case_can_be_planned_and_its_truth_is_something_that_its_first_claim_can_say() {
        for case in ALL {
            let source = match case.experiment {
                Source::Shipped(name) => shipped::find(name).expect("it ships"),
                Source::Own(text) => shipped::Source {
                    name: case.name.into(),
                    origin: case.name.into(),
                    area: None,
                    is_stored: false,
                    text: text.into(),
                },
            };
            let plan = match command::plan(&source, &run_args(case.words).plan) {
                Ok(plan) => plan,
                Err(failure) => panic!("{}: {failure}", case.name),
            };
            let claim = &plan.experiment.claims[0];
            let standing =
                plimsoll_model::verdict::Verdict::bare("", "", case.truth.outcome, 1, "").standing();
            assert_ne!(standing, plimsoll_model::verdict::Standing::Open, "{}: {claim:?}", case.name);
        }
    }

    #[test]
    fn names_are_unique_and_there_are_faults_and_innocents() {
        let names: BTreeSet<&str> = ALL.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), ALL.len());
        let faults = ALL.iter().filter(|case| case.truth.kind == Kind::Fault).count();
        assert!(faults >= 7 && ALL.len() - faults >= 7, "{faults} of {}", ALL.len());
    }

    #[test]
    fn what_is_missing_is_named_and_root_lacks_nothing() {
        assert_eq!(Need::Root.missing(&Access::UserNamespace).as_deref(), Some("needs root"));
        assert!(Need::Namespaces.missing(&Access::UserNamespace).is_none());
        for need in [Need::Nothing, Need::Namespaces, Need::Root] {
            assert!(need.missing(&Access::Root).is_none());
        }
    }
}
