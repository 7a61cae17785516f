//! Recovery: accuracy of the outcome on a machine whose weather moves both services between phases.

use plimsoll_judge::recovery::{
    BeforeAfter, RecoverySettings, RecoveryTrial, WindowPair, judge_flat, judge_trials, time_to_recover,
};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use plimsoll_model::verdict::Outcome;
use rayon::prelude::*;

/// True ratios after/baseline, with the outcome that is right.
const TRUTHS: [(f64, Outcome); 4] = [
    (1.00, Outcome::Recovered),
    (0.97, Outcome::Recovered),
    (0.90, Outcome::NotRecovered),
    (0.25, Outcome::NotRecovered),
];
const TRIALS: usize = 5;
const CYCLES: usize = 3;

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let runs = if quick { 300 } else { 4000 };
    let mut rows = Vec::new();
    for shape in [Shape::Flat(30), Shape::Flat(60), Shape::Trials(20)] {
        rows.extend(accuracy(&format!("recovery, {}", shape.name()), shape, true, runs));
    }
    rows.extend(accuracy("recovery, 60 windows, no control", Shape::Flat(60), false, runs));
    rows.push(time_row(runs));
    rows
}

#[derive(Clone, Copy)]
enum Shape {
    /// Number of windows on each side.
    Flat(usize),
    /// Trials and cycles, with this number of windows in each.
    Trials(usize),
}

impl Shape {
    fn name(self) -> String {
        match self {
            Self::Flat(windows) => format!("{windows} windows"),
            Self::Trials(windows) => format!("{TRIALS} trials x {CYCLES} cycles x {windows} windows"),
        }
    }
}

fn accuracy(method: &str, shape: Shape, control: bool, runs: usize) -> Vec<String> {
    let target = |text: &'static str| if control { text } else { "" };
    let mut rows = Vec::new();
    let (mut held, mut false_alarms) = (0, 0);
    for (truth, right) in TRUTHS {
        let found: Vec<(Outcome, bool)> =
            (0..runs).into_par_iter().map(|seed| judge(shape, truth, control, seed as u64)).collect();
        let good = found.iter().filter(|(outcome, _)| *outcome == right).count();
        held += found.iter().filter(|(_, held)| *held).count();
        if right == Outcome::Recovered {
            false_alarms += found.iter().filter(|(outcome, _)| *outcome == Outcome::NotRecovered).count();
        }
        rows.push(row(
            method,
            &format!("right at a true ratio of {truth:.2}"),
            &share(good, runs),
            target("≥ 95 %"),
        ));
    }
    rows.push(row(method, "false not_recovered", &share(false_alarms, 2 * runs), target("≤ 2 %")));
    rows.push(row(method, "coverage of the 95 % interval", &share(held, 4 * runs), ""));
    rows
}

/// The outcome, and whether the interval holds the truth.
fn judge(shape: Shape, truth: f64, control: bool, seed: u64) -> (Outcome, bool) {
    let mut rng = SmallRng::new(seed.wrapping_mul(31) + 7);
    let settings = RecoverySettings::default();
    let found = match shape {
        Shape::Flat(windows) => {
            let (before, after) = (phase(&mut rng, 1.0, windows), phase(&mut rng, truth, windows));
            let side = |pick: &dyn Fn(&WindowPair) -> f64| BeforeAfter {
                baseline: before.iter().map(pick).collect(),
                after: after.iter().map(pick).collect(),
            };
            let spared = control.then(|| side(&|w| w.control.unwrap_or(1.0)));
            judge_flat("rate", &side(&|w| w.treatment), spared.as_ref(), &settings)
        }
        Shape::Trials(windows) => {
            let trials: Vec<RecoveryTrial> = (0..TRIALS)
                .map(|_| {
                    // Fresh hosts differ a little in how they come back.
                    let own = truth * (0.005 * rng.normal()).exp();
                    let baseline = phase(&mut rng, 1.0, windows);
                    RecoveryTrial {
                        baseline,
                        cycles: (0..CYCLES).map(|_| phase(&mut rng, own, windows)).collect(),
                    }
                })
                .collect();
            judge_trials("rate", &trials, &settings)
        }
    };
    let verdict = found.unwrap_or_else(|e| panic!("{e}")).verdict;
    (verdict.outcome, verdict.interval.is_some_and(|i| i.lo() <= truth && truth <= i.hi()))
}

/// The windows of one phase. Weather of 5 % comes and goes between phases and 2 % of AR(1) inside of them, for both
/// services; each window has 1.5 % of its own, and one in twenty loses up to all of a second to a neighbour, which the
/// control feels too, if not quite alike.
fn phase(rng: &mut SmallRng, ratio: f64, windows: usize) -> Vec<WindowPair> {
    let phase = 0.05 * rng.normal();
    let mut lasting = 0.02 * rng.normal();
    (0..windows)
        .map(|_| {
            lasting = 0.8 * lasting + 0.012 * rng.normal();
            let loss = if rng.uniform() < 0.05 { 2.0 * rng.uniform() } else { 0.0 };
            let mut figure = |level: f64| {
                let felt = loss * (0.8 + 0.4 * rng.uniform());
                level * (phase + lasting - felt + 0.015 * rng.normal()).exp()
            };
            WindowPair { treatment: figure(200.0 * ratio), control: Some(figure(180.0)) }
        })
        .collect()
}

/// A service that climbs back in one step at a known second, seen through windows of one second.
fn time_row(runs: usize) -> String {
    let near = (0..runs).into_par_iter().filter(|seed| {
        let mut rng = SmallRng::new(*seed as u64 + 99);
        let back = 5 + rng.below(30);
        let windows: Vec<(f64, f64)> = (0..60)
            .map(|second| {
                let level =
                    if second >= back { 200.0 } else { 200.0 * (0.2 + 0.6 * second as f64 / back as f64) };
                (second as f64, level * (0.015 * rng.normal()).exp())
            })
            .collect();
        time_to_recover(&windows, 200.0, 0.05, 3).is_some_and(|t| (t - back as f64).abs() <= 1.0)
    });
    row("time to recover, 3 windows in a row", "within one window", &share(near.count(), runs), "≥ 95 %")
}
