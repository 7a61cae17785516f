//! Load against utilisation: which queue do the processors look like?
//!
//! The load average counts jobs that run or wait, so in the long run it is the mean number in the system: ρ/(1-ρ) for one queue with
//! one server (M/M/1), cρ + C(c, cρ)·ρ/(1-ρ) for one queue with c servers (M/M/c; C is Erlang's formula of 1917), and cρ/(1-ρ) for c
//! queues with one server each. Errors are measured on ln(1 + load), which for M/M/1 is -ln(1-ρ): near saturation a small error
//! of utilisation is a large one of load.
//!
//! A queue that was watched for some time had a mean length that is not the one of the long run. For M/M/1 the variance of that mean is
//! 2ρ(1+ρ)/((1-ρ)⁴μT) after a time T (Reynolds 1975, Whitt 1989, *Planning queueing simulations*), so that on ln(1 + load) it goes with
//! ρ(1+ρ)/(1-ρ)²: a point at 88 % is 17 times as uncertain as one at 20 %, as long as both were watched for as long. Points are weighed by that,
//! beside an uncertainty that all of them share; otherwise chance at the busiest ones hides what the others show.
//!
//! Those are the loads with exponential service times. The jobs that wait go with (1 + C²)/2, where C² is the squared coefficient of variation
//! of the service times (Pollaczek 1930, Khinchine 1932). C² is fitted, with an interval by the jackknife; where that excludes 1, and 1 describes
//! the points much worse, the queue is called M/G/1.
//!
//! Where a fixed number N of users makes the load, each of whom waits for an answer and then thinks, the queue cannot grow beyond N: the
//! machine repairman of one server (M/M/1//N) or c of them (M/M/c//N; Gross & Harris, *Fundamentals of Queueing Theory*, chapter 2). Given N,
//! utilisation alone says its load. Where N is not given, the best one is looked for only where throughput has flattened: at several points
//! that are nearly saturated, and that no open queue describes as well.
//!
//! Points are called a queue only where a queue describes them better than a straight line or an exponential does, where what they are off by
//! has no order of its own, and where one of them is busy enough for queues to differ. No limit is stated far beyond the busiest.

mod closed_load;
mod erlang_c;
mod fit;
mod no_queue;
mod queue;
#[cfg(test)]
mod tests;
mod verdict;
mod weight;

pub use closed_load::closed_load;
pub use erlang_c::erlang_c;
pub use fit::QueueFit;
pub use no_queue::{Form, NoQueue};
pub use queue::Queue;

use super::structure::structure;
use crate::input::JudgeError;
use fit::{Model, Users, fit};
use plimsoll_model::verdict::Interval;
use serde::{Deserialize, Serialize};
use weight::{by_utilisation, spread};

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// A model whose criterion is at most this much worse than the best is not ruled out (Burnham & Anderson 2002).
const RIVAL: f64 = 4.0;
/// A fit is believed when its residuals, on ln(1 + load), stay below this.
const BELIEVED: f64 = 0.25;
/// The fewest points that can distinguish models.
const LEAST_POINTS: usize = 5;
/// The least utilisation of the busiest point before a queue is named: one job per server waits there.
const LEAST_BUSY: f64 = 0.5;
/// A limit is stated up to this much more utilisation than the most that was measured.
const BEYOND: f64 = 1.1;
/// Residuals that are this unlikely to stand in such an order by chance have a structure ...
const ORDERED: f64 = 0.01;
/// ... which is reported from here on, on ln(1 + load).
const STRUCTURE: f64 = 0.08;
/// The most users of a closed queue whose number is looked for, as a multiple of the largest load: with more of them the queue is as good as open.
const MOST_USERS: f64 = 8.0;
/// The most users that a closed queue may have.
const USERS: f64 = 1e5;
/// Throughput has flattened where two points are this busy.
const FLAT: f64 = 0.95;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// The share of all processors' time that was used, from 0 to below 1.
    pub utilisation: f64,
    /// The mean number of jobs that ran or waited.
    pub load: f64,
    /// How many users there were, each with one job at most; absent where jobs came by themselves, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<f64>,
}

