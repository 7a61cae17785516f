//! Two commands that were run in turns: what sets the worse one apart.

use plimsoll_explain::causes::Measured;
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_model::observation::Profile;
use plimsoll_model::report::{GrownWait, WaitFor};

pub use super::evidence::CommandRun;
use super::{Explained, evidence};

/// What the runs of a command are counted as.
const RUN: &str = "run";

/// All runs of a command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Each of them.
    pub runs: Vec<CommandRun>,
    /// The stacks that were sampled meanwhile; nothing where they could not be.
    pub profile: Option<Profile>,
}

impl Command {
    fn sampled(&self) -> Option<Sampled> {
        Some(Sampled {
            profile: self.profile.as_ref()?.of_the_run(),
            operations: self.runs.len() as u64,
            seconds: self.runs.iter().map(|run| run.seconds).sum(),
        })
    }
}

/// What sets the worse of two commands apart, for each run of it. `programs` are those whose work is measured: what others do beside them is a
/// stranger's doing.
#[must_use]
pub fn explain(better: &Command, worse: &Command, programs: Vec<String>) -> Explained {
    let moved = evidence::of_commands(&better.runs, &worse.runs, RUN);
    let profile = better.sampled().zip(worse.sampled());
    let profile = profile.and_then(|(better, worse)| contrast(&better, &worse, None, RUN));
    let waits_for_disk = profile.as_ref().is_some_and(|profile| {
        let own_syncs = profile.calls.iter().any(|call| programs.contains(&call.process));
        let own_waits =
            |wait: &GrownWait| wait.wait_for == WaitFor::Disk && programs.contains(&wait.who.process);
        own_syncs || profile.own_syncs_per_s > 0.0 || profile.waits.iter().any(own_waits)
    });
    let hosts = vec![evidence::HERE.to_owned()];
    Explained::of(moved, profile, &Measured { processes: programs, hosts, waits_for_disk, load: None })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::cause::CauseId;

    use super::*;

    fn command(overflows: f64, switches: f64, seconds: f64) -> Command {
        let counters = [
            ("netstat.TcpExt.ListenOverflows", overflows),
            ("netstat.TcpExt.TCPSynRetrans", overflows),
            ("machine.stat.ctxt", switches),
            ("machine.stat.cpu0.user", switches),
        ];
        let counters = counters.into_iter().filter(|(_, value)| *value != 0.0);
        let counters: BTreeMap<String, f64> =
            counters.map(|(name, value)| (name.to_owned(), value)).collect();
        Command { runs: vec![CommandRun { counters, seconds }; 5], profile: None }
    }

    #[test]
    fn what_only_the_worse_command_counts_is_told_and_named() {
        let found = explain(&command(0.0, 1000.0, 1.0), &command(30.0, 1000.0, 1.0), Vec::new());
        assert_eq!(found.causes[0].id, CauseId::NetListenOverflow);
        let told: Vec<(&str, f64, f64)> =
            found.evidence.iter().map(|it| (it.metric.as_str(), it.before, it.after)).collect();
        assert_eq!(
            told,
            [
                ("netstat.TcpExt.ListenOverflows (per run)", 0.0, 30.0),
                ("netstat.TcpExt.TCPSynRetrans (per run)", 0.0, 30.0)
            ]
        );
    }

    #[test]
    fn what_goes_on_all_the_time_is_no_property_of_the_command_that_takes_longer() {
        let found = explain(&command(0.0, 1000.0, 1.0), &command(0.0, 3000.0, 3.0), Vec::new());
        assert!(found.evidence.is_empty() && found.causes.is_empty(), "{:?}", found.evidence);
    }
}
