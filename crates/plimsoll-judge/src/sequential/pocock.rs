//! Pocock's boundary for any schedule of looks, by recursive integration (Armitage, McPherson & Rowe 1969).

use crate::stats::dist::{normal_pdf, normal_quantile};

/// Steps of the integration per standard deviation of what is added between two looks.
const STEPS: f64 = 6.0;
/// Beyond this many standard deviations nothing is added.
const REACH: f64 = 8.0;

/// When to look: after every pair up to some twenty, then after each tenth more, and at the last.
pub fn looks(first: usize, most: usize) -> Vec<usize> {
    let next = |n: &usize| Some(n + (n / 20).max(1));
    let mut looks: Vec<usize> = std::iter::successors(Some(first), next).take_while(|n| *n < most).collect();
    looks.push(most);
    looks
}

/// The standardised boundary `c` for which a mean of normal values without effect leaves ±c at any of the `looks` (rising
/// numbers of values) with probability `alpha` in all.
pub fn boundary(looks: &[usize], alpha: f64) -> f64 {
    // One look alone, and as many independent ones, enclose the answer.
    let mut lo = normal_quantile(1.0 - alpha / 2.0);
    let mut hi = normal_quantile(1.0 - alpha / 2.0 / looks.len().max(1) as f64);
    while hi - lo > 1e-5 {
        let c = f64::midpoint(lo, hi);
        if 1.0 - staying(looks, c) > alpha {
            lo = c;
        } else {
            hi = c;
        }
    }
    f64::midpoint(lo, hi)
}

/// The chance that the standardised mean stays inside ±c at every look: the density of the sum on what is left of the
/// line is carried from look to look.
fn staying(looks: &[usize], c: f64) -> f64 {
    let mut before: Option<Density> = None;
    let mut taken = 0.0;
    for (k, &n) in looks.iter().enumerate() {
        let added = n as f64 - taken;
        taken = n as f64;
        let next_added = looks.get(k + 1).map_or(added, |m| (m - n) as f64);
        let edge = c * taken.sqrt();
        let step = added.min(next_added).sqrt() / STEPS;
        before = Some(Density::new(edge, step, |y| match &before {
            None => normal_pdf(y / added.sqrt()) / added.sqrt(),
            Some(density) => density.spread(y, added.sqrt()),
        }));
    }
    before.map_or(1.0, |density| density.mass())
}

/// A density on a symmetric stretch, at the points of Simpson's rule.
struct Density {
    edge: f64,
    step: f64,
    /// Density times weight.
    weighted: Vec<f64>,
}

impl Density {
    fn new(edge: f64, widest: f64, at: impl Fn(f64) -> f64) -> Self {
        let half = (edge / widest).ceil().max(1.0) as usize;
        let step = edge / half as f64;
        let last = 2 * half;
        let weight = |i: usize| match i {
            0 => 1.0,
            i if i == last => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let weighted = (0..=last).map(|i| at(i as f64 * step - edge) * weight(i) * step / 3.0).collect();
        Self { edge, step, weighted }
    }

    fn mass(&self) -> f64 {
        self.weighted.iter().sum()
    }

    /// The density at `y` after a normal value with standard deviation `sd` was added.
    fn spread(&self, y: f64, sd: f64) -> f64 {
        let place = |x: f64| ((x + self.edge) / self.step).clamp(0.0, (self.weighted.len() - 1) as f64);
        let from = place(y - REACH * sd).floor() as usize;
        let to = place(y + REACH * sd).ceil() as usize;
        let parts = self.weighted[from..=to].iter().enumerate();
        let sum: f64 =
            parts.map(|(i, w)| w * normal_pdf((y + self.edge - (from + i) as f64 * self.step) / sd)).sum();
        sum / sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_looks_reproduce_jennison_and_turnbull_table_2_1() {
        for (looks, alpha, expected) in
            [(2, 0.05, 2.178), (5, 0.05, 2.413), (10, 0.05, 2.555), (5, 0.01, 2.986), (10, 0.01, 3.117)]
        {
            let schedule: Vec<usize> = (1..=looks).collect();
            let found = boundary(&schedule, alpha);
            assert!((found - expected).abs() < 0.0011, "{looks} looks at {alpha}: {found}");
        }
    }

    #[test]
    fn one_look_is_the_plain_test() {
        assert!((boundary(&[30], 0.05) - 1.959_96).abs() < 1e-4);
    }

    #[test]
    fn looks_rise_to_the_largest_number() {
        assert_eq!(looks(8, 12), [8, 9, 10, 11, 12]);
        assert_eq!(looks(8, 8), [8]);
        let many = looks(8, 1000);
        assert!(many.is_sorted_by(|a, b| a < b) && many.len() < 120 && many.last() == Some(&1000));
    }
}
