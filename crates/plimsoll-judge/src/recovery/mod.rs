//! Did it come back up after the flood?
//!
//! Recovery is a claim of equivalence, not the lack of a significant difference: `recovered` when the whole interval of
//! after/baseline lies above 1 − margin, `not_recovered` when all of it lies below, else `undecided` (non-inferiority;
//! Schuirmann 1987). Unchanged programs drift by several per cent between minutes, so a control that runs in
//! alternation with the treated service is divided out, window by window.
//!
//! Inside a trial, windows are compared by the median of all their log differences (Hodges & Lehmann 1963), so that a
//! few seconds lost to a neighbour do not matter. Trials are then pooled with a variance between trials of their own
//! ([`pool`]): the trial is the unit, not the window.

mod hysteresis;
mod pool;
mod step;
mod time;

pub use hysteresis::{Hysteresis, HysteresisSettings, hysteresis, judge_loops};
pub use pool::pool;
pub use step::Step;
pub use time::{first_of_run, time_to_recover};

use crate::input::{self, JudgeError};
use crate::stats::rank::mann_kendall_blocks;
use crate::stats::shift::Location;
use crate::wording;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::{Deserialize, Serialize};
use step::{Medians, Windows};

/// The figure in one window of time, in the treated service and, in the neighbouring slice of time, in its control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPair {
    /// The figure of the service that something is (or will be) done to, in the metric's unit; 0 says that nothing came through.
    pub treatment: f64,
    /// The figure of the control, where one runs.
    pub control: Option<f64>,
}

/// One trial: its windows before the first flood, and after each flood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryTrial {
    /// Windows before the first flood.
    pub baseline: Vec<WindowPair>,
    /// For each flood, in order, the windows after it settled.
    pub cycles: Vec<Vec<WindowPair>>,
}

/// Windows before and after, as plain numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeforeAfter {
    /// Windows before the flood, in the metric's unit.
    pub baseline: Vec<f64>,
    /// Windows after the flood, in the metric's unit.
    pub after: Vec<f64>,
}

/// Settings of a judgement of recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecoverySettings {
    /// How much may be lost: 0.05 as shipped.
    pub margin: f64,
    /// The confidence of the interval: 0.95 as shipped.
    pub confidence: f64,
    /// False for rates (as shipped), true for times and costs.
    pub lower_is_better: bool,
    /// How far the log ratios of unchanged trials are expected to differ from each other, before any were seen: the
    /// scale of the prior in [`pool`]. 0.01 as shipped, because against a control 95 % of unchanged pairs were seen to
    /// stay within 2 %.
    pub between_trials: f64,
}

impl Default for RecoverySettings {
    fn default() -> Self {
        Self { margin: 0.05, confidence: 0.95, lower_is_better: false, between_trials: 0.01 }
    }
}

impl RecoverySettings {
    fn check(&self) -> Result<(), JudgeError> {
        input::between("margin", self.margin, 0.0, 1.0, "a share between 0 and 1")?;
        input::between("confidence", self.confidence, 0.5, 1.0, "a share between 0.5 and 1")?;
        input::between("between_trials", self.between_trials, 0.0, 10.0, "a log ratio between 0 and 10")
    }

    /// Reading of an interval of the log ratio after/baseline.
    fn outcome(&self, log_ratio: Location) -> Outcome {
        // Turned so that more is better.
        let (worst, best, limit) = if self.lower_is_better {
            (-log_ratio.hi, -log_ratio.lo, -self.margin.ln_1p())
        } else {
            (log_ratio.lo, log_ratio.hi, (-self.margin).ln_1p())
        };
        if worst >= limit {
            Outcome::Recovered
        } else if best < limit {
            Outcome::NotRecovered
        } else {
            Outcome::Undecided
        }
    }
}

/// A ratio after/baseline with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The ratio.
    pub estimate: f64,
    /// Its interval; absent where there are too few windows to show their scatter.
    pub interval: Option<Interval>,
}

