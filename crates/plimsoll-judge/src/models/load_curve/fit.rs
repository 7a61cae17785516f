//! One queue fitted to the points: its background load, and how its service times vary.

use super::queue::{EXPONENTIAL, Queue};
use super::weight::{criterion, spread, weight};
use super::{CONFIDENCE, LoadPoint};
use crate::models::{least_squares, without};
use crate::stats::{dist::t_quantile, mean};
use plimsoll_model::verdict::Interval;
use serde::Serialize;

/// The largest squared coefficient of variation of service times that is looked for.
const MOST_VARIATION: f64 = 100.0;
/// The smallest and largest factor of the waiting jobs, (1 + C²)/2.
const FACTORS: [f64; 2] = [0.5, f64::midpoint(1.0, MOST_VARIATION)];
/// Largest difference between squared coefficients of variation that the report shows as one value.
const ALIKE: f64 = 0.1;
/// The confidence at which exponential service times are excluded.
const SURE: f64 = 0.995;
/// Steps of Gauss and Newton.
const ROUNDS: usize = 40;

/// One model fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueFit {
    /// The model.
    pub queue: Queue,
    /// Its usual name.
    pub name: String,
    /// Where the users make the load, and wait for their answers: how many of them there are at most; absent for jobs that come by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<usize>,
    /// Load that is there without any work; 0 where it does not pay to assume one.
    pub background: f64,
    /// The squared coefficient of variation of its service times: 1 where they are exponential, 0 where all are the same.
    pub service_variation: f64,
    /// Which squared coefficients the points allow, for jobs that come by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_variation_interval: Option<Interval>,
    /// Squared coefficients at the confidence that it takes to exclude exponential times.
    #[serde(skip)]
    surely: Interval,
    /// Akaike's corrected criterion; lower is better.
    pub aicc: f64,
    /// The leave-one-out error, a weighed root mean square on ln(1 + load).
    pub left_out_error: f64,
    /// Measured minus modelled ln(1 + load), in the order of the points.
    pub residuals: Vec<f64>,
}

impl QueueFit {
    /// Whether the points exclude exponential service times, and ones that are as good as exponential.
    pub(super) fn is_general(&self) -> bool {
        (self.service_variation - EXPONENTIAL).abs() > ALIKE
            && !(self.surely.lo()..=self.surely.hi()).contains(&EXPONENTIAL)
    }

    /// Pairs of utilisation and load on the curve, to be drawn: up to where the load of an open queue leaves every chart.
    pub fn drawn(&self, cpus: usize) -> Vec<[f64; 2]> {
        const POINTS: u32 = 60;
        const UP_TO: f64 = 0.97;
        let at = |i: u32| {
            let utilisation = f64::from(i) / f64::from(POINTS) * UP_TO;
            let load = match self.users {
                Some(users) => self.queue.closed_load(utilisation, cpus, users),
                None => self.queue.general_load(utilisation, cpus, self.service_variation),
            };
            [utilisation, load + self.background]
        };
        (0..=POINTS).map(at).collect()
    }
}

/// Source of the jobs of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Users {
    /// Arrivals at random, independent of the answers.
    Open,
    /// As many as each point says; where it says none, they come by themselves.
    Given,
    /// The estimated number.
    Found(usize),
}

/// A queue with those who make its jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) queue: Queue,
    pub(super) cpus: usize,
    pub(super) users: Users,
    /// Whether the variation of the service times is fitted; otherwise they are exponential.
    pub(super) is_general: bool,
}

impl Model {
    fn row(self, point: &LoadPoint) -> Row {
        let users = match self.users {
            Users::Open => None,
            Users::Given => point.users.map(|users| users as usize),
            Users::Found(users) => Some(users),
        };
        let (served, waiting) = match users {
            Some(users) => (self.queue.closed_load(point.utilisation, self.cpus, users), 0.0),
            None => (
                self.queue.served(point.utilisation, self.cpus),
                self.queue.waiting(point.utilisation, self.cpus),
            ),
        };
        Row { measured: point.load.ln_1p(), weight: weight(point), served, waiting }
    }

