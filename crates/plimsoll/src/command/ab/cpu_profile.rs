//! CPU profile of a slower benchmark: the functions that take more CPU time in one version, with their source lines.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plimsoll_assess::commands::COMMAND;
use plimsoll_explain::profile::{Sampled, contrast_from};
use plimsoll_model::observation::{Arm, Frame, FrameKind, Profile, ProfileBuilder};
use plimsoll_model::report::{GrownFunction, ProfileReport};
use plimsoll_model::verdict::Verdict;
use plimsoll_probe::profile::{LineSamples, Profiler};
use serde::Serialize;

use super::sampler::Sampler;
use crate::measure::MeasureError;

/// Samples per second and CPU. A change of a few percent needs thousands of samples.
const HERTZ: u32 = 3989;
/// The profile takes the budget divided by this, and at most [`LONGEST`].
const SHARE: u32 = 10;
const LONGEST: Duration = Duration::from_secs(15);
/// How long one version runs before the other: a profiler takes a moment to start and to stop.
const TURN: Duration = Duration::from_millis(500);
/// Samples of both versions, under the names that a profiler has for two sides.
const SIDES: [Arm; 2] = [Arm::Control, Arm::Treatment];
/// The most lines of a function that are reported, and the least share of its time that one has.
const LINES: usize = 3;
const LEAST: f64 = 0.1;
/// What does not show as CPU time.
const OTHERS: [&str; 5] = ["peak_memory", "page_faults", "size", "system_calls", "allocations"];

/// Profile of the added CPU time.
#[derive(Debug)]
pub(super) struct ProfileWithLines {
    pub(super) profile: ProfileReport,
    pub(super) functions: Vec<FunctionLines>,
}

/// A function that takes more CPU time than before, with its lines.
#[derive(Debug, Serialize)]
pub(super) struct FunctionLines {
    #[serde(flatten)]
    pub(super) function: GrownFunction,
    /// Where head spends it, the lines with most first.
    pub(super) lines: Vec<Line>,
}

/// A line of source.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) file: PathBuf,
    pub(super) line: u32,
    /// Its share of the function's own time.
    pub(super) share: f64,
}

/// Profiles both versions in turns, or says why that is impossible. `None` if no CPU time is judged, or the user interrupts it.
pub(super) fn look(
    sampler: &mut Sampler<'_>,
    worse: &Verdict,
    metric: &str,
    budget: Duration,
) -> Option<Result<ProfileWithLines, String>> {
    if OTHERS.contains(&metric) {
        return None;
    }
    let opened = Profiler::of_commands(HERTZ, COMMAND).map_err(|error| error.to_string());
    let profiler = match opened.and_then(|profiler| match profiler.denied() {
        Some(denied) => Err(denied.to_string()),
        None => Ok(profiler),
    }) {
        Ok(profiler) => profiler,
        Err(missing) => return Some(Err(missing)),
    };
    // A process without a namespace has no /proc, and then there are no samples either.
    let here = std::fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.ino());
    let start = Instant::now();
    let (mut runs, mut lasted) = ([0; 2], [Duration::ZERO; 2]);
    while runs[1] == 0 || start.elapsed() < LONGEST.min(budget / SHARE) {
        for (side, arm) in SIDES.into_iter().enumerate() {
            profiler.start(BTreeMap::from([(here, "here".to_owned())]));
            let began = Instant::now();
            let mut ran = Ok(());
            while ran.is_ok() && (began.elapsed() < TURN || runs[side] == 0) {
                ran = sampler.exercise(side);
                runs[side] += 1;
            }
            lasted[side] += began.elapsed();
            profiler.stop(arm);
            match ran {
                Ok(()) => {}
                // The verdict stands without a profile.
                Err(MeasureError::Interrupted) => return None,
                Err(error) => return Some(Err(error.to_string())),
            }
        }
    }
    let mut taken = profiler.take_with_lines();
    let mut side = |of: usize| {
        let at = taken.iter().position(|(profile, _)| profile.arm == SIDES[of])?;
        let (profile, lines) = taken.swap_remove(at);
        Some((of_command(&profile), lines))
    };
    let (Some((base, _)), Some((head, lines))) = (side(0), side(1)) else {
        return Some(Err("the profile has no samples".to_owned()));
    };
    let operations = operations(sampler.reads_output(), [&base, &head], runs, worse);
    let of = |profile, side: usize| Sampled {
        profile,
        operations: operations[side],
        seconds: lasted[side].as_secs_f64(),
    };
    let found = contrast_from(ratio(worse) - 1.0, &of(base, 0), &of(head, 1), "run");
    let why = found.map(|profile| {
        let with_lines = |function: &GrownFunction| FunctionLines {
            lines: lines_of(function, &lines),
            function: function.clone(),
        };
        ProfileWithLines { functions: profile.functions.iter().map(with_lines).collect(), profile }
    });
    Some(why.ok_or_else(|| "the command was never seen on a CPU".to_owned()))
}

/// How often each version did its work. A benchmark tool does as much as fits into a time: then the time for each operation is as measured.
fn operations(by_time: bool, profiles: [&Profile; 2], runs: [u64; 2], worse: &Verdict) -> [u64; 2] {
    if !by_time {
        return runs;
    }
    let [base, head] = profiles.map(|profile| 1000 * profile.samples());
    [base, (head as f64 / ratio(worse)).round() as u64]
}

/// How many times as long the worse version takes.
fn ratio(worse: &Verdict) -> f64 {
    worse.estimate.map_or(1.0, |ratio| ratio.max(ratio.recip()))
}

/// The stacks of the command and what it started, without those of the rest of the machine.
fn of_command(profile: &Profile) -> Profile {
    let mark = format!(" ({COMMAND})");
    let is_own = |stack: &[&Frame]| {
        stack.get(1).is_some_and(|frame| frame.kind == FrameKind::Process && frame.name.ends_with(&mark))
    };
    let mut own = ProfileBuilder::new(profile.arm, profile.clock, profile.hertz);
    for (stack, samples) in profile.stacks().filter(|(stack, _)| is_own(stack)) {
        own.add(stack, samples);
    }
    own.miss(profile.lost, 0);
    own.build()
}

/// The lines that a function spends most of its own time in.
fn lines_of(function: &GrownFunction, all: &[LineSamples]) -> Vec<Line> {
    let mut own: Vec<&LineSamples> = all.iter().filter(|line| line.function == function.function).collect();
    let samples: u64 = own.iter().map(|line| line.samples).sum();
    own.sort_by_key(|line| std::cmp::Reverse(line.samples));
    let share = |line: &LineSamples| line.samples as f64 / samples as f64;
    let lines = own.into_iter().filter(|line| share(line) >= LEAST).take(LINES);
    lines.map(|line| Line { file: line.file.clone(), line: line.line, share: share(line) }).collect()
}