impl Estimate {
    fn of_log(log_ratio: Location) -> Self {
        Self { estimate: log_ratio.ratio(), interval: log_ratio.ratio_interval() }
    }
}

/// Whether recovery gets worse, or better, from cycle to cycle (Mann-Kendall inside each trial, added up over trials).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// -1 when every cycle lies below all earlier ones, 1 when above.
    pub tau: f64,
    /// The two-sided p-value of no trend.
    pub p: f64,
}

/// A verdict on recovery with what each cycle shows.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveryVerdict {
    /// The verdict on the last cycle: what all floods together did. Its `n` counts trials, or windows in [`judge_flat`].
    pub verdict: Verdict,
    /// after/baseline for each cycle, over the trials that have it.
    pub per_cycle: Vec<Estimate>,
    /// The trend over cycles; absent with fewer than two.
    pub trend: Option<Trend>,
}

/// Judges trials, each with its own baseline, floods and windows.
///
/// A window of the treated service that carried nothing counts as a thousandth of its baseline; a window whose control
/// carried nothing is left out. The verdict is `invalid` when the baseline itself carried nothing, or the control
/// stopped in most windows, or moved by itself by more than a factor of 3.
///
/// # Errors
/// No trials, a trial without baseline or without windows after a flood, values that are negative or not finite (or
/// zero, where lower is better), or settings out of range.
pub fn judge_trials(
    metric: &str,
    trials: &[RecoveryTrial],
    settings: &RecoverySettings,
) -> Result<RecoveryVerdict, JudgeError> {
    settings.check()?;
    if trials.is_empty() {
        return Err(JudgeError::Empty { what: "trials".into(), expected: "at least one trial" });
    }
    let mut steps: Vec<Vec<Step>> = Vec::with_capacity(trials.len());
    let mut medians: Vec<Medians> = Vec::with_capacity(trials.len());
    let mut within: Vec<[Step; 2]> = Vec::new();
    for (index, trial) in trials.iter().enumerate() {
        match steps_of(index, trial, settings)? {
            Ok(found) => {
                medians.extend(found.last);
                within.extend(found.within);
                steps.push(found.cycles);
            }
            Err(Spoiled(reason)) => return Ok(invalid(metric, trials.len(), reason)),
        }
    }
    let medians = Medians::over(&medians);
    if let Some(reason) = adrift(medians) {
        return Ok(invalid(metric, trials.len(), reason));
    }
    let last: Vec<Step> = steps.iter().filter_map(|cycles| cycles.last().copied()).collect();
    let log_ratio = pool(&last, settings.between_trials, settings.confidence);
    let cycles = steps.iter().map(Vec::len).max().unwrap_or(0);
    let per_cycle: Vec<Location> = (0..cycles)
        .map(|c| {
            let of_cycle: Vec<Step> = steps.iter().filter_map(|s| s.get(c).copied()).collect();
            pool(&of_cycle, settings.between_trials, settings.confidence)
        })
        .collect();
    let trend = (cycles > 1).then(|| trend(&steps));
    let units = Units::Trials(trials.len());
    let rise = still_moving(&within, settings);
    let mut verdict = verdict(metric, log_ratio, medians, units, rise, settings);
    verdict.reason += &cycle_note(verdict.outcome, &per_cycle, trend, settings);
    Ok(RecoveryVerdict { verdict, per_cycle: per_cycle.into_iter().map(Estimate::of_log).collect(), trend })
}