    fn rows(self, points: &[LoadPoint]) -> Vec<Row> {
        points.iter().map(|point| self.row(point)).collect()
    }

    /// The most users that a point has.
    fn most_users(self, points: &[LoadPoint]) -> Option<usize> {
        match self.users {
            Users::Open => None,
            Users::Given => points.iter().filter_map(|point| point.users).map(|users| users as usize).max(),
            Users::Found(users) => Some(users),
        }
    }

    fn name(self, points: &[LoadPoint]) -> String {
        let plain = self.queue.named(if self.is_general { 'G' } else { 'M' }, self.cpus);
        let users = match self.most_users(points) {
            None => return plain,
            Some(most)
                if points.iter().all(|point| point.users.is_none_or(|users| users as usize == most)) =>
            {
                most.to_string()
            }
            Some(_) => "N".into(),
        };
        format!("{plain}//{users}")
    }

    /// The weighed squares that the model leaves without a background load.
    pub(super) fn cost(self, points: &[LoadPoint]) -> f64 {
        cost(&self.rows(points), PLAIN)
    }

    /// The background and the factor of the waiting jobs that describe the points best.
    fn fitted(self, points: &[LoadPoint], with_background: bool) -> Figures {
        solved(&self.rows(points), with_background, (!self.is_general).then_some(1.0))
    }
}

/// A measured ln(1 + load) with its weight, and the jobs that a model has there.
#[derive(Clone, Copy)]
struct Row {
    measured: f64,
    weight: f64,
    served: f64,
    waiting: f64,
}

/// Figures of a fit.
#[derive(Clone, Copy)]
struct Figures {
    background: f64,
    /// (1 + C²)/2.
    factor: f64,
}

const PLAIN: Figures = Figures { background: 0.0, factor: 1.0 };

impl Row {
    fn residual(&self, figures: Figures) -> f64 {
        self.measured - (self.served + figures.factor * self.waiting + figures.background).ln_1p()
    }
}

fn cost(rows: &[Row], figures: Figures) -> f64 {
    rows.iter().map(|row| row.weight * row.residual(figures).powi(2)).sum()
}

/// The figures of least squares with a background load of 0 or more, and a factor from that of fixed service times on, or a known one.
fn solved(rows: &[Row], with_background: bool, factor: Option<f64>) -> Figures {
    match (with_background, factor) {
        (false, Some(factor)) => Figures { factor, ..PLAIN },
        (true, Some(factor)) => {
            let figures = |[background]: [f64; 1]| Figures { background, factor };
            let [background] = refined(rows, [0.0], figures, |_| [1.0]);
            figures([background.max(0.0)])
        }
        (with_background, None) => {
            let found = unbounded(rows, with_background);
            if found.background < 0.0 {
                solved(rows, false, None)
            } else if (FACTORS[0]..=FACTORS[1]).contains(&found.factor) {
                found
            } else {
                solved(rows, with_background, Some(found.factor.clamp(FACTORS[0], FACTORS[1])))
            }
        }
    }
}

/// The figures of least squares, whatever they are.
fn unbounded(rows: &[Row], with_background: bool) -> Figures {
    if with_background {
        let figures = |[background, factor]: [f64; 2]| Figures { background, factor };
        figures(refined(rows, [0.0, 1.0], figures, |row| [1.0, row.waiting]))
    } else {
        let figures = |[factor]: [f64; 1]| Figures { factor, ..PLAIN };
        figures(refined(rows, [1.0], figures, |row| [row.waiting]))
    }
}

/// Least squares on ln(1 + load) by the steps of Gauss and Newton, halved until they help.
fn refined<const K: usize>(
    rows: &[Row],
    start: [f64; K],
    figures: impl Fn([f64; K]) -> Figures,
    columns: impl Fn(&Row) -> [f64; K],
) -> [f64; K] {
    let weights: Vec<f64> = rows.iter().map(|row| row.weight).collect();
    let mut at = start;
    for _ in 0..ROUNDS {
        let now = figures(at);
        let residuals: Vec<f64> = rows.iter().map(|row| row.residual(now)).collect();
        let slopes: Vec<[f64; K]> = rows
            .iter()
            .zip(&residuals)
            .map(|(row, residual)| columns(row).map(|column| column / (row.measured - residual).exp()))
            .collect();
        let Some(step) = least_squares::weighted(&slopes, &residuals, &weights) else { return at };
        let before = cost(rows, now);
        let tried = (0..8).map(|halvings| std::array::from_fn(|k| at[k] + step[k] * 0.5_f64.powi(halvings)));
        // A load below -1 has no logarithm, and is never below the measured one.
        let Some(better) = tried.into_iter().find(|tried| cost(rows, figures(*tried)) < before) else {
            return at;
        };
        at = better;
        if before - cost(rows, figures(at)) < 1e-12 * before {
            return at;
        }
    }
    at
}

