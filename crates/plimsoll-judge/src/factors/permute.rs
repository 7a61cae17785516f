//! The permutation test: signs of whole blocks are flipped, which nothing but an interaction would notice.

use crate::stats::median;
use crate::stats::rng::SmallRng;

/// Up to this many blocks every pattern of signs is tried.
const EXACT_BLOCKS: usize = 13;
const DRAWS: u32 = 10_000;
const SEED: u64 = 0x00fa_c705;

/// Residuals are cut at this many times the median size in their cell, so that a wild one does not count for more than it is worth. Sizes carry more
/// than ranks do here: they set the cell that is odd apart from those that it only pulls along.
const REACH: f64 = 1.5;

/// The p-value of the largest sum of residuals over cells, given the residuals of each block.
pub(super) fn p_value(residuals: &[Vec<f64>]) -> f64 {
    let columns = tamed(residuals);
    let largest = |signs: &[f64]| {
        let sum = |column: &Vec<f64>| column.iter().zip(signs).map(|(r, s)| r * s).sum::<f64>().abs();
        columns.iter().map(sum).fold(0.0, f64::max)
    };
    let blocks = residuals.len();
    // A pattern that only rounding puts below the observed sum counts as equal to it.
    let observed = largest(&vec![1.0; blocks]) * (1.0 - 1e-9);
    if blocks <= EXACT_BLOCKS {
        let patterns = 1_u32 << (blocks - 1);
        let sign = |bits: u32, b: usize| if bits >> b & 1 == 1 { -1.0 } else { 1.0 };
        let signs = |bits: u32| (0..blocks).map(|b| sign(bits, b)).collect::<Vec<f64>>();
        let extreme = (0..patterns).filter(|&bits| largest(&signs(bits)) >= observed).count();
        return extreme as f64 / f64::from(patterns);
    }
    let mut rng = SmallRng::new(SEED);
    let mut signs = || (0..blocks).map(|_| if rng.coin() { 1.0 } else { -1.0 }).collect::<Vec<f64>>();
    let extreme = (0..DRAWS).filter(|_| largest(&signs()) >= observed).count();
    (extreme + 1) as f64 / f64::from(DRAWS + 1)
}

/// Residuals of each cell over blocks, clamped. Residuals within rounding error of zero become zero.
fn tamed(residuals: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let scale = residuals.iter().flatten().fold(f64::MIN_POSITIVE, |a, r| a.max(r.abs()));
    let column = |cell: usize| {
        let sizes: Vec<f64> =
            residuals.iter().map(|r| if r[cell].abs() > 1e-9 * scale { r[cell] } else { 0.0 }).collect();
        let moved: Vec<f64> = sizes.iter().map(|size| size.abs()).filter(|size| *size > 0.0).collect();
        let most = if moved.is_empty() { 0.0 } else { REACH * median(&moved) };
        sizes.iter().map(|size| size.clamp(-most, most)).collect()
    };
    (0..residuals[0].len()).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rank::tamed_sign_flip;

    #[test]
    fn in_a_two_by_two_table_it_is_the_sign_flip_test_of_the_contrast() {
        let mut rng = SmallRng::new(9);
        for _ in 0..20 {
            let contrasts: Vec<f64> = (0..10).map(|_| 0.5 + rng.normal()).collect();
            let residuals: Vec<Vec<f64>> = contrasts.iter().map(|c| vec![*c, -c, -c, *c]).collect();
            assert!((p_value(&residuals) - tamed_sign_flip(&contrasts)).abs() < 1e-12);
        }
    }

    #[test]
    fn residuals_of_zero_prove_nothing() {
        assert_eq!(p_value(&vec![vec![0.0; 4]; 10]), 1.0);
        assert_eq!(p_value(&vec![vec![0.0; 4]; 30]), 1.0);
    }
}
