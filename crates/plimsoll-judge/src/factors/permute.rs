//! The permutation test: signs of whole blocks are flipped, which nothing but an interaction would notice.

use crate::stats::rank::ranks;
use crate::stats::rng::SmallRng;

/// Up to this many blocks every pattern of signs is tried.
const EXACT_BLOCKS: usize = 13;
const DRAWS: u32 = 10_000;
const SEED: u64 = 0x00fa_c705;

/// The p-value of the largest signed-rank sum over cells, given the residuals of each block.
pub(super) fn p_value(residuals: &[Vec<f64>]) -> f64 {
    let columns = signed_ranks(residuals);
    let largest = |signs: &[f64]| {
        let sum = |column: &Vec<f64>| column.iter().zip(signs).map(|(r, s)| r * s).sum::<f64>().abs();
        columns.iter().map(sum).fold(0.0, f64::max)
    };
    let blocks = residuals.len();
    // Sums are multiples of a half: only rounding lies in between.
    let observed = largest(&vec![1.0; blocks]) - 0.25;
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

/// For each cell, the ranks of its residuals' sizes over blocks, with their signs. Cells that only mirror another are
/// left out, and residuals that are zero but for rounding count as zero.
fn signed_ranks(residuals: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let scale = residuals.iter().flatten().fold(f64::MIN_POSITIVE, |a, r| a.max(r.abs()));
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for cell in 0..residuals[0].len() {
        // Rounded, because mirrored cells and ties agree only up to the last digits.
        let sizes: Vec<f64> = residuals.iter().map(|r| (r[cell] / scale * 1e9).round()).collect();
        let ranked = ranks(&sizes.iter().map(|s| s.abs()).collect::<Vec<_>>());
        let signed = |(size, rank): (&f64, &f64)| if *size == 0.0 { 0.0 } else { rank * size.signum() };
        let column: Vec<f64> = sizes.iter().zip(&ranked.ranks).map(signed).collect();
        let mirrored: Vec<f64> = column.iter().map(|r| -r).collect();
        if !columns.contains(&column) && !columns.contains(&mirrored) {
            columns.push(column);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rank::signed_rank;

    #[test]
    fn in_a_two_by_two_table_it_is_the_signed_rank_test() {
        let mut rng = SmallRng::new(9);
        for _ in 0..20 {
            let contrasts: Vec<f64> = (0..10).map(|_| 0.5 + rng.normal()).collect();
            let residuals: Vec<Vec<f64>> = contrasts.iter().map(|c| vec![*c, -c, -c, *c]).collect();
            assert!((p_value(&residuals) - signed_rank(&contrasts).p).abs() < 1e-12);
        }
    }

    #[test]
    fn residuals_of_zero_prove_nothing() {
        assert_eq!(p_value(&vec![vec![0.0; 4]; 10]), 1.0);
        assert_eq!(p_value(&vec![vec![0.0; 4]; 30]), 1.0);
    }
}
