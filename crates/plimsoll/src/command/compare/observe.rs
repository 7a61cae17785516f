//! Looks at the machine while either of two commands runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_assess::Explained;
use plimsoll_assess::commands::{self, Command, CommandRun, Scene};
use plimsoll_judge::compare::Comparison;
use plimsoll_model::observation::{Arm, Snapshot};
use plimsoll_model::verdict::Outcome;
use plimsoll_probe::file_opens::{FileOpens, OpenWatch};
use plimsoll_probe::profile::{Profiler, ServiceGroup};

use super::cells::Cell;
use super::observed::{Ended, Observed};
use crate::args::CompareArgs;
use crate::command::watch::target::own_cpu;
use crate::failure::Failure;
use crate::measure::{FILES, Times, sample_during, without_numbers};
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
    /// Which files they open, in further runs.
    opens: [Vec<FileOpens>; 2],
    /// Programs that commands had connections to.
    servers: BTreeSet<u32>,
    /// What this process used of the CPUs while commands ran.
    own: Duration,
}

impl Observer {
    pub(super) fn open(args: &CompareArgs, cells: &[Cell]) -> Result<Self, Failure> {
        let observed = Observed::open(&args.observe)?;
        let programs: BTreeSet<String> = if args.program.is_empty() {
            cells.iter().filter_map(|cell| program(&cell.command)).collect()
        } else {
            args.program.iter().cloned().collect()
        };
        let group = observed.group().map(|path| ServiceGroup { path, service: commands::COMMAND.into() });
        let run = plimsoll_host::own_mark()
            .map_err(|error| Failure::could_not(format!("cannot read who this process is: {error}")))?;
        let opened = Profiler::with_commands(&run, group, commands::COMMAND, observed.is_beside_strangers());
        let (profiler, missing) = match opened {
            Ok(profiler) => {
                let missing = missing(&profiler).map(|what| format!("Not seen: {what}."));
                (Some(profiler), missing.into_iter().collect())
            }
            Err(error) => (None, vec![format!("No profile was taken: {error}.")]),
        };
        let is_complete = !args.program.is_empty();
        Ok(Self {
            observed,
            programs,
            is_complete,
            profiler,
            missing,
            runs: Default::default(),
            opens: Default::default(),
            servers: BTreeSet::new(),
            own: Duration::ZERO,
        })
    }

    /// Looks at the machine while the first command (0) or the second (1) runs.
    /// `operations` maps elapsed seconds to a number of operations.
    pub(super) fn during<T>(
        &mut self,
        which: usize,
        run: impl FnOnce() -> (T, Times),
        operations: impl FnOnce(&T, f64) -> Option<f64>,
    ) -> (T, Times) {
        let before = self.observed.begin();
        if let Some(profiler) = &self.profiler {
            profiler.start(self.observed.namespaces.clone());
        }
        let (start, own) = (Instant::now(), own_cpu());
        // Where the user named the programs, the others that the command starts are strangers.
        let counts = |name: &str| !self.is_complete || self.programs.contains(name);
        let observed = &mut self.observed;
        let ((ended, times), seen) = sample_during(run, counts, &self.servers, |pids| observed.enter(pids));
        // The last look may take longer than a short command.
        let seconds = if times.wall.is_zero() { start.elapsed() } else { times.wall }.as_secs_f64();
        if let Some(profiler) = &self.profiler {
            profiler.stop(SIDES[which]);
        }
        self.own += own_cpu().saturating_sub(own);
        let mut counters = self.end(&before);
        let ready = times.ready.filter(|_| !self.is_complete).unwrap_or(seen.ready);
        counters.insert(commands::READY.to_owned(), ready.as_micros() as f64);
        counters.insert(commands::CPU_TIME.to_owned(), (times.user + times.system).as_micros() as f64);
        counters.insert("files.looks".to_owned(), seen.looks as f64);
        let is_started = |name: &&String| *name != FILES && !self.programs.contains(*name);
        let started = seen.settings.keys().filter(is_started).map(|name| format!("program {name}"));
        counters.extend(commands::settings(OF_COMMAND, started.collect()));
        let settings = seen.settings.into_iter().flat_map(|(whose, all)| commands::settings(&whose, all));
        counters.extend(settings);
        counters
            .extend(seen.open.into_iter().map(|(path, found)| (format!("files.open.{path}"), found as f64)));
        let operations = operations(&ended, seconds);
        self.runs[which].push(CommandRun { counters, seconds, operations });
        (ended, times)
    }

    /// What the kernel counted in a run. The programs that a command had connections to are part of what is measured from now on.
    fn end(&mut self, before: &[Snapshot]) -> BTreeMap<String, f64> {
        let Ended { mut counters, servers, settings } = self.observed.end(before);
        counters.extend(commands::settings(OF_MACHINE, settings));
        if let Some(profiler) = self.profiler.as_ref().filter(|_| !servers.is_empty()) {
            profiler.name(&servers, commands::SERVED);
        }
        self.servers.extend(servers);
        counters
    }

