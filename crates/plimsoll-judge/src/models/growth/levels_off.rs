//! Whether a time that grows ever more slowly goes with the logarithm, or towards a level.
//!
//! `a + b·n^p` has the logarithm between powers above and below 0, and those below 0 reach a level. The powers that the points allow (a profile of
//! the squares) must hold 0, and none that is far from it; and `a + b·n/(n + h)`, which climbs to a level, must not describe the points better.

use super::curve::Curve;
use super::{CONFIDENCE, GrowthPoint};
use crate::models::least_squares::{self, Row};
use crate::stats::dist::{f_upper, t_quantile};

/// A power this far from 0 is another kind of growth.
const FAR: f64 = 0.5;
/// A third figure that lowers the squares by chance as seldom as this shows another curve.
const SEEN: f64 = 0.1;
/// Steps of a power, and of the place of half the level.
const STEPS: usize = 80;
/// The powers that are tried reach from minus to plus this.
const MOST: f64 = 2.0;

/// Whether the points show a logarithm, and neither a climb to a level nor a power.
pub(super) fn is_logarithm(logarithm: &Curve, points: &[GrowthPoint], [smallest, largest]: [f64; 2]) -> bool {
    let squares = logarithm.squares(points);
    let freedom = points.len() as f64 - 3.0;
    if freedom < 1.0 {
        return false;
    }
    let half = |i: usize| smallest / 4.0 * (16.0 * largest / smallest).powf(i as f64 / STEPS as f64);
    let climbs = |free: &[&[usize]]| {
        (0..=STEPS).map(|i| of_term(points, |n| n / (n + half(i)), free)).fold(f64::INFINITY, f64::min)
    };
    let (from_zero, from_level) = (climbs(&[&[1]]), climbs(&[&[0, 1], &[1]]));
    if from_zero < squares || f_upper((squares - from_level) / (from_level / freedom), 1.0, freedom) < SEEN {
        return false;
    }
    let power = |i: usize| MOST * (2.0 * i as f64 / STEPS as f64 - 1.0);
    let bent = |power: f64| {
        of_term(points, |n| if power == 0.0 { n.ln() } else { (n.powf(power) - 1.0) / power }, &[&[0, 1]])
    };
    let profile: Vec<(f64, f64)> = (0..=STEPS).map(power).map(|power| (power, bent(power))).collect();
    let least = profile.iter().map(|(_, squares)| *squares).fold(squares, f64::min);
    let most = least * (1.0 + t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom).powi(2) / freedom);
    squares <= most && profile.iter().all(|(power, squares)| power.abs() <= FAR || *squares > most)
}

/// The least squares, on ln(time), of a level and a term, or those that `candidates` choose of them.
fn of_term(points: &[GrowthPoint], term: impl Fn(f64) -> f64, candidates: &[&[usize]]) -> f64 {
    let rows: Vec<Row> =
        points.iter().map(|point| Row { terms: [1.0, term(point.n), 0.0], value: point.time }).collect();
    let is_above = |c: &[f64; 3]| rows.iter().all(|row| least_squares::value(c, &row.terms) > 0.0);
    least_squares::fit(&rows, candidates, is_above).map_or(f64::INFINITY, |found| {
        rows.iter().map(|row| (row.value / least_squares::value(&found, &row.terms)).ln().powi(2)).sum()
    })
}
