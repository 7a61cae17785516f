//! How often a second mode is found, against the dip test on the same values.

use plimsoll_judge::modes::{Modes, dip_test, find_modes};
use plimsoll_judge::stats::{rng::SmallRng, sorted};
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// Shapes with a single mode.
const SINGLE: [Shape; 7] = [
    Shape::Normal,
    Shape::LogNormal(0.2),
    Shape::LogNormal(0.4),
    Shape::Gamma,
    Shape::HeavyTails,
    Shape::Uniform,
    Shape::Step,
];

#[derive(Clone, Copy, Debug)]
enum Shape {
    Normal,
    /// With this spread of the logarithm.
    LogNormal(f64),
    /// The sum of four exponential values.
    Gamma,
    /// Student's t with five degrees of freedom.
    HeavyTails,
    Uniform,
    /// Normal values whose level steps by five standard deviations somewhere.
    Step,
}

impl Shape {
    fn draw(self, n: usize, rng: &mut SmallRng) -> Vec<f64> {
        let step = n / 4 + rng.below(n / 2);
        (0..n)
            .map(|i| match self {
                Self::Normal => 20.0 + rng.normal(),
                Self::LogNormal(spread) => (spread * rng.normal()).exp(),
                Self::Gamma => (0..4).map(|_| -(1.0 - rng.uniform()).ln()).sum(),
                Self::HeavyTails => {
                    let chi_square: f64 = (0..5).map(|_| rng.normal().powi(2)).sum();
                    rng.normal() / (chi_square / 5.0).sqrt()
                }
                Self::Uniform => rng.uniform(),
                Self::Step => rng.normal() + if i >= step { 5.0 } else { 0.0 },
            })
            .collect()
    }
}

/// Two modes 3 to 7 pooled standard deviations apart, the lesser with 10 to 50 % of the values, the spreads up to twice one another;
/// every other time with the longer upper tail of service times.
fn two_modes(n: usize, rng: &mut SmallRng) -> Vec<f64> {
    let apart = 3.0 + 4.0 * rng.uniform();
    let weight = 0.1 + 0.4 * rng.uniform();
    let spread = (2.0 * rng.uniform() - 1.0).exp2();
    let pooled = ((1.0 + spread * spread) / 2.0).sqrt();
    let flip = if rng.coin() { 1.0 } else { -1.0 };
    let skewed = rng.coin();
    (0..n)
        .map(|_| {
            let z = rng.normal();
            let z = if skewed { ((0.2 * z).exp() - 1.0) / 0.2 } else { z };
            if rng.uniform() < weight { flip * apart * pooled + spread * z } else { z }
        })
        .collect()
}

/// Rates of a disk with and without a neighbour who comes and goes: 10 to 50, and 200 to 500, the lesser with 20 to 50 % of the values.
fn wide_modes(n: usize, rng: &mut SmallRng) -> Vec<f64> {
    let (weight, flip) = (0.2 + 0.3 * rng.uniform(), rng.coin());
    let low = |rng: &mut SmallRng| 10.0 + 40.0 * rng.uniform();
    let high = |rng: &mut SmallRng| 200.0 + 300.0 * rng.uniform();
    (0..n).map(|_| if (rng.uniform() < weight) == flip { low(rng) } else { high(rng) }).collect()
}

/// The rows of the table: as many samples with one mode as with two, for each size.
pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 420 } else { 4_200 };
    let mut rows = Vec::new();
    for (n, target) in [(100, "≥ 84 %"), (300, "≥ 97 %")] {
        let samples = |stream: u64, draw: &(dyn Fn(usize, &mut SmallRng) -> Vec<f64> + Sync)| {
            let judged = (0..count).into_par_iter().map(|i| {
                let mut rng = SmallRng::new((stream << 32) + ((n as u64) << 20) + i as u64);
                let values = draw(i, &mut rng);
                (judge(&values).modes.len() > 1, dip_test(&sorted(&values)).p < 0.05)
            });
            judged
                .map(|(ours, dip)| [usize::from(ours), usize::from(dip)])
                .reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]])
        };
        let alarms = samples(1, &|i, rng| SINGLE[i % SINGLE.len()].draw(n, rng));
        let found = samples(2, &|_, rng| two_modes(n, rng));
        let wide = samples(3, &|_, rng| wide_modes(n, rng));
        let balanced = |k: usize| share(found[k] + count - alarms[k], 2 * count);
        let method = format!("modes, n = {n}");
        rows.push(row(&method, "balanced accuracy", &balanced(0), target));
        rows.push(row(&method, "10 to 50 and 200 to 500 distinguished", &share(wide[0], count), "≥ 90 %"));
        rows.push(row(&method, "one mode taken for two", &share(alarms[0], count), "≤ 2 %"));
        rows.push(row(&format!("dip test at 5 %, n = {n}"), "balanced accuracy", &balanced(1), ""));
        rows.push(row(
            &format!("dip test at 5 %, n = {n}"),
            "one mode taken for two",
            &share(alarms[1], count),
            "",
        ));
    }
    rows
}

fn judge(values: &[f64]) -> Modes {
    find_modes(values).unwrap_or_else(|e| panic!("a simulated sample is not judged: {e}"))
}
