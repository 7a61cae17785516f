//! Distribution functions and quantiles: thin, total wrappers over `statrs`.

use statrs::distribution::{
    Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, FisherSnedecor, Normal, StudentsT,
};
use statrs::function::erf::erfc;
use std::f64::consts::SQRT_2;

/// Φ(z): the share of a standard normal below `z`.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The density of a standard normal at `z`.
#[must_use]
pub fn normal_pdf(z: f64) -> f64 {
    const ROOT_2_PI: f64 = 2.506_628_274_631_000_5;
    (-0.5 * z * z).exp() / ROOT_2_PI
}

/// Φ⁻¹(p); infinite at 0 and 1.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p.clamp(0.0, 1.0))
}

/// The two-sided p-value of a standard normal `z`.
#[must_use]
pub fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2).min(1.0)
}

/// The quantile of Student's t with `df` degrees of freedom; NaN unless `df` is above 0.
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// The two-sided p-value of Student's `t` with `df` degrees of freedom; 1 unless `df` is above 0, 0 for an infinite `t`.
#[must_use]
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |dist| (2.0 * dist.cdf(-t.abs())).min(1.0))
}

/// The quantile of chi-squared with `df` degrees of freedom; NaN unless `df` is above 0.
#[must_use]
pub fn chi_squared_quantile(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::NAN, |c| c.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// The share of Fisher's F that lies above `f`, with `above` and `below` degrees of freedom; 1 unless both are above 0.
#[must_use]
pub fn f_upper(f: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below).map_or(1.0, |dist| dist.sf(f.max(0.0)))
}

/// The share of Binomial(n, p) at or below `k`.
#[must_use]
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    Binomial::new(p.clamp(0.0, 1.0), n).map_or(1.0, |b| b.cdf(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_published_tables() {
        assert!((chi_squared_quantile(0.99, 3.0) - 11.345).abs() < 1e-3);
        for (p, expected) in [(0.975, 1.959_964), (0.995, 2.575_829), (0.5, 0.0)] {
            assert!((normal_quantile(p) - expected).abs() < 1e-6);
        }
        for (p, df, expected) in [(0.975, 1.0, 12.7062), (0.975, 9.0, 2.2622), (0.995, 29.0, 2.7564)] {
            assert!((t_quantile(p, df) - expected).abs() < 1e-4);
        }
    }

    #[test]
    fn the_tail_of_f_agrees_with_published_tables() {
        for (f, above, below, share) in [(4.76, 3.0, 6.0, 0.05), (10.04, 1.0, 10.0, 0.01)] {
            assert!((f_upper(f, above, below) - share).abs() < 2e-4);
        }
        assert_eq!(f_upper(-1.0, 2.0, 3.0), 1.0);
    }

    #[test]
    fn tails_stay_accurate_where_the_centre_would_cancel() {
        // scipy.stats.norm.sf(8) * 2
        assert!((normal_two_sided(8.0) / 1.244_192_114_854_356_8e-15 - 1.0).abs() < 1e-6);
        assert!((normal_cdf(-8.0) / 6.220_960_574_271_784e-16 - 1.0).abs() < 1e-6);
    }
}
