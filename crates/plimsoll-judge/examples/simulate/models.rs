//! How well queues are told apart, how often the interval of a scaling peak holds it, and how near C of Mathis is found.

use crate::row::{row, share};
use plimsoll_judge::models::load_curve::{LoadPoint, Queue, fit_load_curve};
use plimsoll_judge::models::loss::{Formula, LossPoint, fit_loss};
use plimsoll_judge::models::scaling::{Law, ScalingPoint, fit_scaling};
use plimsoll_judge::stats::rng::SmallRng;

/// The rows of the table, each from many simulated experiments.
pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 200 } else { 1_000 };
    let each = |judge: fn(&mut SmallRng) -> bool, stream: u64| {
        let right = |&i: &usize| judge(&mut SmallRng::new((stream << 32) + i as u64));
        share((0..count).filter(right).count(), count)
    };
    let queues = "load-curve, 10 points up to 90 %, 2 CPUs, load ± 5 %";
    let law = "scaling, 10 points, throughput ± 2 %";
    vec![
        row(queues, "M/M/1, M/M/2 and 2 x M/M/1 told apart", &each(queue_is_told, 1), "≥ 95 %"),
        row(law, "peak within its 95 % interval", &each(peak_is_held, 2), "93 to 97 %"),
        row(
            "loss, 6 points, rate ± 10 %",
            "C within its 95 % interval",
            &each(constant_is_held, 3),
            "93 to 97 %",
        ),
    ]
}

fn queue_is_told(rng: &mut SmallRng) -> bool {
    let queue = [Queue::Single, Queue::Shared, Queue::Separate][rng.below(3)];
    let points: Vec<LoadPoint> = (0..10)
        .map(|_| {
            let utilisation = 0.1 + 0.8 * rng.uniform();
            LoadPoint { utilisation, load: queue.load(utilisation, 2) * (1.0 + 0.05 * rng.normal()) }
        })
        .collect();
    fit_load_curve(&points, 2).is_ok_and(|curve| curve.fits[0].queue == queue)
}

fn peak_is_held(rng: &mut SmallRng) -> bool {
    let law = Law { gamma: 1_000.0, alpha: 0.02 + 0.1 * rng.uniform(), beta: 0.001 + 0.002 * rng.uniform() };
    let points = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0]
        .map(|n| ScalingPoint { n, throughput: law.throughput(n) * (1.0 + 0.02 * rng.normal()) });
    let held = |peak| fit_scaling(&points).ok()?.peak_interval.map(|i| i.lo() <= peak && peak <= i.hi());
    law.peak().and_then(held).unwrap_or(false)
}

fn constant_is_held(rng: &mut SmallRng) -> bool {
    let c = 0.6 + 0.6 * rng.uniform();
    let points = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03].map(|loss| {
        let rate = c * Formula::Mathis.rate(0.02, loss, 1448.0) * (0.1 * rng.normal()).exp();
        LossPoint { rtt: 0.02, loss, mss: 1448.0, rate }
    });
    let interval = fit_loss(&points).ok().and_then(|curve| curve.of(Formula::Mathis).map(|fit| fit.interval));
    interval.is_some_and(|i| i.lo() <= c && c <= i.hi())
}
