//! A against A: can a machine carry an answer at all?
//!
//! Things that are alike are measured one after the other. In random order they would be found different just as often as the level says,
//! whatever the machine does. They show how far the machine itself moves a figure, and so the smallest difference that can be shown.

use super::PLANNED_POWER;
use crate::Scale;
use crate::input::JudgeError;
use crate::stats::{dist, sd};

/// A machine on which a run cannot show that something takes a quarter more is not fit for the run; nor is one on which it cannot show that a
/// share is 25 percentage points larger.
pub const GROSS: f64 = 0.25;

/// How far figures of the same thing lie apart, and what that means for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitness {
    /// The standard deviation of the figures: of their logarithms, where they are compared by ratio.
    pub scatter: f64,
    /// The smallest change that the run can show as a difference with 95 % power, at this scatter: 0.05 is a ratio of 1.05, or, where
    /// shares are compared by difference, 5 percentage points.
    pub smallest: f64,
    /// Whether the machine can carry an answer. A machine on which the run could show a change of 0.25 is called unfit with a chance
    /// of `alpha` at most.
    pub fit: bool,
}

/// Judges figures of the same thing, for a run of `pairs` pairs.
///
/// The scatter of few figures is not well known. Unfit is only a machine whose scatter is too large even at the lower end of its
/// one-sided confidence interval (chi-squared, with one degree of freedom less than there are figures).
///
/// # Errors
/// Fewer than 3 figures, or values that are not finite, or, for ratios, not above 0.
pub fn fitness(figures: &[f64], pairs: usize, alpha: f64, scale: Scale) -> Result<Fitness, JudgeError> {
    if figures.len() < 3 {
        return Err(JudgeError::TooFew { what: "figures".into(), got: figures.len(), needed: 3 });
    }
    let scatter = sd(&scale.place("figures", figures)?);
    let freedom = figures.len() as f64 - 1.0;
    let least = scatter * (freedom / dist::chi_squared_quantile(1.0 - alpha, freedom)).sqrt();
    let z = dist::normal_quantile(1.0 - alpha / 2.0) + dist::normal_quantile(PLANNED_POWER);
    // Two trials make a pair; 1.05 as in `pairs_needed`.
    let shown = |scatter: f64| z * scatter * (2.0 * 1.05 / pairs.max(1) as f64).sqrt();
    let smallest = match scale {
        Scale::Ratio => shown(scatter).exp_m1(),
        Scale::Difference => shown(scatter),
    };
    Ok(Fitness { scatter, smallest, fit: shown(least) <= scale.margin(GROSS) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn unfit_of_400(scatter: f64) -> usize {
        let mut rng = SmallRng::new(5);
        let mut figures = || (0..4).map(|_| 100.0 * (scatter * rng.normal()).exp()).collect::<Vec<f64>>();
        (0..400).filter(|_| !fitness(&figures(), 10, 0.01, Scale::Ratio).unwrap().fit).count()
    }

    #[test]
    fn a_machine_that_is_just_good_enough_is_rarely_called_unfit_and_a_wild_one_nearly_always() {
        // Ten pairs show a quarter at a scatter of ln 1.25 / (4.22 · √0.21) = 11.5 %.
        assert!(unfit_of_400(0.115) <= 10, "{}", unfit_of_400(0.115));
        assert!(unfit_of_400(0.02) == 0);
        assert!(unfit_of_400(1.0) >= 380, "{}", unfit_of_400(1.0));
    }

    #[test]
    fn equal_figures_show_any_difference_and_too_few_or_bad_ones_are_refused() {
        let same = fitness(&[5.0; 4], 10, 0.01, Scale::Ratio).unwrap();
        assert_eq!((same.scatter, same.smallest, same.fit), (0.0, 0.0, true));
        assert!(fitness(&[1.0, 2.0], 10, 0.01, Scale::Ratio).is_err());
        assert!(fitness(&[1.0, 0.0, 2.0], 10, 0.01, Scale::Ratio).is_err());
    }

    #[test]
    fn shares_near_nothing_agree_although_their_ratios_are_wild() {
        let stalls = [0.0, 0.004, 0.000_01, 0.001];
        assert!(fitness(&stalls, 10, 0.01, Scale::Difference).unwrap().fit);
        let wild = [0.0, 0.9, 0.1, 0.7];
        assert!(!fitness(&wild, 2, 0.01, Scale::Difference).unwrap().fit);
    }
}
