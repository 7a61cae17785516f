//! One trial's step from its baseline to after a flood, on the log scale.

use super::WindowPair;
use crate::input::JudgeError;
use crate::stats::shift::{Location, shift};
use crate::stats::{dist, lag1_autocorrelation, median, quantile_sorted, sd, sorted};

/// A window that carried nothing counts as this share of the usual.
const NOTHING: f64 = 1e-3;
/// Below this many windows on a side ranks carry no interval, and Student's t is used.
const RANK_WINDOWS: usize = 5;
/// The confidence at which intervals are turned into standard errors; any would do for normal estimates.
const CONFIDENCE: f64 = 0.95;

/// Fewest windows in a third of a phase.
const LEAST_THIRD: usize = 3;

/// The windows of one phase, checked.
pub(super) struct Windows {
    treatment: Vec<f64>,
    /// Flooded and control, where the control has a figure above 0.
    with_control: Vec<(f64, f64)>,
    /// How many windows name a control at all.
    controls: usize,
}

impl Windows {
    /// Reads windows; zeros are refused only where lower is better.
    pub(super) fn read(what: &str, windows: &[WindowPair], zeros_refused: bool) -> Result<Self, JudgeError> {
        if windows.is_empty() {
            return Err(JudgeError::Empty { what: what.into(), expected: "at least one window" });
        }
        for (index, window) in windows.iter().enumerate() {
            for (name, value) in [("treatment", Some(window.treatment)), ("control", window.control)] {
                check(|| format!("{what}.{name}"), index, value.unwrap_or(1.0), zeros_refused)?;
            }
        }
        let with_control = windows.iter().filter_map(|w| Some((w.treatment, w.control?)));
        Ok(Self {
            treatment: windows.iter().map(|w| w.treatment).collect(),
            controls: windows.iter().filter(|w| w.control.is_some()).count(),
            with_control: with_control.filter(|(_, control)| *control > 0.0).collect(),
        })
    }

    /// Whether most windows of the treated service are empty.
    pub(super) fn carried_nothing(&self) -> bool {
        median(&self.treatment) <= 0.0
    }

    /// Whether most windows of the control are empty.
    pub(super) fn control_stopped(&self) -> bool {
        self.controls > 0 && 2 * self.with_control.len() < self.controls
    }

    /// Whether enough windows have a control to be judged against it alone.
    fn adjustable(&self) -> bool {
        2 * self.with_control.len() >= self.treatment.len()
    }

    fn logs(&self, adjusted: bool, floor: f64) -> Vec<f64> {
        if adjusted {
            self.with_control.iter().map(|(f, c)| f.max(floor).ln() - c.ln()).collect()
        } else {
            self.treatment.iter().map(|f| f.max(floor).ln()).collect()
        }
    }
}

/// The median figures of a trial before and after a flood: what a reader finds in a table of the rigs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Medians {
    pub(super) treatment: [f64; 2],
    /// Weights of the control, where it was divided out.
    pub(super) control: Option<[f64; 2]>,
}

impl Medians {
    pub(super) fn of(baseline: &Windows, after: &Windows) -> Self {
        let treatment = [baseline, after].map(|phase| median(&phase.treatment));
        let of_control = |phase: &Windows| {
            median(&phase.with_control.iter().map(|(_, control)| *control).collect::<Vec<_>>())
        };
        let adjusted = baseline.adjustable() && after.adjustable();
        Self { treatment, control: adjusted.then(|| [baseline, after].map(of_control)) }
    }

    /// The medians over trials; the control's only where every trial has one.
    pub(super) fn over(trials: &[Self]) -> Self {
        let over = |of: &dyn Fn(&Self) -> f64| median(&trials.iter().map(of).collect::<Vec<_>>());
        let control = trials.iter().all(|trial| trial.control.is_some());
        Self {
            treatment: [0, 1].map(|side| over(&|trial| trial.treatment[side])),
            control: control
                .then(|| [0, 1].map(|side| over(&|trial| trial.control.map_or(f64::NAN, |of| of[side])))),
        }
    }
}

