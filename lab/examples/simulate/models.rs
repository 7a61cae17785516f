//! How often queues and kinds of growth are distinguished, how often the interval of a scaling peak holds it, and how near C of Mathis is found.

use plimsoll_judge::models::growth::{Growth, GrowthPoint, Kind, fit_growth};
use plimsoll_judge::models::load_curve::{LoadPoint, Queue, fit_load_curve};
use plimsoll_judge::models::loss::{Formula, LossPoint, fit_loss};
use plimsoll_judge::models::scaling::{Law, ScalingPoint, fit_scaling};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use plimsoll_model::verdict::Outcome;

/// The rows of the table, each from many simulated experiments.
pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 200 } else { 1_000 };
    let each = |judge: fn(&mut SmallRng) -> bool, stream: u64| {
        let right = |&i: &usize| judge(&mut SmallRng::new((stream << 32) + i as u64));
        share((0..count).filter(right).count(), count)
    };
    let queues = "load-curve, 10 points up to 90 %, 2 CPUs, load ± 5 %";
    let law = "scaling, 10 points, throughput ± 2 %";
    let growth = "growth, 7 numbers from 40 to 4000, 3 points each, time ± 8 %";
    vec![
        row(growth, "constant and linear ones called worse than linear", &each(worse_is_claimed, 4), "≤ 2 %"),
        row(growth, "constant, n, n^1.3 and a knee (3 x) distinguished", &each(growth_is_found, 5), "≥ 95 %"),
        row(growth, "knee within its 95 % interval", &each(knee_is_held, 6), "93 to 97 %"),
        row(growth, "factor of doubling within its 95 % interval", &each(doubling_is_held, 7), "93 to 97 %"),
        row(queues, "M/M/1, M/M/2 and 2 x M/M/1 distinguished", &each(queue_is_found, 1), "≥ 95 %"),
        row(
            "load-curve, 8 steps of 3 s from 20 to 88 %, 2 CPUs, 4 ms a job, simulated jobs",
            "M/M/2 called another queue",
            &each(|rng| watched_queue(rng, 3.0).is_some_and(|queue| queue != Queue::Shared), 8),
            "≤ 2 %",
        ),
        row(
            "the same",
            "called M/M/2",
            &each(|rng| watched_queue(rng, 3.0) == Some(Queue::Shared), 8),
            "≥ 80 %",
        ),
        row(
            "the same with steps of 20 s",
            "called M/M/2",
            &each(|rng| watched_queue(rng, 20.0) == Some(Queue::Shared), 9),
            "≥ 95 %",
        ),
        row(law, "peak within its 95 % interval", &each(peak_is_held, 2), "93 to 97 %"),
        row(
            "loss, 6 points, rate ± 10 %",
            "C within its 95 % interval",
            &each(constant_is_held, 3),
            "93 to 97 %",
        ),
    ]
}

fn queue_is_found(rng: &mut SmallRng) -> bool {
    let queue = [Queue::Single, Queue::Shared, Queue::Separate][rng.below(3)];
    let points: Vec<LoadPoint> = (0..10)
        .map(|_| {
            let utilisation = 0.1 + 0.8 * rng.uniform();
            LoadPoint {
                utilisation,
                load: queue.load(utilisation, 2) * (1.0 + 0.05 * rng.normal()),
                users: None,
            }
        })
        .collect();
    fit_load_curve(&points, 2).is_ok_and(|curve| curve.fits[0].queue == queue)
}

/// Verdict on a queue with two servers after `seconds` at each of eight rates; `None` if it is undecided.
fn watched_queue(rng: &mut SmallRng, seconds: f64) -> Option<Queue> {
    let points: Vec<LoadPoint> = [90.0, 150.0, 205.0, 260.0, 305.0, 340.0, 370.0, 395.0]
        .map(|rate| watched(rate, 0.004_45, seconds, rng))
        .into();
    let curve = fit_load_curve(&points, 2).ok()?;
    (curve.verdict("load").outcome == Outcome::Estimated).then(|| curve.fits[0].queue)
}