/// The fits of all models, the best first, and what follows from the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadCurve {
    /// The fits by rising criterion.
    pub fits: Vec<QueueFit>,
    /// The number of processors.
    pub cpus: usize,
    /// The utilisation at which 10 % more work at least doubles the response time; absent where users wait for their answers, so that there is no
    /// more work than they make, where no queue describes the points, and where it lies far beyond them.
    pub hurts_at_utilisation: Option<f64>,
    /// The load there.
    pub hurts_at_load: Option<f64>,
    /// Its interval, from that of the variation of service times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hurts_at_load_interval: Option<Interval>,
    /// The highest utilisation that was measured.
    pub busiest: f64,
    /// By how much 10 % more work than at the busiest point would lengthen the response time; absent when it would not fit at all.
    pub next_tenth: Option<f64>,
    /// Deviation of the best model: a weighed root mean square on ln(1 + load).
    pub error: f64,
    /// A curve that describes the points better than any queue does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_queue: Option<NoQueue>,
    /// The chance that residuals of a queue stand in such an order, and the size of that order, on ln(1 + load).
    pub structure: Order,
    /// How many points there are.
    pub n: usize,
}

/// Evidence from the order of residuals by utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Order {
    /// The chance of such an order where there is none.
    pub p: f64,
    /// A root mean square on ln(1 + load).
    pub size: f64,
}

impl Order {
    /// Whether the order is more than chance, and large enough to report.
    fn is_reported(&self) -> bool {
        self.p < ORDERED && self.size > STRUCTURE
    }
}

/// Fits the models to points of a machine with `cpus` processors.
///
/// # Errors
/// Too few points, a utilisation outside of 0 to below 1, a load below 0 or above the number of users, or no processor.
pub fn fit_load_curve(points: &[LoadPoint], cpus: usize) -> Result<LoadCurve, JudgeError> {
    check(points, cpus)?;
    let fits = fits(points, cpus);
    let best = &fits[0];
    let error = spread(&best.residuals, points);
    let found = structure(&by_utilisation(points, &best.residuals), 1);
    let order = Order { p: found.p, size: found.size };
    let no_queue = no_queue::no_queue(points).filter(|(_, aicc)| *aicc < best.aicc).map(|(curve, _)| curve);
    let busiest = points.iter().map(|p| p.utilisation).fold(0.0, f64::max);
    // Without a queue there is no place where it begins to hurt.
    let is_open = best.users.is_none()
        && no_queue.is_none()
        && error <= BELIEVED
        && !order.is_reported()
        && busiest >= LEAST_BUSY;
    let hurts = is_open.then(|| hurts(best, cpus)).filter(|hurts| hurts.utilisation <= BEYOND * busiest);
    let response = |u: f64| (best.queue.general_load(u, cpus, best.service_variation) + best.background) / u;
    let more = is_open && BEYOND * busiest < 1.0;
    Ok(LoadCurve {
        cpus,
        hurts_at_utilisation: hurts.as_ref().map(|hurts| hurts.utilisation),
        hurts_at_load: hurts.as_ref().map(|hurts| hurts.load),
        hurts_at_load_interval: hurts.map(|hurts| hurts.interval),
        busiest,
        next_tenth: more.then(|| response(BEYOND * busiest) / response(busiest)),
        error,
        no_queue,
        structure: order,
        n: points.len(),
        fits,
    })
}

/// All queues that compete, the best first. Service times that are not exponential must earn their parameter, and users who were not given theirs.
fn fits(points: &[LoadPoint], cpus: usize) -> Vec<QueueFit> {
    let queues: &[Queue] =
        if cpus == 1 { &[Queue::Single] } else { &[Queue::Single, Queue::Shared, Queue::Separate] };
    let model = |queue, users, is_general| fit(Model { queue, cpus, users, is_general }, points);
    let least = |fits: &[QueueFit]| fits.iter().map(|fit| fit.aicc).fold(f64::INFINITY, f64::min);
    let mut fits: Vec<QueueFit> = queues.iter().map(|&queue| model(queue, Users::Open, false)).collect();
    let exponential = least(&fits);
    let general = queues.iter().map(|&queue| model(queue, Users::Open, true));
    fits.extend(general.filter(|fit| fit.aicc < exponential - RIVAL && fit.is_general()));
    let repaired = || queues.iter().copied().filter(|queue| *queue != Queue::Separate);
    if points.iter().any(|point| point.users.is_some()) {
        fits.extend(repaired().map(|queue| model(queue, Users::Given, false)));
    } else if points.iter().filter(|point| point.utilisation >= FLAT).count() > 1 {
        let open = least(&fits);
        let found = repaired().filter_map(|queue| closed(queue, points, cpus));
        fits.extend(found.filter(|fit| fit.aicc < open - RIVAL));
    }
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    fits
}

