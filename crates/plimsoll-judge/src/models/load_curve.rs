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
//! beside an uncertainty that all of them share; otherwise chance at the busiest ones hides what the others tell.

use super::{aicc, without};
use crate::input::JudgeError;
use crate::wording::{figure, percent};
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// A model whose criterion is at most this much worse than the best is not ruled out (Burnham & Anderson 2002).
const TELLS: f64 = 4.0;
/// A fit is believed when its residuals, on ln(1 + load), stay below this.
const BELIEVED: f64 = 0.25;
/// The uncertainty that all points share, as the utilisation at which that of the queue's own is as large.
const EVEN: f64 = 0.5;
/// The fewest points that can tell models apart.
const LEAST_POINTS: usize = 5;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// The share of all processors' time that was used, from 0 to below 1.
    pub utilisation: f64,
    /// The mean number of jobs that ran or waited.
    pub load: f64,
}

/// A queueing model of `c` processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// One queue, one server as fast as all processors together.
    Single,
    /// One queue that all processors serve.
    Shared,
    /// A queue of its own for each processor.
    Separate,
}

impl Queue {
    /// The usual name, such as `M/M/2`.
    #[must_use]
    pub fn name(self, cpus: usize) -> String {
        match self {
            Self::Single => "M/M/1".into(),
            Self::Shared => format!("M/M/{cpus}"),
            Self::Separate => format!("{cpus} x M/M/1"),
        }
    }

    /// The mean number in the system at a utilisation from 0 to below 1; infinite from 1 on.
    #[must_use]
    pub fn load(self, utilisation: f64, cpus: usize) -> f64 {
        if utilisation >= 1.0 {
            return f64::INFINITY;
        }
        let c = cpus as f64;
        let odds = utilisation / (1.0 - utilisation);
        match self {
            Self::Single => odds,
            Self::Shared => c * utilisation + erlang_c(cpus, c * utilisation) * odds,
            Self::Separate => c * odds,
        }
    }
}

/// The chance that a job must wait at `servers` offered `traffic` erlangs, below `servers` (Erlang 1917), by the recursion of Erlang B.
#[must_use]
pub fn erlang_c(servers: usize, traffic: f64) -> f64 {
    let blocking = (1..=servers).fold(1.0, |b, k| traffic * b / (k as f64 + traffic * b));
    let utilisation = traffic / servers as f64;
    blocking / (1.0 - utilisation * (1.0 - blocking))
}

/// One model fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueFit {
    /// The model.
    pub queue: Queue,
    /// Its usual name.
    pub name: String,
    /// Load that is there without any work; 0 where it does not pay to assume one.
    pub background: f64,
    /// Akaike's corrected criterion; lower is better.
    pub aicc: f64,
    /// The leave-one-out error, a weighed root mean square on ln(1 + load).
    pub left_out_error: f64,
    /// Measured minus modelled ln(1 + load), in the order of the points.
    pub residuals: Vec<f64>,
}

/// The fits of all models, the best first, and what follows from the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadCurve {
    /// The fits by rising criterion.
    pub fits: Vec<QueueFit>,
    /// The number of processors.
    pub cpus: usize,
    /// The utilisation at which 10 % more work at least doubles the response time.
    pub hurts_at_utilisation: f64,
    /// The load there.
    pub hurts_at_load: f64,
    /// By how much 10 % more work than at the busiest point would lengthen the response time; absent when it would not fit at all.
    pub next_tenth: Option<f64>,
    /// What the best model is off by: a weighed root mean square on ln(1 + load).
    pub error: f64,
    /// How many points there are.
    pub n: usize,
}

