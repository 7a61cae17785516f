//! A figure with a name that is not ours.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of two figures is the better one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The higher one.
    #[default]
    Higher,
    /// The lower one.
    Lower,
}

/// A figure that a program of the user's own gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NamedMetric {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: Cow<'static, str>,
    /// Which of two figures is the better one.
    pub better: Better,
}
