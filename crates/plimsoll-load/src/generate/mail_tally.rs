//! Counts of mail beside those of every load.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use plimsoll_model::ids::IdSet;
use plimsoll_model::observation::{CommandLatency, Histogram as Recorded, MailFacts};

use super::histogram::{histogram, record};
use crate::smtp::dialog::Command;

/// Counts of the mail of a load so far.
#[derive(Default)]
pub(in crate::generate) struct MailTally {
    pub(super) acknowledged: IdSet,
    pub(super) uncertain: IdSet,
    pub(super) refused_recipients: u64,
    commands: BTreeMap<Command, Histogram<u64>>,
}

impl MailTally {
    /// A command that was sent at `sent` was answered at `now`.
    pub(super) fn answered(&mut self, command: Command, sent: u64, now: u64) {
        record(self.commands.entry(command).or_insert_with(histogram), sent, now);
    }

    /// Takes in what another generator of the same load counted.
    pub(in crate::generate) fn merge(&mut self, other: Self) {
        self.acknowledged.extend(&other.acknowledged);
        self.uncertain.extend(&other.uncertain);
        self.refused_recipients += other.refused_recipients;
        for (command, theirs) in other.commands {
            let mine = self.commands.entry(command).or_insert_with(histogram);
            mine.add(theirs).expect("histograms of the same bounds can be added");
        }
    }

    /// As an observation has it.
    pub(in crate::generate) fn into_facts(self) -> MailFacts {
        let latency = |(command, histogram): (Command, Histogram<u64>)| {
            let histogram = Recorded::from(&histogram);
            let latency = CommandLatency { percentiles: histogram.percentiles(), histogram };
            (command.name().to_owned(), latency)
        };
        MailFacts {
            load: String::new(),
            acknowledged: self.acknowledged,
            uncertain: self.uncertain,
            refused_recipients: self.refused_recipients,
            commands: self.commands.into_iter().map(latency).collect(),
        }
    }
}
