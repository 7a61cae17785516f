//! Analysis of variance of a full grid: the F test of everything that main effects leave (Fisher 1925; Jain 1991, chapter 22).
//!
//! Cells with unequal numbers of replicates weigh the same, with the harmonic mean of the numbers (unweighted means, Yates 1934).

use super::decompose::Additive;
use super::design::Data;
use crate::stats::{dist, mean};

/// Chance of doubting values that are normal.
const DOUBTED: f64 = 0.01;

/// The parts of the variation that the test needs.
pub(super) struct Anova {
    /// Rest of each cell's mean after main effects.
    pub(super) residuals: Vec<f64>,
    /// Replicates behind each cell's mean.
    replicates: f64,
    /// Rest of each value after cell and block.
    errors: Vec<f64>,
    /// Degrees of freedom of the errors.
    freedom: f64,
}

/// The F test of no interaction.
pub(super) struct FTest {
    /// The p-value.
    pub(super) p: f64,
    /// Variance of a cell's mean.
    variance: f64,
    /// Degrees of freedom of the errors.
    freedom: f64,
}

impl Anova {
    pub(super) fn new(data: &Data, additive: &Additive) -> Self {
        let means = data.cell_means();
        let residuals = additive.residuals(&means);
        match data {
            Data::Blocks(blocks) => {
                let grand = mean(&means);
                let error = |block: &Vec<f64>| {
                    let shift = mean(block) - grand;
                    block
                        .iter()
                        .zip(&means)
                        .map(move |(value, cell)| value - cell - shift)
                        .collect::<Vec<_>>()
                };
                let errors: Vec<f64> = blocks.iter().flat_map(error).collect();
                let freedom = (blocks.len() as f64 - 1.0) * (means.len() as f64 - 1.0);
                Self { residuals, replicates: blocks.len() as f64, errors, freedom }
            }
            Data::Replicates(cells) => {
                let error =
                    |(values, mean): (&Vec<f64>, &f64)| values.iter().map(|v| v - mean).collect::<Vec<_>>();
                let errors: Vec<f64> = cells.iter().zip(&means).flat_map(error).collect();
                let inverse = mean(&cells.iter().map(|values| 1.0 / values.len() as f64).collect::<Vec<_>>());
                let freedom = errors.len() as f64 - cells.len() as f64;
                Self { residuals, replicates: 1.0 / inverse, errors, freedom }
            }
        }
    }

    fn squares(&self) -> f64 {
        self.errors.iter().map(|e| e * e).sum()
    }

    /// The test; absent where nothing is repeated.
    pub(super) fn test(&self, additive: &Additive) -> Option<FTest> {
        if self.freedom < 1.0 {
            return None;
        }
        let scatter = self.squares() / self.freedom;
        let between =
            self.replicates * self.residuals.iter().map(|r| r * r).sum::<f64>() / additive.interactions();
        // Equal figures leave nothing but rounding on either side.
        let p = if between <= f64::EPSILON {
            1.0
        } else {
            dist::f_upper(between / scatter, additive.interactions(), self.freedom)
        };
        Some(FTest { p, variance: scatter / self.replicates, freedom: self.freedom })
    }

    /// The evidence against normal errors: one that is farther off than the largest of this many may be (Grubbs 1950).
    pub(super) fn outlier(&self) -> Option<String> {
        let n = self.errors.len() as f64;
        let squares = self.squares();
        if self.freedom < 3.0 || squares <= f64::EPSILON {
            return None;
        }
        let largest = self.errors.iter().fold(0.0_f64, |most, e| most.max(e.abs()));
        let share = (largest * largest * n / squares).min(self.freedom);
        let t = (share * (self.freedom - 1.0) / (self.freedom - share)).sqrt();
        (n * dist::t_two_sided(t, self.freedom - 1.0) < DOUBTED).then(|| {
            format!("one figure is {:.1} standard deviations off the others of its cell, so they are not normal and the F test does not count", share.sqrt())
        })
    }
}

impl FTest {
    /// Half the width of the interval of a cell's deviation.
    pub(super) fn half_width(&self, additive: &Additive, confidence: f64) -> f64 {
        dist::t_quantile(f64::midpoint(1.0, confidence), self.freedom)
            * (self.variance / additive.freedom()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_f_test_agrees_with_the_textbook() {
        let cells = vec![vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0], vec![2.0, 3.0, 4.0], vec![7.0, 8.0, 12.0]];
        let additive = Additive::new(&[2, 2]);
        let test = Anova::new(&Data::Replicates(cells), &additive).test(&additive).unwrap();
        // Contrast 9 - 3 - 3 + 2 = 5, so 3 · 5² / 4 = 18.75 against a scatter of (2 + 2 + 2 + 14) / 8 = 2.5: F = 7.5.
        assert!((test.p - dist::f_upper(7.5, 1.0, 8.0)).abs() < 1e-9, "{}", test.p);
    }

    #[test]
    fn a_wild_figure_is_doubted_and_normal_ones_are_not() {
        let additive = Additive::new(&[2, 2]);
        let calm = vec![vec![1.0, 1.1, 0.9, 1.05]; 4];
        assert_eq!(Anova::new(&Data::Replicates(calm.clone()), &additive).outlier(), None);
        let mut wild = calm;
        wild[2][1] = 4.0;
        assert!(Anova::new(&Data::Replicates(wild), &additive).outlier().is_some());
    }
}