/// Fits the models to points of a machine with `cpus` processors.
///
/// # Errors
/// Too few points, a utilisation outside of 0 to below 1, a load below 0, or no processor.
pub fn fit_load_curve(points: &[LoadPoint], cpus: usize) -> Result<LoadCurve, JudgeError> {
    check(points, cpus)?;
    let queues: &[Queue] =
        if cpus == 1 { &[Queue::Single] } else { &[Queue::Single, Queue::Shared, Queue::Separate] };
    let mut fits: Vec<QueueFit> = queues.iter().map(|&queue| fit(queue, points, cpus)).collect();
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    let best = &fits[0];
    let response = |u: f64| (best.queue.load(u, cpus) + best.background) / u;
    let hurts_at_utilisation = first_doubling(|u| best.queue.load(u, cpus) / u);
    let busiest = points.iter().map(|p| p.utilisation).fold(0.0, f64::max);
    let next_tenth =
        (busiest > 0.0 && 1.1 * busiest < 1.0).then(|| response(1.1 * busiest) / response(busiest));
    let hurts_at_load = best.queue.load(hurts_at_utilisation, cpus) + best.background;
    let error = spread(&best.residuals, points);
    Ok(LoadCurve { cpus, hurts_at_utilisation, hurts_at_load, next_tenth, error, n: points.len(), fits })
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
            let told = format!("row {}: utilisation is {}: expected 0 to below 1", i + 1, point.utilisation);
            return Err(JudgeError::Table(told));
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

/// Fits a model with and without background load, and keeps the better.
fn fit(queue: Queue, points: &[LoadPoint], cpus: usize) -> QueueFit {
    let describe = |background: f64, parameters: usize| {
        let residuals = residuals(queue, points, cpus, background);
        QueueFit {
            queue,
            name: queue.name(cpus),
            background,
            aicc: aicc(squares(&residuals, points), points.len(), parameters),
            left_out_error: 0.0,
            residuals,
        }
    };
    let (plain, lifted) = (describe(0.0, 1), describe(background(queue, points, cpus), 2));
    let with_background = lifted.aicc < plain.aicc;
    let left_out = |i: usize| {
        let rest = without(points, i);
        let background = if with_background { background(queue, &rest, cpus) } else { 0.0 };
        residuals(queue, &points[i..=i], cpus, background)[0]
    };
    let errors: Vec<f64> = (0..points.len()).map(left_out).collect();
    QueueFit { left_out_error: spread(&errors, points), ..if with_background { lifted } else { plain } }
}

fn residuals(queue: Queue, points: &[LoadPoint], cpus: usize, background: f64) -> Vec<f64> {
    points.iter().map(|p| p.load.ln_1p() - (queue.load(p.utilisation, cpus) + background).ln_1p()).collect()
}

/// The weight of a point: 1 at an idle machine, and the less the nearer it is to saturation.
fn weight(point: &LoadPoint) -> f64 {
    let uncertainty = |u: f64| u * (1.0 + u) / (1.0 - u).powi(2);
    let shared = uncertainty(EVEN);
    shared / (shared + uncertainty(point.utilisation))
}

/// The weighed sum of the squares of residuals, in the order of the points.
fn squares(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    residuals.iter().zip(points).map(|(residual, point)| weight(point) * residual * residual).sum()
}

/// The weighed root mean square.
fn spread(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    (squares(residuals, points) / points.iter().map(weight).sum::<f64>()).sqrt()
}

/// The background load of least squares, found by golden section between 0 and the largest load.
fn background(queue: Queue, points: &[LoadPoint], cpus: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let cost = |b: f64| squares(&residuals(queue, points, cpus, b), points);
    let (mut low, mut high) = (0.0, points.iter().map(|p| p.load).fold(0.0, f64::max));
    for _ in 0..60 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if cost(left) < cost(right) { high = right } else { low = left }
    }
    f64::midpoint(low, high)
}