/// Judges plain windows before and after one flood, with or without those of a control.
///
/// A control with equally many windows as the treated service is paired by position; any other is compared as a
/// whole. The interval covers the windows at hand and not how trials differ, and the reason says so.
///
/// # Errors
/// Empty series, values that are negative or not finite (or zero, where lower is better), or settings out of range.
pub fn judge_flat(
    metric: &str,
    treatment: &BeforeAfter,
    control: Option<&BeforeAfter>,
    settings: &RecoverySettings,
) -> Result<RecoveryVerdict, JudgeError> {
    settings.check()?;
    let n = treatment.baseline.len().min(treatment.after.len());
    let paired = control
        .filter(|c| c.baseline.len() == treatment.baseline.len() && c.after.len() == treatment.after.len());
    let baseline = pairs(&treatment.baseline, paired.map(|c| &c.baseline));
    let after = pairs(&treatment.after, paired.map(|c| &c.after));
    let (step, mut medians, within) = match flat_step(&baseline, &after, settings)? {
        Ok(found) => found,
        Err(Spoiled(reason)) => return Ok(invalid(metric, n, reason)),
    };
    let step = match control {
        Some(c) if paired.is_none() => {
            match flat_step(&pairs(&c.baseline, None), &pairs(&c.after, None), settings)? {
                Ok((own, of_control, _)) => {
                    medians.control = Some(of_control.treatment);
                    step.against(own)
                }
                Err(Spoiled(_)) => return Ok(invalid(metric, n, CONTROL_STOPPED.into())),
            }
        }
        _ => step,
    };
    if let Some(reason) = adrift(medians) {
        return Ok(invalid(metric, n, reason));
    }
    let log_ratio = step.location(settings.confidence);
    let rise = still_moving(within.as_slice(), settings);
    let verdict = verdict(metric, log_ratio, medians, Units::Windows(n), rise, settings);
    Ok(RecoveryVerdict { verdict, per_cycle: vec![Estimate::of_log(log_ratio)], trend: None })
}

const CONTROL_STOPPED: &str =
    "the unflooded control carried nothing in most windows: the machine or the rig failed, not the service";
const NO_BASELINE: &str =
    "the service carried nothing before the flood in most windows: there is no baseline to return to";

/// A control that drifts by more than this factor is no reference.
const ADRIFT: f64 = 3.0;
/// From this factor on, the report says that the control moved.
const MOVED: f64 = 1.25;
/// From this factor on, the report says that medians give another ratio than adjacent windows.
const APART: f64 = 1.05;

fn is_beyond(ratio: f64, factor: f64) -> bool {
    !(1.0 / factor..=factor).contains(&ratio)
}

/// Why the control cannot stand for what the treated service would have done without a flood; `None` if it can.
fn adrift(medians: Medians) -> Option<String> {
    let [before, after] = medians.control?;
    is_beyond(after / before, ADRIFT).then(|| {
        format!(
            "the unflooded control went from {} to {} by itself (x{}): the machine changed too much for a comparison",
            wording::figure(before),
            wording::figure(after),
            wording::figure(after / before)
        )
    })
}

/// Describes which medians were divided.
fn arithmetic(medians: Medians, ratio: f64) -> String {
    let describe = |what: &str, [before, after]: [f64; 2]| {
        let (before, after, ratio) =
            (wording::figure(before), wording::figure(after), wording::figure(after / before));
        format!("{what} went from {before} to {after} (x{ratio})")
    };
    let treatment = describe("the treatment's median window", medians.treatment);
    let Some(control) = medians.control else {
        return format!(
            "{treatment}; no control ran, so the figure includes drift of the machine between baseline and after (unchanged programs often \
             drift by more than 5 % within minutes)"
        );
    };
    let by_itself = control[1] / control[0];
    let moved = if is_beyond(by_itself, MOVED) {
        format!(" (its own drift of {} is divided out)", wording::change(by_itself))
    } else {
        String::new()
    };
    let of_medians = medians.treatment[1] / medians.treatment[0] / by_itself;
    let apart = if is_beyond(of_medians / ratio, APART) {
        format!(" (of the medians alone {}: windows scatter)", wording::figure(of_medians))
    } else {
        String::new()
    };
    format!(
        "{treatment}, {}{moved}; one divided by the other, window by window, is {}{apart}",
        describe("and that of its control", control),
        wording::figure(ratio)
    )
}