fn check(what: impl Fn() -> String, index: usize, value: f64, zeros_refused: bool) -> Result<(), JudgeError> {
    if !value.is_finite() {
        Err(JudgeError::NotFinite { what: what(), index, value })
    } else if value < 0.0 {
        Err(JudgeError::Negative { what: what(), index, value })
    } else if value == 0.0 && zeros_refused {
        Err(JudgeError::NotPositive { what: what(), index, value })
    } else {
        Ok(())
    }
}

/// How far the log of a figure moved, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// ln(after/baseline), against the control where there is one.
    pub log_ratio: f64,
    /// Its standard error from the windows alone; infinite when they do not show it, as with one window on each side.
    pub standard_error: f64,
}

impl Step {
    /// The step between two phases, against the control where enough windows have one.
    pub(super) fn between(baseline: &Windows, after: &Windows) -> Self {
        let adjusted = baseline.adjustable() && after.adjustable();
        let floor = NOTHING * median(&baseline.treatment);
        Self::of_logs(&baseline.logs(adjusted, floor), &after.logs(adjusted, floor))
    }

    /// How far the figure still moves within the phase after a flood: from its first third to its last, and from its middle third to its last. Absent for fewer windows
    /// than three in each.
    pub(super) fn within(baseline: &Windows, after: &Windows) -> Option<[Self; 2]> {
        let logs = after.logs(after.adjustable(), NOTHING * median(&baseline.treatment));
        let third = logs.len() / 3;
        let last = &logs[logs.len() - third..];
        let from = |start: usize| Self::of_logs(&logs[start..start + third], last);
        (third >= LEAST_THIRD).then(|| [from(0), from(third)])
    }

    fn of_logs(before: &[f64], after: &[f64]) -> Self {
        let found = shift(before, after, CONFIDENCE);
        let few = before.len().min(after.len()) < RANK_WINDOWS;
        let independent = if few { student_error(before, after) } else { found.standard_error(CONFIDENCE) };
        let memory = memory(before, after);
        Self { log_ratio: found.estimate, standard_error: independent * memory }
    }

    /// The step, less that of a control measured apart.
    pub(super) fn against(self, control: Self) -> Self {
        Self {
            log_ratio: self.log_ratio - control.log_ratio,
            standard_error: self.standard_error.hypot(control.standard_error),
        }
    }

    /// The interval that the windows alone give.
    pub(super) fn location(self, confidence: f64) -> Location {
        let half = dist::normal_quantile(0.5 + confidence / 2.0) * self.standard_error;
        Location { estimate: self.log_ratio, lo: self.log_ratio - half, hi: self.log_ratio + half }
    }
}

/// The standard error of a difference of means of few values, widened as Student's t is against the normal.
fn student_error(x: &[f64], y: &[f64]) -> f64 {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let df = n + m - 2.0;
    if df < 1.0 {
        return f64::INFINITY;
    }
    let pooled = ((n - 1.0) * sd(x).powi(2) + (m - 1.0) * sd(y).powi(2)) / df;
    let quantile = 0.5 + CONFIDENCE / 2.0;
    let widening = dist::t_quantile(quantile, df) / dist::normal_quantile(quantile);
    widening * (pooled * (1.0 / n + 1.0 / m)).sqrt()
}

/// By how much neighbouring windows that resemble each other widen a standard error: √((1 + ρ)/(1 − ρ)) for an AR(1)
/// series with lag-1 correlation ρ (Priestley 1981, section 5.3). ρ is that of both phases, wild windows pulled in, and
/// counts from where chance alone would rarely reach (one-sided 5 %: 1.645/√n).
fn memory(before: &[f64], after: &[f64]) -> f64 {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let pooled = (n * lag1(before) + m * lag1(after)) / (n + m);
    if pooled * (n + m).sqrt() < 1.645 {
        return 1.0;
    }
    let rho = pooled.min(0.8);
    ((1.0 + rho) / (1.0 - rho)).sqrt()
}

/// The lag-1 correlation with values outside of the middle 80 % pulled to its ends, corrected for the bias of short
/// series, whose own mean takes 1/n of it (Marriott & Pope 1954).
fn lag1(values: &[f64]) -> f64 {
    let order = sorted(values);
    let (lo, hi) = (quantile_sorted(&order, 0.1), quantile_sorted(&order, 0.9));
    let tame: Vec<f64> = values.iter().map(|v| v.clamp(lo, hi)).collect();
    lag1_autocorrelation(&tame) + 1.0 / values.len() as f64
}
