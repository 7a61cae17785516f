//! Where what was read came from.

use plimsoll_model::experiment::claim::source::{SourceClaim, SourceDetails};

use super::Shown;

impl Shown for SourceClaim {
    type Details = SourceDetails;
    const TITLE: &'static str = "Source";
}