/// Why windows cannot carry any answer.
struct Spoiled(String);

/// The log ratios after/baseline of one trial, cycle by cycle.
struct TrialSteps {
    cycles: Vec<Step>,
    /// The medians of the last cycle.
    last: Option<Medians>,
    /// How far the figure still moves within the last cycle.
    within: Option<[Step; 2]>,
}

fn steps_of(
    index: usize,
    trial: &RecoveryTrial,
    settings: &RecoverySettings,
) -> Result<Result<TrialSteps, Spoiled>, JudgeError> {
    let name = |part: &str| format!("trials[{index}].{part}");
    if trial.cycles.is_empty() {
        return Err(JudgeError::Empty {
            what: name("cycles"),
            expected: "the windows after at least one flood",
        });
    }
    let baseline = Windows::read(&name("baseline"), &trial.baseline, settings.lower_is_better)?;
    let mut found = TrialSteps { cycles: Vec::with_capacity(trial.cycles.len()), last: None, within: None };
    for (c, cycle) in trial.cycles.iter().enumerate() {
        let after = Windows::read(&name(&format!("cycles[{c}]")), cycle, settings.lower_is_better)?;
        if baseline.carried_nothing() {
            return Ok(Err(Spoiled(NO_BASELINE.into())));
        }
        if baseline.control_stopped() || after.control_stopped() {
            return Ok(Err(Spoiled(CONTROL_STOPPED.into())));
        }
        found.cycles.push(Step::between(&baseline, &after));
        found.last = Some(Medians::of(&baseline, &after));
        found.within = Step::within(&baseline, &after);
    }
    Ok(Ok(found))
}

/// The step of plain windows, their medians, and how far the figure still moves after the flood.
type FlatStep = (Step, Medians, Option<[Step; 2]>);

fn flat_step(
    baseline: &[WindowPair],
    after: &[WindowPair],
    settings: &RecoverySettings,
) -> Result<Result<FlatStep, Spoiled>, JudgeError> {
    let before = Windows::read("baseline", baseline, settings.lower_is_better)?;
    let after = Windows::read("after", after, settings.lower_is_better)?;
    Ok(if before.carried_nothing() {
        Err(Spoiled(NO_BASELINE.into()))
    } else if before.control_stopped() || after.control_stopped() {
        Err(Spoiled(CONTROL_STOPPED.into()))
    } else {
        Ok((Step::between(&before, &after), Medians::of(&before, &after), Step::within(&before, &after)))
    })
}

fn pairs(treatment: &[f64], control: Option<&Vec<f64>>) -> Vec<WindowPair> {
    let pair = |(i, &treatment): (usize, &f64)| WindowPair { treatment, control: control.map(|c| c[i]) };
    treatment.iter().enumerate().map(pair).collect()
}

fn trend(steps: &[Vec<Step>]) -> Trend {
    let series: Vec<Vec<f64>> =
        steps.iter().map(|cycles| cycles.iter().map(|s| s.log_ratio).collect()).collect();
    let blocks: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
    let result = mann_kendall_blocks(&blocks);
    Trend { tau: result.tau, p: result.p }
}

/// Confidence from which on a figure is said to move within the phase after the flood.
const MOVING: f64 = 0.95;
/// Share of the margin by which it must move at least.
const MOVED_SHARE: f64 = 0.25;
/// Share of the whole movement that must fall into the second half: an exponential return keeps a quarter of it after three time constants, a service
/// that came back early has nothing left.
const LATE_SHARE: f64 = 0.2;

