//! The scale on which two figures are compared.

use crate::input::{self, JudgeError};
use crate::stats::shift::Location;
use crate::wording;
use plimsoll_model::verdict::Interval;

/// How far apart two figures are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio B/A. For rates, times and sizes, which are above 0.
    #[default]
    Ratio,
    /// By their difference B - A. For shares (losses, errors, stalls): one in a million against two in a million is a ratio of 2 and no
    /// difference that anybody meets.
    Difference,
}

impl Scale {
    /// The figures on the scale: as they are, or as logarithms.
    ///
    /// # Errors
    /// Values that are not finite; for ratios also those that are not above 0.
    pub(crate) fn place(self, what: &str, values: &[f64]) -> Result<Vec<f64>, JudgeError> {
        match self {
            Self::Ratio => {
                input::positive(what, values)?;
                Ok(values.iter().map(|v| v.ln()).collect())
            }
            Self::Difference => {
                input::finite(what, values)?;
                Ok(values.to_vec())
            }
        }
    }

    /// A margin on the scale.
    pub(crate) fn margin(self, margin: f64) -> f64 {
        match self {
            Self::Ratio => margin.ln_1p(),
            Self::Difference => margin,
        }
    }

    /// A distance on the scale as it is reported: a ratio, or a difference.
    pub(crate) fn estimate(self, distance: Location) -> f64 {
        match self {
            Self::Ratio => distance.ratio(),
            Self::Difference => distance.estimate,
        }
    }

    /// Its interval, likewise; `None` where an end is open.
    pub(crate) fn interval(self, distance: Location) -> Option<Interval> {
        match self {
            Self::Ratio => distance.ratio_interval(),
            Self::Difference => {
                let bounded = distance.lo.is_finite() && distance.hi.is_finite();
                bounded.then_some(Interval(distance.lo, distance.hi))
            }
        }
    }

    /// The compared quantity: `B/A`.
    pub(crate) fn comparison(self) -> &'static str {
        match self {
            Self::Ratio => "B/A",
            Self::Difference => "B - A",
        }
    }

    /// A distance in words: `+5.2 %`, or `+5.2 percentage points`.
    pub(crate) fn change(self, distance: Location) -> String {
        match self {
            Self::Ratio => wording::change(distance.ratio()),
            Self::Difference => wording::points(distance.estimate),
        }
    }

    /// Its interval in words.
    pub(crate) fn interval_in_words(self, distance: Location, confidence: f64) -> String {
        match (self, self.interval(distance)) {
            (Self::Difference, Some(found)) => format!(
                "{} % interval {} to {}",
                100.0 * confidence,
                wording::points(found.lo()),
                wording::points(found.hi())
            ),
            _ => wording::interval(distance, confidence),
        }
    }

    /// Name of the values on the scale: `logarithms`, or `differences`.
    pub(crate) fn values_in_words(self) -> &'static str {
        match self {
            Self::Ratio => "logarithms",
            Self::Difference => "differences",
        }
    }

    /// A margin in words.
    pub(crate) fn margin_in_words(self, margin: f64) -> String {
        match self {
            Self::Ratio => wording::percent(margin),
            Self::Difference => wording::points(margin).trim_start_matches('+').to_owned(),
        }
    }
}