/// Where 10 % more work doubles the response time.
struct DoublingPoint {
    utilisation: f64,
    load: f64,
    interval: Interval,
}

fn hurts(fit: &QueueFit, cpus: usize) -> DoublingPoint {
    let at = |variation: f64| {
        let load = |u: f64| fit.queue.general_load(u, cpus, variation);
        let utilisation = first_doubling(|u| load(u) / u);
        (utilisation, load(utilisation) + fit.background)
    };
    let (utilisation, load) = at(fit.service_variation);
    let interval = fit.service_variation_interval.map_or(Interval(load, load), |interval| {
        let (low, high) = (at(interval.lo()).1, at(interval.hi()).1);
        Interval(low.min(load), high.max(load))
    });
    DoublingPoint { utilisation, load, interval }
}

/// The closed queue whose number of users describes the points best; `None` if it would have to be so large that the queue is as good as open.
fn closed(queue: Queue, points: &[LoadPoint], cpus: usize) -> Option<QueueFit> {
    let largest = points.iter().map(|point| point.load).fold(0.0, f64::max);
    let (least, most) = (largest.ceil().max(2.0), (MOST_USERS * largest).ceil().min(USERS));
    let steps = 60;
    let mut counts: Vec<usize> = (0..=steps)
        .map(|i| (least * (most / least).max(1.0).powf(f64::from(i) / f64::from(steps))).round() as usize)
        .collect();
    counts.dedup();
    let model = |users| Model { queue, cpus, users: Users::Found(users), is_general: false };
    let cost = |users: usize| model(users).cost(points);
    let best = counts.iter().copied().min_by(|a, b| cost(*a).total_cmp(&cost(*b)))?;
    (best as f64 <= 0.9 * most).then(|| fit(model(best), points))
}

fn check(points: &[LoadPoint], cpus: usize) -> Result<(), JudgeError> {
    if cpus == 0 {
        return Err(JudgeError::Setting { name: "cpus", value: 0.0, expected: "1 or more" });
    }
    if points.len() < LEAST_POINTS {
        return Err(JudgeError::TooFew { what: "rows".into(), got: points.len(), needed: LEAST_POINTS });
    }
    for (i, point) in points.iter().enumerate() {
        if !(0.0..1.0).contains(&point.utilisation) {
            let message =
                format!("row {}: utilisation is {}: expected 0 to below 1", i + 1, point.utilisation);
            return Err(JudgeError::Table(message));
        }
        if let Some(users) = point.users
            && !((1.0..=USERS).contains(&users) && users.fract() == 0.0 && point.load <= users)
        {
            let message = format!(
                "row {}: users is {users}, and load {}: expected a whole number of users from 1 to {USERS}, and no more load than users",
                i + 1,
                point.load
            );
            return Err(JudgeError::Table(message));
        }
        if !(point.load >= 0.0 && point.load.is_finite()) {
            return Err(JudgeError::Table(format!(
                "row {}: load is {}: expected 0 or more",
                i + 1,
                point.load
            )));
        }
    }
    Ok(())
}

/// The least utilisation at which ten per cent more at least doubles the response time, which grows with utilisation.
fn first_doubling(response: impl Fn(f64) -> f64) -> f64 {
    let (mut calm, mut hurt) = (0.01, 1.0 / 1.1);
    for _ in 0..60 {
        let middle = f64::midpoint(calm, hurt);
        if response(1.1 * middle) >= 2.0 * response(middle) { hurt = middle } else { calm = middle }
    }
    hurt
}
