//! The capacity of a rig from a few points of light load.
//!
//! Each point, a rate and the mean response time at it, implies a service time: the one at which the queue of the rig has that response time.
//! Their geometric mean is the fit, and their scatter its interval. How single jobs spread about it is taken from the response times of the lightest
//! point. Capacity is then what [`Rig::capacity_in_probes`] finds at that service time, for probes as long as the predicted
//! ones, and its interval reaches over those at both ends of it.

use serde::Serialize;

use super::{Discipline, Figure, Rig, Times};
use crate::input::{JudgeError, positive};
use crate::models::load_curve::erlang_c;
use crate::stats::dist::t_quantile;
use crate::stats::{mean, sd};

const CONFIDENCE: f64 = 0.95;
/// The fewest points that show how service times scatter.
const LEAST_POINTS: usize = 3;

/// A rate, and the mean response time at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightPoint {
    /// Jobs per second, at random.
    pub rate: f64,
    /// The mean response time, in seconds.
    pub response: f64,
}

/// A bound: this share of the answers within this time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The share, above 0 and below 1.
    pub share: f64,
    /// The time, in seconds.
    pub within: f64,
}

/// The estimate of a rig from light points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The service time that the points imply, in seconds.
    pub service: Figure,
    /// The highest rate per second that holds the bound; absent where even an idle rig does not.
    pub capacity: Option<Figure>,
    /// How many points there are.
    pub n: usize,
}

/// Predicts the highest rate that holds a bound in probes of `seconds` seconds. `rig` says everything but the service
/// times, whose spread is that of `responses`, in seconds, at the lightest point.
///
/// # Errors
/// Fewer than three points, a rate or time that is not above 0, or a rig that cannot be.
pub fn capacity_from(
    points: &[LightPoint],
    responses: &[f64],
    rig: &Rig,
    bound: Bound,
    (seconds, seed): (f64, u64),
) -> Result<Predicted, JudgeError> {
    if points.len() < LEAST_POINTS {
        return Err(JudgeError::TooFew {
            what: "light points".into(),
            got: points.len(),
            needed: LEAST_POINTS,
        });
    }
    positive("rates", &points.iter().map(|point| point.rate).collect::<Vec<f64>>())?;
    positive("response times", &points.iter().map(|point| point.response).collect::<Vec<f64>>())?;
    positive("response times", responses)?;
    let spread = Times::Measured(responses.to_vec()).squared_variation();
    let implied: Vec<f64> = points.iter().map(|point| service_time(point, rig, spread).ln()).collect();
    let (middle, n) = (mean(&implied), implied.len() as f64);
    let half = t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * sd(&implied) / n.sqrt();
    let [short, service, long] = [middle - half, middle, middle + half].map(f64::exp);
    let at = |service: f64| {
        let factor = service / mean(responses);
        let times = responses.iter().map(|time| time * factor).collect();
        let rig = Rig { service: Times::Measured(times), ..rig.clone() };
        rig.capacity_in_probes(bound.share, bound.within, seconds, seed)
    };
    let lowest = |figure: &Figure| figure.interval.map_or(figure.value, |[low, _]| low);
    let highest = |figure: &Figure| figure.interval.map_or(figure.value, |[_, high]| high);
    let (most, likely, least) = (at(short)?, at(service)?, at(long)?);
    let capacity = likely.map(|likely| Figure {
        value: likely.value,
        // A rig that may not hold the bound at all holds it at no rate.
        interval: Some([least.as_ref().map_or(0.0, lowest), most.as_ref().map_or(likely.value, highest)]),
    });
    Ok(Predicted {
        service: Figure { value: service, interval: Some([short, long]) },
        capacity,
        n: points.len(),
    })
}

