//! Points of known queues, of no queue, and of too little load.

use super::closed_load::repairman;
use super::*;
use crate::stats::rng::SmallRng;
use plimsoll_model::verdict::Outcome;

fn measured(queue: Queue, cpus: usize, background: f64, seed: u64) -> Vec<LoadPoint> {
    let mut rng = SmallRng::new(seed);
    (1..=9)
        .map(|k| {
            let utilisation = f64::from(k) / 10.0;
            let noise = 1.0 + 0.03 * rng.normal();
            LoadPoint { utilisation, load: (queue.load(utilisation, cpus) + background) * noise, users: None }
        })
        .collect()
}

#[test]
fn each_model_is_distinguished_from_the_others() {
    for queue in [Queue::Single, Queue::Shared, Queue::Separate] {
        for seed in 0..10 {
            let curve = fit_load_curve(&measured(queue, 2, 0.0, seed), 2).unwrap();
            assert_eq!(curve.fits[0].queue, queue, "{curve:?}");
            assert_eq!(curve.verdict("load").outcome, Outcome::Estimated, "{curve:?}");
        }
    }
}

#[test]
fn background_load_is_found() {
    let curve = fit_load_curve(&measured(Queue::Single, 1, 0.8, 1), 1).unwrap();
    assert!((curve.fits[0].background - 0.8).abs() < 0.1, "{curve:?}");
}

#[test]
fn a_single_queue_hurts_from_five_sixths_on() {
    // R = 1/(1-ρ): (1-ρ)/(1-1.1ρ) = 2 at ρ = 1/1.2.
    let curve = fit_load_curve(&measured(Queue::Single, 1, 0.0, 2), 1).unwrap();
    assert!((curve.hurts_at_utilisation.unwrap() - 1.0 / 1.2).abs() < 1e-9);
    assert!((curve.hurts_at_load.unwrap() - 5.0).abs() < 1e-6);
    // From 90 % to 99 %: ten times as long.
    assert!((curve.next_tenth.unwrap() - 10.0).abs() < 1e-6);
    let reason = curve.verdict("load").reason;
    assert!(reason.ends_with("10 % more than the highest measured load multiplies it by 10.0"), "{reason}");
}

#[test]
fn points_that_follow_no_queue_or_lie_too_low_are_undecided() {
    let flat: Vec<LoadPoint> = (1..=9)
        .map(|k| LoadPoint { utilisation: f64::from(k) / 10.0, load: 9.0 - f64::from(k), users: None })
        .collect();
    assert_eq!(fit_load_curve(&flat, 1).unwrap().verdict("load").outcome, Outcome::Undecided);
    let light: Vec<LoadPoint> = (1..=6)
        .map(|k| f64::from(k) / 100.0)
        .map(|u| LoadPoint { utilisation: u, load: 2.0 * u + 0.01 * (100.0 * u).sin(), users: None })
        .collect();
    let verdict = fit_load_curve(&light, 2).unwrap().verdict("load");
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.reason.contains("nearer to saturation"), "{}", verdict.reason);
}

/// From 10 to 95 % of two processors, each load off by a random factor.
fn seen(load: impl Fn(f64) -> f64, scatter: f64, seed: u64) -> Vec<LoadPoint> {
    let mut rng = SmallRng::new(seed);
    let utilisations = [0.10, 0.25, 0.40, 0.55, 0.65, 0.75, 0.85, 0.90, 0.95];
    utilisations
        .map(|utilisation| LoadPoint {
            utilisation,
            load: load(utilisation) * (scatter * rng.normal()).exp(),
            users: None,
        })
        .to_vec()
}

#[test]
fn a_load_that_does_not_grow_as_a_queue_is_refused_with_the_line_that_it_is() {
    let shapes: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("at any utilisation", &|_| 3.0),
        ("at any utilisation", &|_| 0.4),
        ("changes evenly by", &|u| 1.0 + 2.0 * u),
        ("changes evenly by -", &|u| 5.0 - 3.0 * u),
    ];
    for (words, load) in shapes {
        for cpus in [1, 2, 8] {
            for seed in 0..5 {
                let verdict = fit_load_curve(&seen(load, 0.03, seed), cpus).unwrap().verdict("load");
                assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Undecided, None), "{words} {cpus}");
                assert!(verdict.reason.starts_with("no queue: a load of"), "{}", verdict.reason);
                assert!(verdict.reason.contains(words), "{}", verdict.reason);
            }
        }
    }
}

