//! False and missed queues: machines whose jobs are simulated one by one, with users who wait for their answers or without, and loads
//! that do not wait for processors.

use plimsoll_judge::models::load_curve::{LoadCurve, LoadPoint, fit_load_curve};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use plimsoll_model::verdict::Outcome;

/// Jobs that are watched at each point.
const JOBS: usize = 4_000;

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 100 } else { 500 };
    let each = |judge: fn(&mut SmallRng) -> bool, stream: u64| {
        let right = |&i: &usize| judge(&mut SmallRng::new((stream << 32) + i as u64));
        share((0..count).filter(right).count(), count)
    };
    let open = "load-curve, 9 points of 4000 simulated jobs, 1, 2 or 4 CPUs";
    let closed = "load-curve, the same, 8 to 40 users who think and wait";
    let general = "load-curve, 9 points of 20,000 jobs by Lindley's recursion, C² 0, 1/3, 1/2 or 5.5";
    let windows = "load-curve, 2 CPUs with fixed or uniform times, 8 windows of 4000 service times";
    let light = "load-curve, 7 points up to 28 %, 4000 simulated jobs";
    let none = "load-curve, 9 points from 10 to 95 %, load ± 2 to 10 %";
    vec![
        row(open, "called another queue", &each(is_called_another, 31), "≤ 2 %"),
        row(open, "refused as no queue", &each(|rng| is_refused(&opened(rng)), 32), "≤ 2 %"),
        row(closed, "found, with the number of users", &each(|rng| is_closed(rng, true), 33), "≥ 95 %"),
        row(closed, "found as users, without their number", &each(|rng| is_closed(rng, false), 34), ""),
        row(
            none,
            "a level called a queue",
            &each(|rng| called(&without_a_queue(0.0, rng)).is_some(), 35),
            "≤ 2 %",
        ),
        row(
            none,
            "a load that doubles evenly called a queue",
            &each(|rng| called(&without_a_queue(1.0, rng)).is_some(), 36),
            "≤ 2 %",
        ),
        row(
            general,
            "called M/M/1 with users, or no queue",
            &each(|rng| general_is(rng, is_no_open_queue), 37),
            "≤ 2 %",
        ),
        row(
            general,
            "called M/G/1",
            &each(|rng| general_is(rng, |_, curve| called(curve) == Some("M/G/1")), 38),
            "≥ 90 %",
        ),
        row(
            general,
            "squared variation within its 95 % interval",
            &each(|rng| general_is(rng, variation_is_held), 39),
            "93 to 97 %",
        ),
        row(
            windows,
            "called another queue than M/G/2",
            &each(|rng| two_servers(rng).is_some_and(|name| name != "M/G/2"), 40),
            "≤ 2 %",
        ),
        row(
            windows,
            "called M/G/2",
            &each(|rng| two_servers(rng).is_some_and(|name| name == "M/G/2"), 40),
            "",
        ),
        row(
            none,
            "a load that every tenth multiplies called a queue",
            &each(|rng| called(&exponential_load(rng)).is_some(), 41),
            "≤ 2 %",
        ),
        row(light, "a queue named", &each(|rng| called(&lightly_used(rng)).is_some(), 42), "≤ 2 %"),
    ]
}

/// Draws a service time.
type Service = fn(&mut SmallRng) -> f64;

/// Service times of 1 s on average, with their squared coefficient of variation.
const SERVICES: [(f64, Service); 4] = [
    (0.0, |_| 1.0),
    (1.0 / 3.0, |rng| 2.0 * rng.uniform()),
    (0.5, |rng| f64::midpoint(exponential(1.0, rng), exponential(1.0, rng))),
    // One in ten takes 5.5 s, the others half a second.
    (5.5, |rng| exponential(if rng.uniform() < 0.1 { 5.5 } else { 0.5 }, rng)),
];

