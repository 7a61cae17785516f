//! Comparisons whose values lie in levels: boots that hold processes that hold windows.

use super::{CompareSettings, Comparison, Evidence};
use crate::input::{self, JudgeError};
use crate::stats::bootstrap::{Nested, hierarchical};
use crate::stats::shift::Location;

const RESAMPLES: usize = 4000;
const SEED: u64 = 0x5eed;

/// Judges log ratios `ln(B/A)` that lie in levels, the unit of replication on top: say one group per boot, holding one
/// group per process, holding windows.
///
/// For the p-value each top group is one pair, whatever its number of values. The interval is the wider of two: that of the hierarchical
/// bootstrap (Kalibera & Jones 2013), and that of the means of the top groups, because a bootstrap of few groups is too narrow.
///
/// # Errors
/// Empty levels, values that are not finite, or settings out of range.
pub fn nested(
    metric: &str,
    log_ratios: &Nested,
    settings: &CompareSettings,
) -> Result<Comparison, JudgeError> {
    settings.check()?;
    check(log_ratios)?;
    let tops = match log_ratios {
        Nested::Values(values) => values.clone(),
        Nested::Groups(groups) => groups.iter().map(Nested::mean).collect(),
    };
    let alone = Evidence::of_pairs(&tops, 0.0, "group", settings);
    let boot = hierarchical(log_ratios, settings.confidence, RESAMPLES, SEED);
    let half = ((boot.hi - boot.lo) / 2.0).max((alone.location.hi - alone.location.lo) / 2.0);
    let location = Location { estimate: boot.estimate, lo: boot.estimate - half, hi: boot.estimate + half };
    Ok(Evidence { location, ..alone }.judge(metric, settings))
}

fn check(nested: &Nested) -> Result<(), JudgeError> {
    match nested {
        Nested::Values(values) => input::finite("log ratios", values),
        Nested::Groups(groups) if groups.is_empty() => {
            Err(JudgeError::Empty { what: "groups".into(), expected: "at least one group" })
        }
        Nested::Groups(groups) => groups.iter().try_for_each(check),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;
    use plimsoll_model::verdict::Outcome;

    /// Boots that differ by 3 %, each with many windows that differ by 0.5 %.
    fn boots(n: usize, effect: f64, seed: u64) -> Nested {
        let mut rng = SmallRng::new(seed);
        Nested::Groups(
            (0..n)
                .map(|_| {
                    let boot = effect + 0.03 * rng.normal();
                    Nested::Values((0..50).map(|_| boot + 0.005 * rng.normal()).collect())
                })
                .collect(),
        )
    }

    #[test]
    fn many_windows_of_few_boots_do_not_make_a_difference_certain() {
        let alarms = (0..50)
            .filter(|&seed| {
                let result = nested("wall", &boots(8, 0.0, seed), &CompareSettings::default()).unwrap();
                result.verdict.outcome != Outcome::Undecided
            })
            .count();
        assert!(alarms <= 2, "{alarms} of 50");
    }

    #[test]
    fn a_difference_that_every_boot_shows_is_found() {
        let result = nested("wall", &boots(10, 0.1, 3), &CompareSettings::default()).unwrap();
        assert_eq!(result.verdict.outcome, Outcome::Slower);
        assert_eq!(result.verdict.n, 10);
    }

    #[test]
    fn an_empty_level_is_an_error() {
        assert!(nested("wall", &Nested::Groups(vec![]), &CompareSettings::default()).is_err());
        let hollow = Nested::Groups(vec![Nested::Values(vec![])]);
        assert!(nested("wall", &hollow, &CompareSettings::default()).is_err());
    }
}
