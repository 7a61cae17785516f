//! Distribution functions and quantiles: thin, total wrappers over `statrs`.

use plimsoll_model::verdict::Interval;
use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};
use statrs::function::erf::erfc;
use std::f64::consts::SQRT_2;

/// Φ(z): the share of a standard normal below `z`.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The density of a standard normal at `z`.
pub fn normal_pdf(z: f64) -> f64 {
    const ROOT_2_PI: f64 = 2.506_628_274_631_000_5;
    (-0.5 * z * z).exp() / ROOT_2_PI
}

/// Φ⁻¹(p); infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p.clamp(0.0, 1.0))
}

/// The two-sided p-value of a standard normal `z`.
pub fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2).min(1.0)
}

/// The quantile of Student's t with `df` degrees of freedom; NaN unless `df` is above 0.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// The two-sided p-value of Student's `t` with `df` degrees of freedom; 1 unless `df` is above 0, 0 for an infinite `t`.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |dist| (2.0 * dist.cdf(-t.abs())).min(1.0))
}

/// The quantile of chi-squared with `df` degrees of freedom; NaN unless `df` is above 0.
pub fn chi_squared_quantile(p: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::NAN, |c| c.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// The share of Fisher's F that lies above `f`, with `above` and `below` degrees of freedom; 1 unless both are above 0.
pub fn f_upper(f: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below).map_or(1.0, |dist| dist.sf(f.max(0.0)))
}

/// The exact interval of a share of which `hits` of `all` were seen (Clopper & Pearson, Biometrika 26, 1934): no true
/// share beyond it makes a count as low, or as high, as likely as (1 - `confidence`) / 2. From 0 to 1 where nothing was
/// seen.
///
/// ```
/// let interval = plimsoll_judge::stats::dist::binomial_share(8, 10, 0.95);
/// assert!((interval.lo() - 0.4439).abs() < 1e-4 && (interval.hi() - 0.9748).abs() < 1e-4);
/// ```
pub fn binomial_share(hits: u64, all: u64, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    let (hits, misses) = (hits as f64, all.saturating_sub(hits) as f64);
    let quantile =
        |a: f64, b: f64, p: f64, else_is: f64| Beta::new(a, b).map_or(else_is, |beta| beta.inverse_cdf(p));
    // A beta distribution has no parameter of 0: that end is the end of all shares.
    Interval(quantile(hits, misses + 1.0, tail, 0.0), quantile(hits + 1.0, misses, 1.0 - tail, 1.0))
}

/// The score interval of a share of which `hits` of `all` were seen (Wilson, JASA 22, 1927): narrower than the exact one, and on average as often right as
/// it says (Agresti & Coull 1998). From 0 to 1 where nothing was seen.
///
/// ```
/// let interval = plimsoll_judge::stats::dist::score_share(0.0, 10.0, 0.95);
/// assert!(interval.lo() < 1e-9 && (interval.hi() - 0.2775).abs() < 1e-4);
/// ```
pub fn score_share(hits: f64, all: f64, confidence: f64) -> Interval {
    if all <= 0.0 {
        return Interval(0.0, 1.0);
    }
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let (share, z2) = (hits / all, z * z);
    let scale = 1.0 + z2 / all;
    let middle = (share + z2 / (2.0 * all)) / scale;
    let half = z * (share * (1.0 - share) / all + z2 / (4.0 * all * all)).sqrt() / scale;
    Interval((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_interval_of_a_share_agrees_with_the_textbook() {
        // Agresti & Coull 1998, and prop.test without correction in R 4.
        for (hits, all, lo, hi) in
            [(0.0, 10.0, 0.0, 0.277_533), (8.0, 10.0, 0.490_162, 0.943_318), (0.0, 0.0, 0.0, 1.0)]
        {
            let interval = score_share(hits, all, 0.95);
            assert!((interval.lo() - lo).abs() < 1e-4 && (interval.hi() - hi).abs() < 1e-4, "{interval:?}");
        }
    }

    #[test]
    fn the_exact_interval_of_a_share_agrees_with_r() {
        // binom.test in R 4.
        for (hits, all, lo, hi) in [
            (0, 10, 0.0, 0.308_497),
            (10, 10, 0.691_503, 1.0),
            (2, 6, 0.043_272, 0.777_222),
            (0, 0, 0.0, 1.0),
        ] {
            let interval = binomial_share(hits, all, 0.95);
            assert!((interval.lo() - lo).abs() < 1e-4 && (interval.hi() - hi).abs() < 1e-4, "{interval:?}");
        }
    }

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
