//! Whether a load that falls meets the figures that it met when it rose.

use plimsoll_model::experiment::Metric;
use plimsoll_model::experiment::claim::hysteresis::{HysteresisClaim, HysteresisDetails};
use plimsoll_model::units::Unit;
use plimsoll_model::verdict::Verdict;

use super::{Scale, Shown};

impl Shown for HysteresisClaim {
    type Details = HysteresisDetails;
    const TITLE: &'static str = "Up and down";

    fn scale(_: &Verdict) -> Scale {
        Scale::Share
    }

    fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
        let is_time =
            Metric::named(&verdict.metric).is_some_and(|metric| metric.unit() == Unit::Milliseconds);
        let change = if is_time { "added" } else { "lost" };
        format!("{metric}: {value} {change} on the way down")
    }
}
