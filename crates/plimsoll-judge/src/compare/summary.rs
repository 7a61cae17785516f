//! A against B from what others state of them: mean, standard deviation and number of values.

use super::small::TTest;
use super::{CompareSettings, Comparison, Evidence, FEWEST};
use crate::Scale;
use crate::input::{self, JudgeError};
use crate::wording;

/// Statistics of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the values.
    pub deviation: f64,
    /// The number of values.
    pub n: usize,
}

impl Summary {
    /// The mean on the scale, and the square of its standard error there: by the delta method for logarithms.
    fn on(&self, scale: Scale) -> (f64, f64) {
        let squared = self.deviation * self.deviation / self.n as f64;
        match scale {
            Scale::Ratio => (self.mean.ln(), squared / (self.mean * self.mean)),
            Scale::Difference => (self.mean, squared),
        }
    }

    fn check(&self, scale: Scale) -> Result<(), JudgeError> {
        let above = if scale == Scale::Ratio { 0.0 } else { f64::MIN };
        input::between("mean", self.mean, above, f64::MAX, "a finite mean, above 0 for ratios")?;
        input::between("deviation", self.deviation, -f64::MIN_POSITIVE, f64::MAX, "a deviation of 0 or more")
    }
}

/// Judges two independent samples that are known by their means and deviations, by Welch's t test (1947).
///
/// # Errors
/// Means that are not above 0 where ratios are asked for, negative deviations, or settings out of range.
pub fn summaries(
    metric: &str,
    a: &Summary,
    b: &Summary,
    settings: &CompareSettings,
) -> Result<Comparison, JudgeError> {
    settings.check()?;
    a.check(settings.scale)?;
    b.check(settings.scale)?;
    let ((at_a, va), (at_b, vb)) = (a.on(settings.scale), b.on(settings.scale));
    let free = |squared: f64, n: usize| squared * squared / (n as f64 - 1.0);
    let freedom = (va + vb).powi(2) / (free(va, a.n) + free(vb, b.n));
    let TTest { location, p } = TTest::new(at_b - at_a, (va + vb).sqrt(), freedom, settings.confidence);
    let sample = format!(
        "means and deviations of {} and {} values, Welch's t test p = {}, which assumes normal {}",
        a.n,
        b.n,
        wording::p_value(p),
        settings.scale.values_in_words()
    );
    let evidence = Evidence { location, p, n: a.n.min(b.n), fewest: FEWEST, unit: "value", sample };
    Ok(evidence.judge(metric, settings))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::verdict::Outcome;

    use super::*;

    /// `scipy.stats.ttest_ind_from_stats(12.0, 0.5, 6, 13.0, 0.8, 5, equal_var=False)` of SciPy 1.17.1.
    #[test]
    fn the_p_value_is_that_of_scipy() {
        let settings = CompareSettings { scale: Scale::Difference, ..CompareSettings::default() };
        let (a, b) =
            (Summary { mean: 12.0, deviation: 0.5, n: 6 }, Summary { mean: 13.0, deviation: 0.8, n: 5 });
        let found = summaries("time", &a, &b, &settings).unwrap();
        assert!((found.p - 0.048_331_006).abs() < 1e-6, "{found:?}");
        assert_eq!(found.verdict.outcome, Outcome::Undecided);
    }

    #[test]
    fn clear_and_equal_means_are_decided() {
        let side = |mean, n| Summary { mean, deviation: 0.01 * mean, n };
        let judge = |a, b| summaries("time", &a, &b, &CompareSettings::default()).unwrap().verdict.outcome;
        assert_eq!(judge(side(100.0, 5), side(110.0, 5)), Outcome::Slower);
        assert_eq!(judge(side(100.0, 100), side(100.0, 100)), Outcome::Same);
        assert_eq!(judge(side(100.0, 2), side(110.0, 2)), Outcome::Undecided);
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        let side = |mean, deviation| Summary { mean, deviation, n: 5 };
        for bad in [side(0.0, 1.0), side(1.0, -1.0), side(f64::NAN, 1.0)] {
            assert!(
                summaries("time", &bad, &side(1.0, 0.1), &CompareSettings::default()).is_err(),
                "{bad:?}"
            );
        }
    }
}