/// By how much the figure still comes back within the phase after the flood, as a log ratio of its last third to its first; absent where it does not.
fn still_moving(within: &[[Step; 2]], settings: &RecoverySettings) -> Option<f64> {
    let pooled = |of: usize| {
        let steps: Vec<Step> = within.iter().map(|trial| trial[of]).collect();
        pool(&steps, settings.between_trials, MOVING)
    };
    let sign = if settings.lower_is_better { -1.0 } else { 1.0 };
    let (whole, late) = (pooled(0), pooled(1));
    let (least, size) =
        if settings.lower_is_better { (-whole.hi, -whole.estimate) } else { (whole.lo, whole.estimate) };
    let moves = !within.is_empty() && least > 0.0 && size > MOVED_SHARE * settings.margin;
    (moves && sign * late.estimate > LATE_SHARE * size).then_some(whole.estimate)
}

fn invalid(metric: &str, n: usize, reason: String) -> RecoveryVerdict {
    let verdict = Verdict::bare("recovery", metric, Outcome::Invalid, n, reason);
    RecoveryVerdict { verdict, per_cycle: Vec::new(), trend: None }
}

/// Basis of the interval.
#[derive(Clone, Copy)]
enum Units {
    Trials(usize),
    Windows(usize),
}

fn verdict(
    metric: &str,
    log_ratio: Location,
    medians: Medians,
    units: Units,
    rise: Option<f64>,
    settings: &RecoverySettings,
) -> Verdict {
    let outcome = match settings.outcome(log_ratio) {
        // A rate that still changes has no level to return to.
        Outcome::Recovered if rise.is_some() => Outcome::Undecided,
        outcome => outcome,
    };
    let ratio = Estimate::of_log(log_ratio);
    let limit = wording::percent(settings.margin);
    let finding = match outcome {
        Outcome::Recovered => format!("no more than the margin of {limit} is lost"),
        Outcome::NotRecovered => format!("more than the margin of {limit} is lost"),
        _ if rise.is_some() => "it is recovering, so a longer phase after the flood is needed".into(),
        _ if ratio.interval.is_none() => {
            "without an interval there is no answer, so more windows are needed".into()
        }
        _ => format!("the interval straddles the margin of {limit}, so more trials or windows are needed"),
    };
    let (n, basis) = match units {
        Units::Trials(1) => {
            (1, "one trial: the variation between trials is assumed, not measured".to_string())
        }
        Units::Trials(n) => (n, format!("{n} trials")),
        Units::Windows(n) => (
            n,
            format!(
                "at least {} on each side; the interval excludes variation between trials",
                wording::count(n, "window")
            ),
        ),
    };
    let moving = rise.map_or_else(String::new, |rise| {
        format!(
            "; from the first to the last third of the phase after the flood it changed by {}",
            wording::change(rise.exp())
        )
    });
    let reason = format!(
        "after/baseline is {} ({}): {finding}{moving}; {}; {basis}",
        wording::change(ratio.estimate),
        wording::interval(log_ratio, settings.confidence),
        arithmetic(medians, ratio.estimate),
    );
    Verdict {
        estimate: Some(ratio.estimate),
        interval: ratio.interval,
        confidence: settings.confidence,
        ..Verdict::bare("recovery", metric, outcome, n, reason)
    }
}

/// Sentence of the cycles before the last one.
fn cycle_note(
    outcome: Outcome,
    per_cycle: &[Location],
    trend: Option<Trend>,
    settings: &RecoverySettings,
) -> String {
    let mut note = String::new();
    if per_cycle.len() > 1 {
        note += &format!("; judged after the last of {} floods", per_cycle.len());
    }
    if outcome == Outcome::Recovered
        && let Some(c) = per_cycle.iter().position(|l| settings.outcome(*l) == Outcome::NotRecovered)
    {
        note += &format!("; after flood {} it had not recovered", c + 1);
    }
    if let Some(Trend { tau, p }) = trend.filter(|t| t.p < 0.05) {
        let way = if tau < 0.0 { "falls" } else { "rises" };
        note += &format!("; it {way} from flood to flood (Mann-Kendall p = {})", wording::p_value(p));
    }
    note
}

#[cfg(test)]
mod tests;
