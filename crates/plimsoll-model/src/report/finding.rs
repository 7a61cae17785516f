//! A verdict with the details that it rests on.

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::experiment::claim::Details;
use crate::verdict::Verdict;

/// A verdict, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Which claim of the experiment it answers, from 1; null where it answers none: what is said of the measurement itself, or of an intervention.
    pub claim_number: Option<u32>,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Evidence of the verdict, by the kind of the claim; null where there is nothing to show.
    pub details: Option<Details>,
}

impl Finding {
    /// A verdict with what it rests on.
    #[must_use]
    pub fn new(verdict: Verdict, details: impl Into<Details>) -> Self {
        Self { details: Some(details.into()), ..Self::bare(verdict) }
    }

    /// A verdict with nothing beside it.
    #[must_use]
    pub fn bare(verdict: Verdict) -> Self {
        Self { claim_number: None, verdict, details: None }
    }
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Table {
            #[serde(default)]
            claim_number: Option<u32>,
            #[serde(flatten)]
            verdict: Verdict,
            #[serde(default)]
            details: Option<serde_json::Value>,
        }
        let Table { claim_number, verdict, details } = Table::deserialize(deserializer)?;
        // The kind of the claim decides the type of the details.
        let details = details.map(|details| Details::read(&verdict.claim, details)).transpose();
        Ok(Self { claim_number, verdict, details: details.map_err(D::Error::custom)? })
    }
}