/// Fits a model with and without background load, and keeps the better.
pub(super) fn fit(model: Model, points: &[LoadPoint]) -> QueueFit {
    let looked_for = usize::from(matches!(model.users, Users::Found(_))) + usize::from(model.is_general);
    let rows = model.rows(points);
    let describe = |with_background: bool| {
        let figures = model.fitted(points, with_background);
        let residuals: Vec<f64> = rows.iter().map(|row| row.residual(figures)).collect();
        let parameters = 1 + usize::from(with_background) + looked_for;
        QueueFit {
            queue: model.queue,
            name: model.name(points),
            users: model.most_users(points),
            background: figures.background,
            service_variation: variation(figures.factor),
            service_variation_interval: None,
            surely: Interval(0.0, f64::INFINITY),
            aicc: criterion(&residuals, points, parameters),
            left_out_error: 0.0,
            residuals,
        }
    };
    let (plain, lifted) = (describe(false), describe(true));
    let with_background = lifted.aicc < plain.aicc;
    let left_out = |i: usize| {
        let figures = model.fitted(&without(points, i), with_background);
        rows[i].residual(figures)
    };
    let errors: Vec<f64> = (0..points.len()).map(left_out).collect();
    let is_open = model.users == Users::Open;
    QueueFit {
        left_out_error: spread(&errors, points),
        service_variation_interval: is_open.then(|| allowed(&rows, with_background, CONFIDENCE)),
        surely: allowed(&rows, with_background, SURE),
        ..if with_background { lifted } else { plain }
    }
}

fn variation(factor: f64) -> f64 {
    2.0 * factor - 1.0
}

/// The interval of the squared coefficient of variation, by the jackknife (Quenouille 1956, Tukey 1958): it holds also where busy points scatter more
/// than their weights say.
fn allowed(rows: &[Row], with_background: bool, confidence: f64) -> Interval {
    let without = |left_out: usize| {
        let rest = rows.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, row)| *row);
        unbounded(&rest.collect::<Vec<_>>(), with_background).factor
    };
    let factors: Vec<f64> = (0..rows.len()).map(without).collect();
    let (n, figures) = (rows.len() as f64, 1.0 + f64::from(u8::from(with_background)));
    let squares: f64 = factors.iter().map(|factor| (factor - mean(&factors)).powi(2)).sum();
    let half =
        t_quantile(f64::midpoint(1.0, confidence), (n - figures).max(1.0)) * ((n - 1.0) / n * squares).sqrt();
    let middle = unbounded(rows, with_background).factor;
    Interval(middle - half, middle + half).map(|factor| variation(factor).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_points_give_back_their_background_and_variation() {
        for (background, variation) in [(0.0, 0.0), (0.3, 0.5), (2.0, 4.0)] {
            let points: Vec<LoadPoint> = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9]
                .map(|utilisation| LoadPoint {
                    utilisation,
                    load: Queue::Shared.general_load(utilisation, 2, variation) + background,
                    users: None,
                })
                .into();
            let model = Model { queue: Queue::Shared, cpus: 2, users: Users::Open, is_general: true };
            let found = fit(model, &points);
            assert!((found.background - background).abs() < 1e-6, "{found:?}");
            assert!((found.service_variation - variation).abs() < 1e-5, "{found:?}");
            let Interval(low, high) = found.service_variation_interval.unwrap();
            assert!(high - low < 1e-3 && low <= variation + 1e-5 && high >= variation - 1e-5, "{found:?}");
        }
    }
}