/// Two servers with one queue, empty at first and watched after a sixth of the time: the mean number of jobs, and the share of the servers' time
/// that was used.
fn watched(rate: f64, service: f64, seconds: f64, rng: &mut SmallRng) -> LoadPoint {
    let exponential = |mean: f64, rng: &mut SmallRng| -mean * (1.0 - rng.uniform()).ln();
    let (start, end) = (seconds / 6.0, seconds);
    let inside = |from: f64, to: f64| (to.min(end) - from.max(start)).max(0.0);
    let (mut free, mut now, mut jobs, mut busy) = ([0.0_f64; 2], 0.0, 0.0, 0.0);
    while now < end {
        now += exponential(1.0 / rate, rng);
        let server = usize::from(free[1] < free[0]);
        let begins = free[server].max(now);
        free[server] = begins + exponential(service, rng);
        jobs += inside(now, free[server]);
        busy += inside(begins, free[server]);
    }
    LoadPoint {
        utilisation: (busy / 2.0 / (end - start)).min(0.9999),
        load: jobs / (end - start),
        users: None,
    }
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

fn grown(time: impl Fn(f64) -> f64, rng: &mut SmallRng) -> Option<Growth> {
    let numbers = [40.0, 80.0, 200.0, 400.0, 800.0, 2_000.0, 4_000.0].into_iter().flat_map(|n| [n; 3]);
    let points: Vec<GrowthPoint> =
        numbers.map(|n| GrowthPoint { n, time: time(n) * (0.08 * rng.normal()).exp() }).collect();
    fit_growth(&points).ok()
}

/// A line through nothing, one that begins above it, or a level.
fn worse_is_claimed(rng: &mut SmallRng) -> bool {
    let (start, slope) = ([0.0, 20.0, 100.0][rng.below(3)], [0.0, 0.2, 0.5][rng.below(3)]);
    let found = grown(|n| start + slope * n + f64::from(start + slope == 0.0), rng);
    found.is_some_and(|found| match found.kind {
        Kind::Constant | Kind::Linear | Kind::Logarithmic => false,
        Kind::Power => found.exponent > 1.0,
        Kind::Linearithmic | Kind::Quadratic | Kind::Knee => true,
    })
}

fn bent(knee: f64) -> impl Fn(f64) -> f64 {
    move |n: f64| 2.0 + 0.2 * n + 0.4 * (n - knee).max(0.0)
}

fn growth_is_found(rng: &mut SmallRng) -> bool {
    let knee = 200.0 + 800.0 * rng.uniform();
    let (kind, found) = match rng.below(4) {
        0 => (Kind::Constant, grown(|_| 5.0, rng)),
        1 => (Kind::Linear, grown(|n| 2.0 + 0.2 * n, rng)),
        2 => (Kind::Power, grown(|n| 0.05 * n.powf(1.3), rng)),
        _ => (Kind::Knee, grown(bent(knee), rng)),
    };
    found.is_some_and(|found| found.kind == kind)
}

fn knee_is_held(rng: &mut SmallRng) -> bool {
    loop {
        let knee = 200.0 + 800.0 * rng.uniform();
        let interval = grown(bent(knee), rng).and_then(|found| found.knee_interval);
        // Where none is found there is no interval either.
        let Some(interval) = interval else { continue };
        return interval.lo() <= knee && knee <= interval.hi();
    }
}

fn doubling_is_held(rng: &mut SmallRng) -> bool {
    let start = 100.0 * rng.uniform();
    let time = |n: f64| start + 0.2 * n;
    let doubling = time(4_000.0) / time(2_000.0);
    grown(time, rng).is_some_and(|found| {
        found.doubling_interval.lo() <= doubling && doubling <= found.doubling_interval.hi()
    })
}
