//! Whether factors act on each other.

use plimsoll_model::experiment::claim::interaction::{InteractionClaim, InteractionDetails};
use plimsoll_model::verdict::Verdict;

use super::{Scale, Shown, is_share};

impl Shown for InteractionClaim {
    type Details = InteractionDetails;
    const TITLE: &'static str = "Interactions";

    fn scale(verdict: &Verdict) -> Scale {
        if is_share(verdict) { Scale::Points } else { Scale::Plain }
    }
}