impl LoadCurve {
    /// The verdict: `estimated` with the load at which it hurts, or `undecided` when no model holds or several do.
    #[must_use]
    pub fn verdict(&self, metric: &str) -> Verdict {
        let best = &self.fits[0];
        let error = self.error;
        let rival =
            self.fits.get(1).filter(|r| r.aicc - best.aicc < TELLS || r.left_out_error < best.left_out_error);
        let (outcome, told) = if error > BELIEVED {
            let told =
                format!("no model holds: the best, {}, is off by {} of 1 + load", best.name, percent(error));
            (Outcome::Undecided, told)
        } else if let Some(rival) = rival {
            let told = format!(
                "{} points do not tell {} from {}: measure nearer to saturation",
                self.n, best.name, rival.name
            );
            (Outcome::Undecided, told)
        } else {
            let told = format!(
                "{} describes {} points within {} of 1 + load; from {} utilisation on, at a load of {}, 10 % more work doubles the \
                 response time; 10 % more than the most that was measured {}",
                best.name,
                self.n,
                percent(error),
                percent(self.hurts_at_utilisation),
                figure(self.hurts_at_load),
                self.next_tenth
                    .map_or_else(|| "do not fit".into(), |times| format!("multiply it by {}", figure(times))),
            );
            (Outcome::Estimated, told)
        };
        let bare = Verdict::bare("load_curve", metric, outcome, self.n, told);
        Verdict { estimate: (outcome == Outcome::Estimated).then_some(self.hurts_at_load), ..bare }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn measured(queue: Queue, cpus: usize, background: f64, seed: u64) -> Vec<LoadPoint> {
        let mut rng = SmallRng::new(seed);
        (1..=9)
            .map(|k| {
                let utilisation = f64::from(k) / 10.0;
                let noise = 1.0 + 0.03 * rng.normal();
                LoadPoint { utilisation, load: (queue.load(utilisation, cpus) + background) * noise }
            })
            .collect()
    }

    #[test]
    fn erlang_c_agrees_with_published_values() {
        // One server: ρ. Two servers: ρ²·2/(1+ρ). Ten servers at 8 erlangs: 0.409 in the usual tables.
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_c(10, 8.0) - 0.409).abs() < 5e-4);
    }

    #[test]
    fn two_processors_with_one_queue_hold_two_rho_over_one_minus_rho_squared() {
        for rho in [0.1, 0.5, 0.9] {
            let expected = 2.0 * rho / (1.0 - rho * rho);
            assert!((Queue::Shared.load(rho, 2) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn each_model_is_told_from_the_others() {
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
        assert!((curve.hurts_at_utilisation - 1.0 / 1.2).abs() < 1e-9);
        assert!((curve.hurts_at_load - 5.0).abs() < 1e-6);
        // From 90 % to 99 %: ten times as long.
        assert!((curve.next_tenth.unwrap() - 10.0).abs() < 1e-6);
        let reason = curve.verdict("load").reason;
        assert!(
            reason.ends_with("10 % more than the most that was measured multiply it by 10.0"),
            "{reason}"
        );
    }

    #[test]
    fn points_that_follow_no_queue_or_lie_too_low_are_undecided() {
        let flat: Vec<LoadPoint> = (1..=9)
            .map(|k| LoadPoint { utilisation: f64::from(k) / 10.0, load: 9.0 - f64::from(k) })
            .collect();
        assert_eq!(fit_load_curve(&flat, 1).unwrap().verdict("load").outcome, Outcome::Undecided);
        let light: Vec<LoadPoint> = (1..=6)
            .map(|k| f64::from(k) / 100.0)
            .map(|u| LoadPoint { utilisation: u, load: 2.0 * u + 0.01 * (100.0 * u).sin() })
            .collect();
        let verdict = fit_load_curve(&light, 2).unwrap().verdict("load");
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("nearer to saturation"), "{}", verdict.reason);
    }

    #[test]
    fn impossible_rows_are_errors() {
        let point = |utilisation, load| LoadPoint { utilisation, load };
        assert!(fit_load_curve(&[point(0.5, 1.0); 4], 1).is_err());
        for bad in
            [point(1.0, 1.0), point(f64::NAN, 1.0), point(-0.1, 1.0), point(0.5, -1.0), point(0.5, f64::NAN)]
        {
            assert!(fit_load_curve(&[bad; 6], 1).is_err(), "{bad:?}");
        }
        assert!(fit_load_curve(&[point(0.5, 1.0); 6], 0).is_err());
    }
}