#[test]
fn users_who_wait_for_their_answers_are_distinguished_from_jobs_that_come_by_themselves() {
    for (cpus, users) in [(1, 12), (2, 20)] {
        let queue = if cpus == 1 { Queue::Single } else { Queue::Shared };
        let load = |u| queue.closed_load(u, cpus, users);
        // Throughput has not flattened yet.
        let rising = fit_load_curve(&seen(load, 0.02, 5), cpus).unwrap();
        assert!(rising.fits.iter().all(|fit| fit.users.is_none()), "{rising:?}");
        let mut points = seen(load, 0.02, 5);
        points.extend([0.97, 0.985].map(|u| LoadPoint { utilisation: u, load: load(u), users: None }));
        let found = fit_load_curve(&points, cpus).unwrap();
        let best = &found.fits[0];
        assert!(best.users.is_some_and(|n| n.abs_diff(users) <= users / 4), "{found:?}");
        for point in &mut points {
            point.users = Some(users as f64);
            point.load = point.load.min(users as f64);
        }
        let curve = fit_load_curve(&points, cpus).unwrap();
        assert_eq!(curve.fits[0].name, format!("M/M/{cpus}//{users}"), "{curve:?}");
        let verdict = curve.verdict("load");
        assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Estimated, Some(users as f64)));
    }
    for queue in [Queue::Single, Queue::Shared] {
        let found = fit_load_curve(&seen(|u| queue.load(u, 2), 0.03, 3), 2).unwrap();
        assert!(found.fits.iter().all(|fit| fit.users.is_none()), "{found:?}");
    }
}

#[test]
fn each_point_may_have_users_of_its_own() {
    let point = |users: usize, ratio: f64| {
        let (load, utilisation) = repairman(2, users, ratio);
        LoadPoint { utilisation, load, users: Some(users as f64) }
    };
    let points: Vec<LoadPoint> = [2, 4, 6, 8, 10, 14].map(|users| point(users, 0.2)).to_vec();
    let found = fit_load_curve(&points, 2).unwrap();
    assert_eq!((found.fits[0].name.as_str(), found.fits[0].users), ("M/M/2//N", Some(14)), "{found:?}");
    assert!(found.error < 1e-6, "{found:?}");
    let crowded = LoadPoint { users: Some(1.0), ..points[0] };
    assert!(fit_load_curve(&[&points[..], &[LoadPoint { load: 1.5, ..crowded }]].concat(), 2).is_err());
}

#[test]
fn impossible_rows_are_errors() {
    let point = |utilisation, load| LoadPoint { utilisation, load, users: None };
    assert!(fit_load_curve(&[point(0.5, 1.0); 4], 1).is_err());
    for bad in
        [point(1.0, 1.0), point(f64::NAN, 1.0), point(-0.1, 1.0), point(0.5, -1.0), point(0.5, f64::NAN)]
    {
        assert!(fit_load_curve(&[bad; 6], 1).is_err(), "{bad:?}");
    }
    assert!(fit_load_curve(&[point(0.5, 1.0); 6], 0).is_err());
}

/// The time that a job of 1 s on average takes.
type Service = fn(&mut SmallRng) -> f64;

fn exponential(rng: &mut SmallRng) -> f64 {
    -(1.0 - rng.uniform()).ln()
}

fn fixed(_: &mut SmallRng) -> f64 {
    1.0
}

/// Erlang's distribution of two stages: C² = 1/2.
fn erlang_2(rng: &mut SmallRng) -> f64 {
    f64::midpoint(exponential(rng), exponential(rng))
}

/// One job in ten takes 5.5 s, the others half a second, both exponential: C² = 2(0.1·30.25 + 0.9·0.25) - 1 = 5.5.
fn two_sorts(rng: &mut SmallRng) -> f64 {
    exponential(rng) * if rng.uniform() < 0.1 { 5.5 } else { 0.5 }
}

