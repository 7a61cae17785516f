//! Looks at the machine while either of two commands runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use plimsoll_assess::Explained;
use plimsoll_assess::commands::{self, Command, CommandRun};
use plimsoll_judge::compare::Comparison;
use plimsoll_model::observation::Arm;
use plimsoll_model::verdict::Outcome;
use plimsoll_probe::counters::{Counters, Depth};
use plimsoll_probe::profile::{HostNamespaces, Profiler};

use crate::failure::Failure;
use crate::profiler::missing;

/// What is sampled while the first command runs, and while the second does, under the names that a profiler has for two sides.
const SIDES: [Arm; 2] = [Arm::Control, Arm::Treatment];

/// The counters and the stacks of the machine, by the command that ran meanwhile.
pub(super) struct Observer {
    counters: Counters,
    profiler: Option<Profiler>,
    /// Why there are no stacks.
    missing: Vec<String>,
    runs: [Vec<CommandRun>; 2],
}

impl Observer {
    pub(super) fn open() -> Result<Self, Failure> {
        let counters = Counters::open(Path::new("/")).map_err(|error| {
            Failure::could_not(format!("the counters of this machine cannot be read: {error}"))
        })?;
        let (profiler, missing) = match Profiler::open() {
            Ok(profiler) => {
                let missing = missing(&profiler).map(|what| format!("Not seen: {what}."));
                (Some(profiler), missing.into_iter().collect())
            }
            Err(error) => (None, vec![format!("No profile was taken: {error}.")]),
        };
        Ok(Self { counters, profiler, missing, runs: Default::default() })
    }

    /// Looks at the machine while something runs that is of the first command (0) or the second (1).
    pub(super) fn during<T>(&mut self, which: usize, run: impl FnOnce() -> T) -> T {
        let before = self.counters.read(Depth::Light);
        if let Some(profiler) = &self.profiler {
            profiler.start(HostNamespaces::new());
        }
        let start = Instant::now();
        let ended = run();
        let seconds = start.elapsed().as_secs_f64();
        if let Some(profiler) = &self.profiler {
            profiler.stop(SIDES[which]);
        }
        let counters: BTreeMap<String, f64> = before.change(&self.counters.read(Depth::Light));
        self.runs[which].push(CommandRun { counters, seconds });
        ended
    }

    /// Why the worse command is worse, where one is; and what a reader must know of how that was found.
    pub(super) fn explain(&mut self, comparisons: &[Comparison]) -> (Option<Explained>, Vec<String>) {
        let worse = match comparisons.first().map(|found| found.verdict.outcome) {
            Some(Outcome::Slower) => 1,
            Some(Outcome::Faster) => 0,
            _ => {
                return (
                    None,
                    vec!["Neither is worse for certain, so there is nothing to explain.".to_owned()],
                );
            }
        };
        let mut profiles = self.profiler.as_ref().map(Profiler::take).unwrap_or_default();
        let mut side = |which: usize| Command {
            runs: std::mem::take(&mut self.runs[which]),
            profile: profiles
                .iter()
                .position(|profile| profile.arm == SIDES[which])
                .map(|at| profiles.swap_remove(at)),
        };
        let (better, worse) = (side(1 - worse), side(worse));
        (Some(commands::explain(&better, &worse)), std::mem::take(&mut self.missing))
    }
}