    /// Runs a command that does not count, to learn which namespaces it enters and who serves it.
    pub(super) fn rehearse<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let before = self.observed.begin();
        let observed = &mut self.observed;
        let (ended, _) = sample_during(run, |_| false, &self.servers, |pids| observed.enter(pids));
        self.end(&before);
        ended
    }

    /// Whether the runs are short enough to be repeated for what their opens of files tell.
    pub(super) fn may_repeat(&self) -> bool {
        self.runs.iter().flatten().all(|run| run.seconds <= LONGEST_REPEATED)
    }

    /// Watches which files a command opens in a run that does not count. Where that is not allowed nothing is run.
    pub(super) fn watch_opens<T>(&mut self, which: usize, run: impl FnOnce() -> T) -> Option<T> {
        let watch = OpenWatch::begin(&self.servers).ok()?;
        let ended = run();
        let mut opens = FileOpens::new();
        let counts = |path: &str| !path.starts_with("/dev/");
        for ((program, path), times) in watch.end().into_iter().filter(|((_, path), _)| counts(path)) {
            *opens.entry((program, without_numbers(&path))).or_default() += times;
        }
        self.opens[which].push(opens);
        Some(ended)
    }

    /// The part of all CPUs' time that this process used while commands ran.
    fn own_share(&self) -> Option<String> {
        let seconds: f64 = self.runs.iter().flatten().map(|run| run.seconds).sum();
        let cpus = thread::available_parallelism().ok()?.get() as f64;
        let share = 100.0 * self.own.as_secs_f64() / (seconds * cpus);
        (seconds > 0.0).then(|| {
            format!(
                "Plimsoll itself used {} % of all CPUs while the commands ran.",
                plimsoll_report::figure(share)
            )
        })
    }

    /// Why the worse command is worse, where one is, by a figure that may be a time; and what a reader must know of how that was found.
    pub(super) fn explain(
        &mut self,
        found: Option<&Comparison>,
        lower_is_better: bool,
        is_of_time: bool,
    ) -> (Option<Explained>, Vec<String>) {
        let own_share = self.own_share();
        let Some(worse) = worse(found, lower_is_better) else {
            let nothing = "Neither is worse for certain, so there is nothing to explain.".to_owned();
            return (None, std::iter::once(nothing).chain(own_share).collect());
        };
        let mut profiles = self.profiler.as_ref().map(Profiler::take).unwrap_or_default();
        let mut side = |which: usize| Command {
            is_complete: self.is_complete,
            runs: std::mem::take(&mut self.runs[which]),
            opens: std::mem::take(&mut self.opens[which]),
            profile: profiles
                .iter()
                .position(|profile| profile.arm == SIDES[which])
                .map(|at| profiles.swap_remove(at)),
        };
        let (better, worse) = (side(1 - worse), side(worse));
        let scene = Scene {
            programs: self.programs.iter().cloned().collect(),
            host: self.observed.host(),
            is_beside_strangers: self.observed.is_beside_strangers(),
            is_of_time,
        };
        let mut explained = commands::explain(&better, &worse, scene);
        let mut notes = std::mem::take(&mut self.missing);
        if found.is_some_and(|found| found.verdict.outcome == Outcome::Undecided) {
            explained.doubt();
            notes.push(LEANS.to_owned());
        }
        notes.extend(own_share);
        (Some(explained), notes)
    }
}

/// Index of the worse of two commands; `None` if neither is worse, or if the comparison is open.
pub(super) fn worse(found: Option<&Comparison>, lower_is_better: bool) -> Option<usize> {
    let verdict = &found?.verdict;
    match verdict.outcome {
        Outcome::Slower => Some(1),
        Outcome::Faster => Some(0),
        Outcome::Undecided => {
            let second = plimsoll_assess::leans(verdict.estimate?, lower_is_better)?;
            Some(usize::from(second))
        }
        _ => None,
    }
}

/// The longest run that is repeated to learn which files it opens, in seconds.
const LONGEST_REPEATED: f64 = 10.0;

/// A reservation where one command is explained as the worse one without a sure answer.
const LEANS: &str =
    "That one is worse is not certain: one figure is at least twice the other, and they scatter.";

/// The program that a command begins with, by the name that the kernel gives it: its first 15 bytes.
fn program(command: &str) -> Option<String> {
    let is_setting = |word: &&str| word.contains('=') && !word.contains('/');
    let word = command.split_whitespace().find(|word| !is_setting(word))?;
    let name = Path::new(word).file_name()?.to_string_lossy();
    Some(name.chars().take(LONGEST_NAME).collect())
}

/// Whose settings the programs are that a command starts.
const OF_COMMAND: &str = "command";
/// Whose settings those of the machine and of its network namespaces are.
const OF_MACHINE: &str = "machine";

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
