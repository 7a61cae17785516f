//! Looks at the machine while either of two commands runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use plimsoll_assess::Explained;
use plimsoll_assess::commands::{self, Command, CommandRun};
use plimsoll_judge::compare::Comparison;
use plimsoll_model::observation::Arm;
use plimsoll_model::verdict::Outcome;
use plimsoll_probe::profile::{Profiler, ServiceGroup};

use super::cells::Cell;
use super::observed::Observed;
use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::profiler::missing;

/// Samples of both commands, under the names that a profiler has for two sides.
const SIDES: [Arm; 2] = [Arm::Control, Arm::Treatment];

/// The counters and the stacks of the machine, by the command that ran meanwhile.
pub(super) struct Observer {
    observed: Observed,
    /// The programs whose work is measured.
    programs: BTreeSet<String>,
    /// Whether the user named them all.
    is_complete: bool,
    profiler: Option<Profiler>,
    /// Why there are no stacks.
    missing: Vec<String>,
    runs: [Vec<CommandRun>; 2],
}

impl Observer {
    pub(super) fn open(args: &CompareArgs, cells: &[Cell]) -> Result<Self, Failure> {
        let observed = Observed::open(&args.observe)?;
        let programs: BTreeSet<String> = if args.program.is_empty() {
            cells.iter().filter_map(|cell| program(&cell.command)).collect()
        } else {
            args.program.iter().cloned().collect()
        };
        let opened = observed.group().map_or_else(Profiler::open, |path| {
            Profiler::of_group(ServiceGroup { path, service: commands::COMMAND.into() })
        });
        let (profiler, missing) = match opened {
            Ok(profiler) => {
                let missing = missing(&profiler).map(|what| format!("Not seen: {what}."));
                (Some(profiler), missing.into_iter().collect())
            }
            Err(error) => (None, vec![format!("No profile was taken: {error}.")]),
        };
        let is_complete = !args.program.is_empty();
        Ok(Self { observed, programs, is_complete, profiler, missing, runs: Default::default() })
    }

    /// Looks at the machine while something runs that is of the first command (0) or the second (1).
    /// `operations` says how many were carried out in so many seconds.
    pub(super) fn during<T>(
        &mut self,
        which: usize,
        run: impl FnOnce() -> T,
        operations: impl FnOnce(&T, f64) -> Option<f64>,
    ) -> T {
        let before = self.observed.read();
        if let Some(profiler) = &self.profiler {
            profiler.start(self.observed.namespaces.clone());
        }
        let start = Instant::now();
        let ended = run();
        let seconds = start.elapsed().as_secs_f64();
        if let Some(profiler) = &self.profiler {
            profiler.stop(SIDES[which]);
        }
        let counters: BTreeMap<String, f64> = before.change(&self.observed.read());
        let operations = operations(&ended, seconds);
        self.runs[which].push(CommandRun { counters, seconds, operations });
        ended
    }

    /// Why the worse command is worse, where one is; and what a reader must know of how that was found.
    pub(super) fn explain(&mut self, found: Option<&Comparison>) -> (Option<Explained>, Vec<String>) {
        let worse = match found.map(|found| found.verdict.outcome) {
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
            is_complete: self.is_complete,
            runs: std::mem::take(&mut self.runs[which]),
            profile: profiles
                .iter()
                .position(|profile| profile.arm == SIDES[which])
                .map(|at| profiles.swap_remove(at)),
        };
        let (better, worse) = (side(1 - worse), side(worse));
        let programs = self.programs.iter().cloned().collect();
        (Some(commands::explain(&better, &worse, programs)), std::mem::take(&mut self.missing))
    }
}

/// The program that a command begins with, by the name that the kernel gives it: its first 15 bytes.
fn program(command: &str) -> Option<String> {
    let is_setting = |word: &&str| word.contains('=') && !word.contains('/');
    let word = command.split_whitespace().find(|word| !is_setting(word))?;
    let name = Path::new(word).file_name()?.to_string_lossy();
    Some(name.chars().take(LONGEST_NAME).collect())
}

/// The longest name that the kernel keeps of a process (TASK_COMM_LEN without its zero).
const LONGEST_NAME: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_its_first_word_that_is_no_setting() {
        assert_eq!(program("LC_ALL=C /usr/bin/sort -n file").as_deref(), Some("sort"));
        assert_eq!(program("a-very-long-program-name x").as_deref(), Some("a-very-long-pro"));
        assert_eq!(program("  "), None);
    }
}
