//! Seeded randomness: the same seed gives the same answer on every machine and in every release.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// A small, fast generator whose stream is fixed by its seed alone (xoshiro256++, Blackman & Vigna 2021).
#[derive(Clone, Debug)]
pub struct SmallRng(Xoshiro256PlusPlus);

impl SmallRng {
    /// A generator whose whole stream follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A whole number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.0.random_range(0..bound) }
    }

    /// A uniform value in `0.0..1.0`.
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// True or false with equal chances.
    pub fn coin(&mut self) -> bool {
        self.0.random()
    }

    /// A standard normal value (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Puts `items` in a random order (Fisher & Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{mean, sd};

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let draw = |seed| {
            let mut rng = SmallRng::new(seed);
            std::array::from_fn::<_, 4, _>(|_| rng.below(1000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn normal_values_have_mean_zero_and_unit_spread() {
        let mut rng = SmallRng::new(1);
        let values: Vec<f64> = (0..20_000).map(|_| rng.normal()).collect();
        assert!(mean(&values).abs() < 0.03);
        assert!((sd(&values) - 1.0).abs() < 0.03);
    }
}
