//! Series without a step that look as if they had some: smooth curves, alone and with weeks, and noise that wanders.

use crate::Set;
use plimsoll_judge::changes::find_changes;
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// A curve from 0 to 1, bent by a figure from 0 to 1.
type Curve = fn(f64, f64) -> f64;

/// Curves other than those of the unit tests: the choice of thresholds never used these.
const CURVES: [Curve; 6] = [
    |x, bend| x.powf(0.35 + 0.3 * bend),
    |x, bend| (1.0 + (5.0 + 20.0 * bend) * x).ln() / (6.0 + 20.0 * bend).ln(),
    |x, bend| (TAU / 4.0 * (1.0 + bend) * x).sin(),
    |x, bend| x.powf(1.7 + 2.0 * bend),
    |x, bend| (1.0 + ((x - 0.3 - 0.4 * bend) * 6.0).tanh()) / 2.0,
    |x, bend| 1.0 - x / (x + 0.1 + 0.4 * bend),
];

pub(crate) fn rows(set: Set, quick: bool) -> Vec<String> {
    let count = if quick { 100 } else { 400 };
    let base = if set == Set::Tuned { 31 } else { 77 };
    let alarms = |draw: fn(&mut SmallRng) -> Vec<f64>, stream: u64| {
        let called = (0..count as u64).into_par_iter().filter(|i| {
            let series = draw(&mut SmallRng::new(((base + stream) << 32) + i));
            find_changes(&series).is_ok_and(|found| !found.changes.is_empty())
        });
        share(called.count(), count)
    };
    let figure = "series with an alarm";
    vec![
        row("changes, smooth curves", figure, &alarms(|rng| curved(false, rng), 1), "≤ 10 %"),
        row("changes, smooth curves with weeks", figure, &alarms(|rng| curved(true, rng), 2), "≤ 10 %"),
        row("changes, 1/f noise", figure, &alarms(one_over_f, 3), "≤ 10 %"),
    ]
}

/// A curve over 120 to 360 days that rises or falls by 4 to 25 standard deviations, with weekends that differ by up to 6.
fn curved(weeks: bool, rng: &mut SmallRng) -> Vec<f64> {
    let (n, bend, curve) = (120 + rng.below(241), rng.uniform(), CURVES[rng.below(CURVES.len())]);
    let height = (4.0 + 21.0 * rng.uniform()) * if rng.coin() { 1.0 } else { -1.0 };
    let weekend = if weeks { 2.0 + 4.0 * rng.uniform() } else { 0.0 };
    (0..n)
        .map(|i| {
            let week = if i % 7 >= 5 { -weekend } else { 0.2 * weekend * (i % 7) as f64 / 4.0 };
            height * curve(i as f64 / n as f64, bend) + week + rng.normal()
        })
        .collect()
}

/// Waves of all frequencies in random phases, the power of each as the inverse of its frequency.
fn one_over_f(rng: &mut SmallRng) -> Vec<f64> {
    let n = 120 + rng.below(241);
    let waves: Vec<(f64, f64, f64)> = (1..=n / 2)
        .map(|k| (TAU * k as f64 / n as f64, (k as f64).powf(-0.5) * rng.normal(), TAU * rng.uniform()))
        .collect();
    (0..n).map(|i| waves.iter().map(|(w, a, phase)| a * (w * i as f64 + phase).sin()).sum()).collect()
}
