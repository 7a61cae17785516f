//! The kinds of growth, and how many figures each takes.

use serde::Serialize;

/// A kind of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::EnumIter)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The time does not depend on the number of workers.
    Constant,
    /// Every further worker adds as much as the one before.
    Linear,
    /// Every doubling of the number adds as much as the one before: `a + b·ln n`.
    Logarithmic,
    /// `a + b·n·ln n`.
    Linearithmic,
    /// A power of the number: worse than linear above 1, better below.
    Power,
    /// Every further worker adds more than the one before, by the same amount each time: a linear part, and one by the square.
    Quadratic,
    /// Linear, and steeper from a knee on.
    Knee,
}

impl Kind {
    /// The public name, as in the JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Kinds in classes of rising complexity: a class is left only for one that earns its place.
    pub(super) fn class(self) -> usize {
        match self {
            Self::Constant => 0,
            Self::Linear => 1,
            Self::Logarithmic | Self::Linearithmic | Self::Power => 2,
            Self::Quadratic | Self::Knee => 3,
        }
    }

    /// The figures of the curve that are fitted, the place of a knee among them.
    pub(super) fn figures(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Linear | Self::Logarithmic | Self::Linearithmic | Self::Power => 2,
            Self::Quadratic => 3,
            Self::Knee => 4,
        }
    }

    /// Fitted parameters, the variance among them. The place of a knee, which is looked for all along the line, counts as three parameters
    /// (Hall, Osborn & Sakkas, "Inference on structural breaks using information criteria", 2013).
    pub(super) fn parameters(self) -> usize {
        if self == Self::Knee { 7 } else { self.figures() + 1 }
    }

    /// Whether the kind has a curve over these numbers: logarithms below 0 have no meaning for a time.
    pub(super) fn spans(self, smallest: f64, largest: f64) -> bool {
        !matches!(self, Self::Logarithmic | Self::Linearithmic) || (smallest >= 1.0 && largest >= 2.0)
    }
}