/// One server at which `jobs` jobs arrive at random, by the recursion of Lindley (1952): a job waits for what the one
/// before had to wait and to be served, less the time between the two.
fn lindley(rate: f64, service: Service, jobs: usize, rng: &mut SmallRng) -> LoadPoint {
    let (mut waits, mut now, mut busy, mut inside) = (0.0_f64, 0.0, 0.0, 0.0);
    for _ in 0..jobs {
        let (takes, pause) = (service(rng), exponential(rng) / rate);
        inside += waits + takes;
        busy += takes;
        now += pause;
        waits = (waits + takes - pause).max(0.0);
    }
    LoadPoint { utilisation: busy / now, load: inside / now, users: None }
}

fn simulated(rates: &[f64], service: Service, jobs: usize, seed: u64) -> LoadCurve {
    let mut rng = SmallRng::new(seed);
    let points: Vec<LoadPoint> = rates.iter().map(|rate| lindley(*rate, service, jobs, &mut rng)).collect();
    fit_load_curve(&points, 1).unwrap()
}

const RATES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

#[test]
fn service_times_that_vary_less_or_more_than_exponential_ones_are_reported_with_their_variation() {
    for (service, truth) in [(fixed as Service, 0.0), (erlang_2, 0.5), (two_sorts, 5.5)] {
        for seed in 0..8 {
            let curve = simulated(&RATES, service, 30_000, seed);
            let (best, verdict) = (&curve.fits[0], curve.verdict("load"));
            assert_eq!((best.name.as_str(), verdict.outcome), ("M/G/1", Outcome::Estimated), "{verdict:?}");
            let Interval(low, high) = best.service_variation_interval.unwrap();
            assert!((best.service_variation - truth).abs() < 0.2 + 0.3 * truth, "{truth} {best:?}");
            assert!(low <= best.service_variation && best.service_variation <= high, "{best:?}");
            assert!(verdict.reason.contains("squared variation of service times"), "{}", verdict.reason);
        }
    }
}

#[test]
fn exponential_service_times_stay_m_m_1_and_the_interval_of_their_variation_holds_one() {
    let (mut other, mut held) = (0, 0);
    for seed in 0..40 {
        let curve = simulated(&RATES, exponential, 30_000, seed);
        let Interval(low, high) = curve.fits[0].service_variation_interval.unwrap();
        other += usize::from(curve.fits[0].name != "M/M/1");
        held += usize::from(low <= 1.0 && 1.0 <= high);
    }
    assert!(other <= 1 && held >= 34, "{other} {held}");
}

#[test]
fn a_curve_that_every_tenth_multiplies_is_no_queue() {
    for seed in 0..20 {
        let verdict =
            fit_load_curve(&seen(|u| 0.2 * (3.5 * u).exp(), 0.03, seed), 2).unwrap().verdict("load");
        assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Undecided, None), "{verdict:?}");
        assert!(verdict.reason.contains("every tenth of utilisation multiplies by"), "{}", verdict.reason);
    }
}

#[test]
fn little_load_names_no_queue_and_a_limit_far_beyond_is_not_stated() {
    let light = [0.04, 0.08, 0.12, 0.16, 0.20, 0.24, 0.28];
    for seed in 0..20 {
        let curve = simulated(&light, exponential, 3_000, seed);
        let verdict = curve.verdict("load");
        assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Undecided, None), "{verdict:?}");
        assert_eq!((curve.hurts_at_load, curve.next_tenth), (None, None));
    }
    let half = simulated(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6], exponential, 200_000, 3);
    let verdict = half.verdict("load");
    assert_eq!((half.fits[0].name.as_str(), half.hurts_at_load), ("M/M/1", None));
    assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Estimated, None), "{verdict:?}");
    assert!(verdict.reason.contains("lies far beyond the measured 60"), "{}", verdict.reason);
    let busy = simulated(&RATES, exponential, 30_000, 3);
    let Interval(low, high) = busy.verdict("load").interval.unwrap();
    assert!(low < 5.0 && 5.0 < high && high - low < 4.0, "{low} {high}");
}
