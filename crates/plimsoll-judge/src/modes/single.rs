//! The likeliest distribution with a single mode, out of three families that cover most shapes of one mode.
//!
//! The sinh-arcsinh distributions (Jones & Pewsey 2009, *Sinh-arcsinh distributions*) have a place, a width, a lean and a weight of their
//! tails, and the normal distribution among them: they are leaning or not, with tails heavier or lighter than normal ones. The shifted
//! log-normal and the shifted gamma distribution begin sharply, as times do that cannot be shorter than the work. A uniform distribution is
//! the flattest top.

use super::minimise::minimise;

const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;
/// How much lighter than normal the tails may be: beyond, a flat top becomes two horns in samples of this size.
const TAILS: std::ops::RangeInclusive<f64> = -2.5..=0.0;
/// Mean gain of a uniform distribution that begins and ends exactly with the values.
const UNIFORM_FREE: f64 = 2.0;
/// Rounds of the search for one family.
const ROUNDS: usize = 220;

/// The log-likelihood of the best distribution with one mode for `points`, values in rising order with how often each counts.
pub(super) fn log_likelihood(points: &[(f64, f64)]) -> f64 {
    let spread = Spread::of(points);
    let leaning = [-0.4, 0.4]
        .into_iter()
        .map(|lean| {
            let start = [spread.middle / spread.sd, 0.0, lean, 0.0];
            -minimise(&start, 0.3, ROUNDS, |p| sinh_arcsinh(points, spread.sd, p))
        })
        .fold(f64::NEG_INFINITY, f64::max);
    let sharp = [1.0, -1.0]
        .into_iter()
        .map(|sign| {
            let from = if sign > 0.0 { points[0].0 } else { -points[points.len() - 1].0 };
            let begins = Begins { points, sign, from, sd: spread.sd };
            let log_normal = -minimise(&[-1.0, 0.0, -0.7], 0.5, ROUNDS, |p| begins.log_normal(p));
            let gamma = -minimise(&[-3.0, 0.5, 0.0], 0.5, ROUNDS, |p| begins.gamma(p));
            log_normal.max(gamma)
        })
        .fold(f64::NEG_INFINITY, f64::max);
    leaning.max(sharp).max(uniform(points) - UNIFORM_FREE)
}

struct Spread {
    middle: f64,
    sd: f64,
}

impl Spread {
    fn of(points: &[(f64, f64)]) -> Self {
        let count: f64 = points.iter().map(|p| p.1).sum();
        let middle = points.iter().map(|(x, c)| x * c).sum::<f64>() / count;
        let square = points.iter().map(|(x, c)| (x - middle).powi(2) * c).sum::<f64>() / count;
        Self { middle, sd: square.sqrt() }
    }
}

fn uniform(points: &[(f64, f64)]) -> f64 {
    let count: f64 = points.iter().map(|p| p.1).sum();
    -count * (points[points.len() - 1].0 - points[0].0).ln()
}

/// Minus the log-likelihood for a place and the logarithm of a width, in units of `unit`, a lean and the logarithm of the tails' lightness.
fn sinh_arcsinh(points: &[(f64, f64)], unit: f64, p: &[f64]) -> f64 {
    if !TAILS.contains(&p[3]) || p[2].abs() > 5.0 {
        return f64::INFINITY;
    }
    let (place, width, lean, tails) = (p[0] * unit, p[1].exp() * unit, p[2], p[3].exp());
    let constant = tails.ln() - width.ln() - HALF_LN_2_PI;
    let log_density = |x: f64| {
        let y = (x - place) / width;
        // e to the power of asinh(y); written so that no digit is lost where y is far below 0.
        let root = (1.0 + y * y).sqrt();
        let up = if y >= 0.0 { y + root } else { 1.0 / (root - y) };
        let grown = (tails * up.ln() - lean).exp();
        let (s, c) = ((grown - 1.0 / grown) / 2.0, (grown + 1.0 / grown) / 2.0);
        constant + (c / root).ln() - s * s / 2.0
    };
    -points.iter().map(|&(x, count)| count * log_density(x)).sum::<f64>()
}

/// Distributions that begin at a place below the least value, or mirrored, above the largest.
struct Begins<'a> {
    points: &'a [(f64, f64)],
    sign: f64,
    /// The value nearest to the beginning, in the direction of `sign`.
    from: f64,
    sd: f64,
}

impl Begins<'_> {
    /// Each value as its distance from the beginning, which lies `before` (a logarithm, in standard deviations) ahead of the first value.
    fn distances(&self, before: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let ahead = before.exp();
        self.points.iter().map(move |&(x, count)| ((self.sign * x - self.from) / self.sd + ahead, count))
    }

    fn log_normal(&self, p: &[f64]) -> f64 {
        if !(-7.0..=4.0).contains(&p[0]) {
            return f64::INFINITY;
        }
        let spread = p[2].exp();
        let log_density = |d: f64| {
            let log = d.ln();
            let z = (log - p[1]) / spread;
            -z * z / 2.0 - log
        };
        let total: f64 = self.distances(p[0]).map(|(d, count)| count * (log_density(d))).sum();
        let count: f64 = self.points.iter().map(|p| p.1).sum();
        -(total - count * (p[2] + HALF_LN_2_PI + self.sd.ln()))
    }

    fn gamma(&self, p: &[f64]) -> f64 {
        // A shape below 1 has no top, but a pole.
        if !(-7.0..=4.0).contains(&p[0]) || p[1] < 0.0 {
            return f64::INFINITY;
        }
        let (shape, scale) = (p[1].exp(), p[2].exp());
        let log_density = |d: f64| (shape - 1.0) * d.ln() - d / scale;
        let total: f64 = self.distances(p[0]).map(|(d, count)| count * log_density(d)).sum();
        let count: f64 = self.points.iter().map(|p| p.1).sum();
        let constant = statrs::function::gamma::ln_gamma(shape) + shape * p[2] + self.sd.ln();
        -(total - count * constant)
    }
}
