//! Upper bound of the power of any test for two modes, given a hundred values.
//!
//! The bound is the likelihood ratio test, which knows both shapes exactly and only decides which of them made the values. No test with the
//! same error rate on one mode has more power (Neyman & Pearson 1933). The one mode is the likeliest of several families, fitted to 200,000
//! values of the two modes: skew normal (Azzalini 1985), or generalised normal.

use crate::Set;
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Gamma, Normal};
use statrs::function::gamma::ln_gamma;

const LENGTH: usize = 100;

/// The share of series with one mode that may be taken for two.
const FALSE_ALARM: f64 = 0.02;

/// A shape with one mode.
#[derive(Clone, Copy, Debug)]
enum OneMode {
    /// By its slant.
    SkewNormal(f64),
    /// By its exponent: 2 is the normal distribution, more is flatter.
    GeneralisedNormal(f64),
}

/// Two normal modes of unit width, and the one mode that is most like them.
#[derive(Clone, Copy, Debug)]
struct Case {
    apart: f64,
    weight: f64,
    shape: OneMode,
    place: f64,
    scale: f64,
}

const fn case(apart: f64, weight: f64, shape: OneMode, place: f64, scale: f64) -> Case {
    Case { apart, weight, shape, place, scale }
}

const CASES: [Case; 6] = [
    case(3.0, 0.2, OneMode::SkewNormal(3.113), -1.201, 2.393),
    case(3.0, 0.3, OneMode::SkewNormal(3.391), -1.147, 2.662),
    case(3.0, 0.5, OneMode::GeneralisedNormal(4.289), 1.513, 3.096),
    case(3.5, 0.2, OneMode::SkewNormal(3.750), -1.318, 2.649),
    case(3.5, 0.3, OneMode::SkewNormal(4.287), -1.278, 2.984),
    case(3.5, 0.5, OneMode::GeneralisedNormal(4.973), 1.755, 3.438),
];

impl Case {
    fn one(self, rng: &mut SmallRng) -> f64 {
        let z = match self.shape {
            OneMode::SkewNormal(slant) => {
                let (kept, cut) = (rng.normal(), rng.normal());
                if cut < slant * kept { kept } else { -kept }
            }
            OneMode::GeneralisedNormal(exponent) => {
                let gamma = Gamma::new(1.0 / exponent, 1.0).expect("its shape and rate are positive");
                let size = gamma.inverse_cdf(rng.uniform()).powf(1.0 / exponent);
                if rng.coin() { size } else { -size }
            }
        };
        self.place + self.scale * z
    }

    fn two(self, rng: &mut SmallRng) -> f64 {
        let upper = rng.uniform() < self.weight;
        rng.normal() + if upper { self.apart } else { 0.0 }
    }

    /// How much likelier the two modes are than the one, as a logarithm.
    fn gain(self, x: f64) -> f64 {
        let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let two = (1.0 - self.weight) * density(x) + self.weight * density(x - self.apart);
        let z = (x - self.place) / self.scale;
        let one = match self.shape {
            OneMode::SkewNormal(slant) => {
                (2.0 * density(z) * Normal::standard().cdf(slant * z)).max(f64::MIN_POSITIVE).ln()
            }
            OneMode::GeneralisedNormal(exponent) => {
                (exponent / 2.0).ln() - ln_gamma(1.0 / exponent) - z.abs().powf(exponent)
            }
        };
        two.ln() - one + self.scale.ln()
    }

    /// Number of series with two modes that the test finds at the allowed error rate on those with one.
    fn power(self, count: usize, seed: u64) -> usize {
        let gains = |from: u64, draw: fn(Self, &mut SmallRng) -> f64| {
            let gain = |i: usize| {
                let rng = &mut SmallRng::new(seed << 40 | from << 36 | i as u64);
                (0..LENGTH).map(|_| self.gain(draw(self, rng))).sum::<f64>()
            };
            (0..count).into_par_iter().map(gain).collect::<Vec<_>>()
        };
        let mut of_one = gains(0, Self::one);
        of_one.sort_by(f64::total_cmp);
        let threshold = of_one[((1.0 - FALSE_ALARM) * count as f64) as usize];
        gains(1, Self::two).into_iter().filter(|&gain| gain > threshold).count()
    }
}

/// The rows of the table. They depend on no threshold, so both sets have the same.
pub(crate) fn rows(_: Set, quick: bool) -> Vec<String> {
    let count = if quick { 4_000 } else { 40_000 };
    let line = |(i, case): (usize, &Case)| {
        let Case { apart, weight, .. } = case;
        let figure =
            format!("normal, {apart} sd, {} %: the most that any test finds", (100.0 * weight).round());
        row("modes, the bound, n = 100", &figure, &share(case.power(count, i as u64), count), "")
    };
    CASES.iter().enumerate().map(line).collect()
}
