//! Curves that are no queue's, and describe many loads that do not wait for processors.

use super::LoadPoint;
use super::weight::{criterion, spread, weight};
use crate::models::least_squares;
use crate::wording::figure;
use serde::Serialize;

/// By how much a slope must lower the criterion of a level (Burnham & Anderson 2002).
const EARNS: f64 = 4.0;
/// Steps of Gauss and Newton.
const ROUNDS: usize = 40;

/// A load that is no queue's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One level at every utilisation.
    Level,
    /// `level + rise · utilisation`.
    Line,
    /// `level · exp(rise · utilisation)`.
    Exponential,
}

/// A curve that is no queue's, fitted to the points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoQueue {
    /// Its form.
    pub form: Form,
    /// The load of an idle machine.
    pub level: f64,
    /// How much the load, or its logarithm, rises up to full utilisation.
    pub rise: f64,
    /// Deviation: a weighed root mean square on ln(1 + load).
    pub error: f64,
}

impl NoQueue {
    /// The load at a utilisation.
    pub fn load(&self, utilisation: f64) -> f64 {
        load(self.form, [self.level, self.rise], utilisation)
    }

    /// The curve in words.
    pub(super) fn in_words(&self) -> String {
        let (level, rise) = (figure(self.level), self.rise);
        match self.form {
            Form::Level => format!("a load of {level} at any utilisation"),
            Form::Line => {
                format!("a load of {level} that changes evenly by {} up to full utilisation", figure(rise))
            }
            Form::Exponential => format!(
                "a load of {level} that every tenth of utilisation multiplies by {}",
                figure((rise / 10.0).exp())
            ),
        }
    }
}

fn load(form: Form, [level, rise]: [f64; 2], utilisation: f64) -> f64 {
    match form {
        Form::Level => level,
        Form::Line => (level + rise * utilisation).max(0.0),
        Form::Exponential => level * (rise * utilisation).exp(),
    }
}

/// The best of these curves, with its criterion.
pub(super) fn no_queue(points: &[LoadPoint]) -> Option<(NoQueue, f64)> {
    let level = judged(Form::Level, level(points)?, points);
    let sloped = line(points)
        .map(|line| judged(Form::Line, line, points))
        .filter(|sloped| sloped.1 < level.1 - EARNS)
        .unwrap_or(level);
    let curved = exponential(points).map(|curve| judged(Form::Exponential, curve, points));
    Some(curved.filter(|curved| curved.1 < sloped.1 - EARNS).unwrap_or(sloped))
}

fn judged(form: Form, [level, rise]: [f64; 2], points: &[LoadPoint]) -> (NoQueue, f64) {
    let off = |point: &LoadPoint| point.load.ln_1p() - load(form, [level, rise], point.utilisation).ln_1p();
    let residuals: Vec<f64> = points.iter().map(off).collect();
    let parameters = if form == Form::Level { 2 } else { 3 };
    let found = NoQueue { form, level, rise, error: spread(&residuals, points) };
    (found, criterion(&residuals, points, parameters))
}

/// Weights of errors of the load itself.
fn weights(points: &[LoadPoint]) -> Vec<f64> {
    points.iter().map(|point| weight(point) / (1.0 + point.load).powi(2)).collect()
}

fn loads(points: &[LoadPoint]) -> Vec<f64> {
    points.iter().map(|point| point.load).collect()
}

fn level(points: &[LoadPoint]) -> Option<[f64; 2]> {
    let found = least_squares::weighted(&vec![[1.0]; points.len()], &loads(points), &weights(points));
    found.map(|[level]| [level, 0.0])
}

fn line(points: &[LoadPoint]) -> Option<[f64; 2]> {
    let columns: Vec<[f64; 2]> = points.iter().map(|point| [1.0, point.utilisation]).collect();
    least_squares::weighted(&columns, &loads(points), &weights(points))
}

/// The exponential of least squares, from a line through logarithms on; `None` if a load is 0, or the steps do not settle.
fn exponential(points: &[LoadPoint]) -> Option<[f64; 2]> {
    if points.iter().any(|point| point.load <= 0.0) {
        return None;
    }
    let weights: Vec<f64> = points.iter().map(weight).collect();
    let logarithms: Vec<f64> = points.iter().map(|point| point.load.ln()).collect();
    let columns: Vec<[f64; 2]> = points.iter().map(|point| [1.0, point.utilisation]).collect();
    let mut at = least_squares::weighted(&columns, &logarithms, &weights)?;
    for _ in 0..ROUNDS {
        let modelled: Vec<f64> =
            points.iter().map(|point| (at[0] + at[1] * point.utilisation).exp()).collect();
        let residuals: Vec<f64> =
            points.iter().zip(&modelled).map(|(point, load)| point.load.ln_1p() - load.ln_1p()).collect();
        let slopes: Vec<[f64; 2]> = points
            .iter()
            .zip(&modelled)
            .map(|(point, load)| [1.0, point.utilisation].map(|column| column * load / (1.0 + load)))
            .collect();
        let step = least_squares::weighted(&slopes, &residuals, &weights)?;
        at = [at[0] + step[0], at[1] + step[1]];
    }
    Some([at[0].exp(), at[1]]).filter(|found| found.iter().all(|figure| figure.is_finite()))
}