/// The service time at which a host of the rig has the response time of a point; by bisection, for the one grows with the other.
fn service_time(point: &LightPoint, rig: &Rig, spread: f64) -> f64 {
    let rate = point.rate / rig.hosts as f64;
    let (mut low, mut high) = (0.0, (rig.cpus as f64 / rate).min(point.response));
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if response(rate, middle, rig, spread) > point.response { high = middle } else { low = middle }
    }
    f64::midpoint(low, high)
}

/// The mean response time. With turns that of M/M/c holds for every distribution (Kleinrock 1967 for one processor); the wait in a queue is that
/// of M/M/c times (1 + C²)/2, exact for one processor (Pollaczek and Khinchine), near for several (Allen & Cunneen, see Allen 1990, *Probability,
/// Statistics, and Queueing Theory*, 5.3).
fn response(rate: f64, service: f64, rig: &Rig, spread: f64) -> f64 {
    let cpus = rig.cpus as f64;
    if rate * service >= cpus {
        return f64::INFINITY;
    }
    let wait = erlang_c(rig.cpus, rate * service) / (cpus / service - rate);
    match rig.discipline {
        Discipline::Shared => service + wait,
        Discipline::Queue => service + wait * f64::midpoint(1.0, spread),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arrivals, Dispatch};
    use super::*;
    use crate::stats::rng::SmallRng;

    const BOUND: Bound = Bound { share: 0.95, within: 0.02 };

    fn rig(cpus: usize, discipline: Discipline) -> Rig {
        Rig {
            hosts: 1,
            cpus,
            service: Times::Fixed(1.0),
            arrivals: Arrivals::Poisson(1.0),
            discipline,
            dispatch: Dispatch::Random,
        }
    }

    #[test]
    fn the_service_time_of_exact_points_is_found_for_every_kind_of_queue() {
        for (cpus, discipline) in [(1, Discipline::Queue), (1, Discipline::Shared), (2, Discipline::Queue)] {
            let rig = rig(cpus, discipline);
            for rate in [20.0, 100.0, 300.0] {
                let point = LightPoint { rate, response: response(rate, 0.002, &rig, 0.4) };
                assert!((service_time(&point, &rig, 0.4) / 0.002 - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn light_points_predict_where_a_bound_breaks_that_was_never_reached() {
        // M/D/1 with 2 ms: what a simulation with the known time says.
        let known = Rig { service: Times::Fixed(0.002), ..rig(1, Discipline::Queue) };
        let truth = known.capacity(BOUND.share, BOUND.within, 20_000, 9).unwrap().unwrap().value;
        assert!((380.0..460.0).contains(&truth), "{truth}");
        let mut rng = SmallRng::new(4);
        let points: Vec<LightPoint> = [40.0, 80.0, 120.0, 160.0]
            .map(|rate| {
                let exact = response(rate, 0.002, &known, 0.0);
                LightPoint { rate, response: exact * (1.0 + 0.01 * rng.normal()) }
            })
            .into();
        let found =
            capacity_from(&points, &[0.002; 9], &rig(1, Discipline::Queue), BOUND, (30.0, 3)).unwrap();
        let capacity = found.capacity.unwrap();
        assert!((capacity.value / truth - 1.0).abs() < 0.04, "{capacity:?} {truth}");
        let [low, high] = capacity.interval.unwrap();
        assert!(low < truth && truth < high && (high - low) / truth < 0.2, "{capacity:?} {truth}");
    }

    #[test]
    fn a_bound_that_an_idle_rig_breaks_has_no_capacity_and_two_points_are_too_few() {
        let point = |rate: f64| LightPoint { rate, response: 0.05 };
        let slow = [point(1.0), point(2.0), point(3.0)];
        let rig = rig(1, Discipline::Queue);
        assert_eq!(capacity_from(&slow, &[0.05; 5], &rig, BOUND, (5.0, 1)).unwrap().capacity, None);
        assert!(capacity_from(&slow[..2], &[0.05; 5], &rig, BOUND, (5.0, 1)).is_err());
    }
}
