//! Looking for the highest rate that holds a bound.

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;
use crate::experiment::{Search, validate};

impl PhaseType for Search {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        validate::limit::check_search(at.experiment, &at.phase.name, self, &at.key("search"))
    }

    fn describe(&self, _phase: &Phase) -> String {
        format!("search with {} for the highest rate up to {}/s that holds the bound", self.load, self.to)
    }

    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        vec![PhaseKind::Search]
    }

    fn loads(&self) -> &[String] {
        std::slice::from_ref(&self.load)
    }
}
