//! A limit as the file has it, which may be of either kind.

use super::{Amount, BoundClaim, BoundExpect, LimitClaim, Predict, SearchClaim, SearchExpect, Side};
use crate::experiment::prelude::*;

/// A limit as the file has it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LimitClaim")]
pub(super) struct LimitSettings {
    /// The phase: one that is measured for a bound, one with `search` for a search. May be left out where there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    phase: String,
    /// The figure that is to keep to a bound.
    metric: Option<Metric>,
    /// Upper bound: `"50ms"` for times, `"1 %"` for shares, `"200 MB/s"`, `"10Mbit"`, `1000` for rates.
    below: Option<Amount>,
    /// Lower bound.
    above: Option<Amount>,
    /// Of a search: the longest that a request may take, from when it was due.
    at_most: Option<Span>,
    /// Of a search: the share of requests of which that holds (more than 0, less than 1); 95 % by default.
    share: Option<Share>,
    /// Of a search: the rate that is wanted, in requests per second; without it the limit is only found.
    at_least: Option<f64>,
    /// Of a search: how far the interval may reach from the limit, as a share of it (more than 0, less than 1); 10 % by default.
    precision: Option<Share>,
    /// Of a search: predict the limit from light load as well, and show both.
    predict: Option<Predict>,
    /// Expected outcome; the claim holds when the verdict has it. `held` (by default) or `not_held` of a bound; `reached` (by default) or
    /// `not_reached` of a search with `at_least`.
    expect: Option<LimitExpect>,
}

/// Expected outcomes of a limit of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum LimitExpect {
    /// The figure keeps to the bound.
    Held,
    /// The bound breaks.
    NotHeld,
    /// The bound is held up to the rate that is wanted.
    Reached,
    /// The bound breaks below that rate.
    NotReached,
}

/// Settings that make no limit of either kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoLimit {
    #[error(
        "a limit says what it bounds, expected `metric` with `below` or `above`, or `at_most` for a phase that searches"
    )]
    Neither,
    #[error(
        "`{0}` belongs to a search, expected `metric` with `below` or `above` alone, or `at_most` without them"
    )]
    Both(&'static str),
    #[error("a bound has one side, expected either `below` or `above`")]
    Sides,
    #[error("a bound needs `metric`, expected the name of a metric such as `p99_ms` or `error_share`")]
    NoMetric,
    #[error("this cannot be expected of a bound, expected `held` or `not_held`")]
    ExpectOfBound,
    #[error(
        "this cannot be expected of a search, expected `reached` or `not_reached`, and `at_least` with it"
    )]
    ExpectOfSearch,
}

impl TryFrom<LimitSettings> for LimitClaim {
    type Error = NoLimit;

    fn try_from(settings: LimitSettings) -> Result<Self, NoLimit> {
        let LimitSettings {
            phase,
            metric,
            below,
            above,
            at_most,
            share,
            at_least,
            precision,
            predict,
            expect,
        } = settings;
        let (side, bound) = match (below, above) {
            (Some(_), Some(_)) => return Err(NoLimit::Sides),
            (Some(bound), None) => (Side::Below, bound),
            (None, Some(bound)) => (Side::Above, bound),
            (None, None) if metric.is_some() => return Err(NoLimit::Neither),
            (None, None) => {
                let at_most = at_most.ok_or(NoLimit::Neither)?;
                let expect = match expect {
                    None => SearchExpect::default(),
                    Some(LimitExpect::Reached) if at_least.is_some() => SearchExpect::Reached,
                    Some(LimitExpect::NotReached) if at_least.is_some() => SearchExpect::NotReached,
                    Some(_) => return Err(NoLimit::ExpectOfSearch),
                };
                let share = share.unwrap_or(SearchClaim::SHARE);
                let precision = precision.unwrap_or(SearchClaim::PRECISION);
                return Ok(Self::Search(SearchClaim {
                    phase,
                    at_most,
                    share,
                    at_least,
                    precision,
                    predict,
                    expect,
                }));
            }
        };
        let of_search = [
            ("at_most", at_most.is_some()),
            ("share", share.is_some()),
            ("at_least", at_least.is_some()),
            ("precision", precision.is_some()),
            ("predict", predict.is_some()),
        ];
        if let Some((key, _)) = of_search.into_iter().find(|(_, given)| *given) {
            return Err(NoLimit::Both(key));
        }
        let metric = metric.ok_or(NoLimit::NoMetric)?;
        let expect = match expect {
            None | Some(LimitExpect::Held) => BoundExpect::Held,
            Some(LimitExpect::NotHeld) => BoundExpect::NotHeld,
            Some(_) => return Err(NoLimit::ExpectOfBound),
        };
        Ok(Self::Bound(BoundClaim { phase, metric, side, bound, expect }))
    }
}

impl From<LimitClaim> for LimitSettings {
    fn from(claim: LimitClaim) -> Self {
        match claim {
            LimitClaim::Search(claim) => Self {
                phase: claim.phase,
                at_most: Some(claim.at_most),
                share: Some(claim.share),
                at_least: claim.at_least,
                precision: Some(claim.precision),
                predict: claim.predict,
                expect: claim.at_least.map(|_| match claim.expect {
                    SearchExpect::Reached => LimitExpect::Reached,
                    SearchExpect::NotReached => LimitExpect::NotReached,
                }),
                ..Self::default()
            },
            LimitClaim::Bound(claim) => Self {
                phase: claim.phase,
                metric: Some(claim.metric),
                below: (claim.side == Side::Below).then(|| claim.bound.clone()),
                above: (claim.side == Side::Above).then_some(claim.bound),
                expect: Some(match claim.expect {
                    BoundExpect::Held => LimitExpect::Held,
                    BoundExpect::NotHeld => LimitExpect::NotHeld,
                }),
                ..Self::default()
            },
        }
    }
}
