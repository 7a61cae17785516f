//! How two levels of a factor, or two cells, compare.

use plimsoll_model::experiment::claim::difference::{DifferenceClaim, DifferenceDetails};
use plimsoll_model::verdict::Verdict;

use super::{Scale, Shown, is_share};

impl Shown for DifferenceClaim {
    type Details = DifferenceDetails;
    const TITLE: &'static str = "Differences";

    fn scale(verdict: &Verdict) -> Scale {
        if is_share(verdict) { Scale::Points } else { Scale::Ratio }
    }

    fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
        if is_share(verdict) {
            format!("{metric} of B less that of A: {value}")
        } else {
            format!("B came to {value} of A in {metric}")
        }
    }

    fn limits(_: &Verdict, details: &Self::Details) -> Vec<f64> {
        vec![1.0 / (1.0 + details.margin), 1.0 + details.margin]
    }
}
