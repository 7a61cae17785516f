//! Two commands that were run in turns: what sets the worse one apart.

use plimsoll_explain::causes::Measured;
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_model::observation::{Profile, program_of};
use plimsoll_model::report::{GrownWait, WaitFor};

pub use super::evidence::CommandRun;
use super::{Explained, evidence};

/// The service that compared commands are part of, by [`plimsoll_model::experiment::service::SERVICE_MARK`].
pub const COMMAND: &str = "command";
/// What counters are divided by where the figure counts nothing.
const RUN: &str = "run";
/// What they are divided by where it does: units of the figure, small enough for the runs to count many of them.
const PARTS: [(f64, &str); 3] = [(1.0, "operation"), (1e3, "1/1000 operation"), (1e6, "1/1000000 operation")];
/// Smallest count of a run that counts as many.
const MANY: f64 = 100.0;

/// All runs of a command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Each of them.
    pub runs: Vec<CommandRun>,
    /// The stacks that were sampled meanwhile; nothing where they could not be.
    pub profile: Option<Profile>,
    /// Whether `programs` are all that are measured. Then stacks of others are left out: what they do all the time grows for each operation.
    pub is_complete: bool,
}

impl Command {
    /// The smallest number of operations that a run carried out; nothing where the figure counts none.
    fn least(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.operations).try_fold(f64::INFINITY, |least, it| Some(least.min(it?)))
    }

    fn sampled(&self, part: Option<f64>, programs: &[String]) -> Option<Sampled> {
        let of = |run: &CommandRun| part.map_or(1.0, |part| run.operations.unwrap_or(1.0) * part);
        let operations: f64 = self.runs.iter().map(of).sum();
        Some(Sampled {
            profile: match self.profile.as_ref()? {
                profile if self.is_complete => profile.of_the_run().of_programs(programs),
                profile => profile.of_the_run(),
            },
            operations: operations.round() as u64,
            seconds: self.runs.iter().map(|run| run.seconds).sum(),
        })
    }
}

/// What sets the worse of two commands apart, for each operation that the figure counts, or for each run. `programs` are those whose work is measured: what others do beside them is a
/// stranger's doing.
pub fn explain(better: &Command, worse: &Command, programs: Vec<String>) -> Explained {
    let least = better.least().zip(worse.least()).map(|(better, worse)| better.min(worse));
    let (part, per) = match least {
        Some(least) => {
            let (part, per) = PARTS.iter().find(|(part, _)| least * part >= MANY).unwrap_or(&PARTS[2]);
            (Some(*part), *per)
        }
        None => (None, RUN),
    };
    let moved = evidence::of_commands([&better.runs, &worse.runs], part, per);
    let profile = better.sampled(part, &programs).zip(worse.sampled(part, &programs));
    let profile = profile.and_then(|(better, worse)| contrast(&better, &worse, None, per));
    let members = profile.iter().flat_map(|profile| &profile.members);
    // Where the user named the programs, whatever else the command starts is beside them.
    let is_named =
        |process: &str| !worse.is_complete || programs.iter().any(|program| program == program_of(process));
    let members = members.filter(|it| it.service == COMMAND && is_named(&it.process));
    let members: Vec<String> = members.map(|it| it.process.clone()).collect();
    let programs: Vec<String> = programs.into_iter().chain(members).collect();
    let waits_for_disk = profile.as_ref().is_some_and(|profile| {
        let own_syncs = profile.calls.iter().any(|call| programs.contains(&call.process));
        let own_waits =
            |wait: &GrownWait| wait.wait_for == WaitFor::Disk && programs.contains(&wait.who.process);
        own_syncs || profile.own_syncs_per_s > 0.0 || profile.waits.iter().any(own_waits)
    });
    let hosts = vec![evidence::HERE.to_owned()];
    Explained::of(
        moved,
        profile,
        &Measured { processes: programs, hosts, waits_for_disk, ..Measured::default() },
    )
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
        Command {
            runs: vec![CommandRun { counters, seconds, operations: None }; 5],
            profile: None,
            is_complete: false,
        }
    }

    /// Runs of five seconds that keep a disk busy all the time.
    fn busy(operations: f64) -> Command {
        let counters = [
            ("machine.diskstats.vda.busy", 4.9e6),
            ("machine.diskstats.vda.queue_time", 9e6),
            ("machine.stat.ctxt", 5e4),
        ];
        let counters = counters.map(|(name, value)| (name.to_owned(), value)).into();
        let run = CommandRun { counters, seconds: 5.0, operations: Some(operations) };
        Command { runs: vec![run; 5], profile: None, is_complete: false }
    }

    #[test]
    fn what_is_busy_on_both_sides_is_compared_for_each_operation_of_the_figure() {
        let found = explain(&busy(9000.0), &busy(3000.0), Vec::new());
        let told: Vec<(&str, f64)> =
            found.evidence.iter().map(|it| (it.metric.as_str(), it.after / it.before)).collect();
        // Each of 3,000 takes three times as long as each of 9,000. Switches go on at any rate.
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[0].0, "machine.diskstats.vda.busy (per operation)");
        assert!(told.iter().all(|(_, ratio)| (ratio - 3.0).abs() < 1e-9), "{told:?}");
        // Where one side has no figure, both are compared for each run.
        let mut failing = busy(3000.0);
        failing.runs.iter_mut().for_each(|run| run.operations = None);
        assert!(explain(&busy(9000.0), &failing, Vec::new()).evidence.is_empty());
        let small = explain(&busy(0.9), &busy(0.3), Vec::new());
        assert_eq!(small.evidence[0].metric, "machine.diskstats.vda.busy (per 1/1000 operation)");
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