/// One server by the recursion of Lindley (1952), at nine rates: a job waits for what the one before had to wait and to be served, less the time
/// between the two.
fn general_is(rng: &mut SmallRng, judge: impl Fn(f64, &LoadCurve) -> bool) -> bool {
    let (variation, service) = SERVICES[rng.below(SERVICES.len())];
    let points: Vec<LoadPoint> = (0..9)
        .map(|i| {
            let rate = 0.12 + 0.8 * f64::from(i) / 8.0;
            let (mut waits, mut now, mut busy, mut inside) = (0.0_f64, 0.0, 0.0, 0.0);
            for _ in 0..5 * JOBS {
                let (takes, pause) = (service(rng), exponential(1.0 / rate, rng));
                inside += waits + takes;
                busy += takes;
                now += pause;
                waits = (waits + takes - pause).max(0.0);
            }
            LoadPoint { utilisation: (busy / now).min(0.9999), load: inside / now, users: None }
        })
        .collect();
    judge(variation, &fit_load_curve(&points, 1).expect("points of a queue can be fitted"))
}

fn is_no_open_queue(_: f64, curve: &LoadCurve) -> bool {
    called(curve).is_some_and(|name| name.contains("//")) || is_refused(curve)
}

fn variation_is_held(variation: f64, curve: &LoadCurve) -> bool {
    curve.fits[0].service_variation_interval.is_some_and(|i| i.lo() <= variation && variation <= i.hi())
}

/// Two servers with one queue and service times that are fixed or uniform, watched through a window of 4000 service times.
fn two_servers(rng: &mut SmallRng) -> Option<String> {
    let (_, service) = SERVICES[rng.below(2)];
    let (start, end) = (200.0, 4_200.0);
    let inside = |from: f64, to: f64| (to.min(end) - from.max(start)).max(0.0);
    let points: Vec<LoadPoint> = [0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93]
        .iter()
        .map(|rate| {
            let (mut free, mut now, mut jobs, mut busy) = ([0.0_f64; 2], 0.0, 0.0, 0.0);
            while now < end {
                now += exponential(0.5 / rate, rng);
                let server = usize::from(free[1] < free[0]);
                let begins = free[server].max(now);
                free[server] = begins + service(rng);
                jobs += inside(now, free[server]);
                busy += inside(begins, free[server]);
            }
            let time = end - start;
            LoadPoint { utilisation: (busy / 2.0 / time).min(0.9999), load: jobs / time, users: None }
        })
        .collect();
    called(&fit_load_curve(&points, 2).expect("points of a queue can be fitted")).map(str::to_owned)
}

/// A load that grows by a factor of 3 to 60 up to full utilisation.
fn exponential_load(rng: &mut SmallRng) -> LoadCurve {
    let (cpus, level, growth) =
        ([1, 2, 4][rng.below(3)], 0.1 + 2.0 * rng.uniform(), 1.1 + 3.0 * rng.uniform());
    let scatter = 0.02 + 0.03 * rng.uniform();
    let points = [0.10, 0.22, 0.34, 0.46, 0.58, 0.68, 0.78, 0.88, 0.95].map(|utilisation: f64| LoadPoint {
        utilisation,
        load: level * (growth * utilisation + scatter * rng.normal()).exp(),
        users: None,
    });
    fit_load_curve(&points, cpus).expect("points of a curve can be fitted")
}

/// Processors that are used to 28 % at most.
fn lightly_used(rng: &mut SmallRng) -> LoadCurve {
    let cpus = [1, 2, 4][rng.below(3)];
    let points: Vec<LoadPoint> = (1..=7)
        .map(|i| {
            let rate = cpus as f64 * 0.04 * f64::from(i);
            watched(cpus, usize::MAX, |_, rng| exponential(1.0 / rate, rng), rng)
        })
        .collect();
    fit_load_curve(&points, cpus).expect("points of a queue can be fitted")
}

fn called(curve: &LoadCurve) -> Option<&str> {
    (curve.verdict("load").outcome == Outcome::Estimated).then(|| curve.fits[0].name.as_str())
}

fn is_refused(curve: &LoadCurve) -> bool {
    let reason = curve.verdict("load").reason;
    reason.starts_with("no queue") || reason.starts_with("no model holds")
}

/// A machine with one queue for its processors, at rates up to 92 %.
fn opened(rng: &mut SmallRng) -> LoadCurve {
    let cpus = [1, 2, 4][rng.below(3)];
    let points: Vec<LoadPoint> = (0..9)
        .map(|i| {
            let rate = cpus as f64 * (0.15 + 0.77 * f64::from(i) / 8.0);
            watched(cpus, usize::MAX, |_, rng| exponential(1.0 / rate, rng), rng)
        })
        .collect();
    fit_load_curve(&points, cpus).expect("points of a queue can be fitted")
}

fn is_called_another(rng: &mut SmallRng) -> bool {
    let curve = opened(rng);
    called(&curve).is_some_and(|name| name != format!("M/M/{}", curve.cpus))
}

/// A closed system: every user has at most one job, and thinks for a shorter time at each point.
fn is_closed(rng: &mut SmallRng, given: bool) -> bool {
    let (cpus, users) = ([1, 2, 4][rng.below(3)], 8 + rng.below(33));
    let points: Vec<LoadPoint> = (0..9)
        .map(|i| {
            // From a machine that is hardly used to one at which most users wait.
            let think = users as f64 / cpus as f64 / (0.2 + 0.15 * f64::from(i));
            let idle = |jobs: usize, rng: &mut SmallRng| exponential(think / (users - jobs) as f64, rng);
            let point = watched(cpus, users, idle, rng);
            LoadPoint { users: given.then_some(users as f64), ..point }
        })
        .collect();
    let curve = fit_load_curve(&points, cpus).expect("points of a queue can be fitted");
    called(&curve).is_some_and(|name| {
        if given {
            name == format!("M/M/{cpus}//{users}")
        } else {
            name.starts_with(&format!("M/M/{cpus}//"))
        }
    })
}

/// The mean number of jobs, and the share of the processors' time that was used, of a queue whose jobs take 1 s on average, from one change of
/// their number to the next. No more than `most` are there at a time; `next` draws the time to the next arrival.
fn watched(
    cpus: usize,
    most: usize,
    next: impl Fn(usize, &mut SmallRng) -> f64,
    rng: &mut SmallRng,
) -> LoadPoint {
    let (mut jobs, mut done, mut time, mut area, mut busy) = (0_usize, 0_usize, 0.0, 0.0, 0.0);
    while done < JOBS {
        let arrival = if jobs < most { next(jobs, rng) } else { f64::INFINITY };
        let serving = jobs.min(cpus);
        let end = if serving > 0 { exponential(1.0 / serving as f64, rng) } else { f64::INFINITY };
        let passed = arrival.min(end);
        // The first jobs do not show the steady state.
        if done > JOBS / 5 {
            time += passed;
            area += passed * jobs as f64;
            busy += passed * serving as f64;
        }
        if arrival < end {
            jobs += 1;
        } else {
            jobs -= 1;
            done += 1;
        }
    }
    LoadPoint { utilisation: (busy / time / cpus as f64).min(0.9999), load: area / time, users: None }
}

fn exponential(mean: f64, rng: &mut SmallRng) -> f64 {
    -mean * (1.0 - rng.uniform()).ln()
}

/// A load that has a level and a slope, whatever the processors do.
fn without_a_queue(slope: f64, rng: &mut SmallRng) -> LoadCurve {
    let (cpus, level) = ([1, 2, 4][rng.below(3)], 0.3 + 8.0 * rng.uniform());
    let scatter = 0.02 + 0.08 * rng.uniform();
    let points = [0.10, 0.22, 0.34, 0.46, 0.58, 0.68, 0.78, 0.88, 0.95].map(|utilisation| LoadPoint {
        utilisation,
        load: level * (1.0 + slope * utilisation) * (scatter * rng.normal()).exp(),
        users: None,
    });
    fit_load_curve(&points, cpus).expect("points of a line can be fitted")
}
