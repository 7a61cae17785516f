//! What is to be judged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeliveryExpect, DiagnoseClaim, DifferenceExpect, GrowthClaim, HopsClaim, HysteresisClaim,
    InteractionExpect, KneeClaim, LimitClaim, LoadCurveClaim, LossCurveClaim, Metric, ModesClaim,
    RecoveryExpect, SourceClaim, WinnerClaim, forget_default,
};
use crate::units::{Share, Span};
use crate::verdict::Expected;

kinds! {
    /// Something to be judged. Exactly one of the kinds is given.
    pub enum Claim, a table that is "the claim", read as ClaimTable {
        /// The figure comes back, or does not: after against baseline, adjusted by the control.
        recovery: Recovery(RecoveryClaim),
        /// Two levels of a factor, or two cells, compare as expected.
        difference: Difference(DifferenceClaim),
        /// Two factors act on each other, or do not.
        interaction: Interaction(InteractionClaim),
        /// A load that rises and falls meets the same figures on its way down as on its way up.
        hysteresis: Hysteresis(HysteresisClaim),
        /// All mail that was acknowledged arrives, and none is spoiled.
        delivery: Delivery(DeliveryClaim),
        /// The CPUs of a host behave as a queue that theory knows.
        load_curve: LoadCurve(LoadCurveClaim),
        /// TCP's rate over the loss of a path keeps to the formulas.
        loss_curve: LossCurve(LossCurveClaim),
        /// The hops of a path can be told apart.
        hops: Hops(HopsClaim),
        /// A path is good enough for TCP at a rate and a round-trip time.
        diagnose: Diagnose(DiagnoseClaim),
        /// Datagrams are lost from an offered rate on.
        knee: Knee(KneeClaim),
        /// A figure keeps to a bound; or so many requests per second are the most that hold a bound of latency.
        limit: Limit(LimitClaim),
        /// Measurements gather in one place, or in several.
        modes: Modes(ModesClaim),
        /// What was read came from memory, or from the device.
        source: Source(SourceClaim),
        /// The time of a messaging load grows in a known way with the number of its workers.
        growth: Growth(GrowthClaim),
        /// One level of a factor is the best, for each phase and each combination of the others' levels.
        winner: Winner(WinnerClaim),
    }
}

impl Claim {
    /// The claim's name, a phase that it is about, and its metric, where that may be left to the phase's load.
    pub(super) fn usual_metric_mut(&mut self) -> Option<(&'static str, &str, &mut Metric)> {
        match self {
            Self::Recovery(it) => Some(("recovery", &it.baseline, &mut it.metric)),
            Self::Difference(it) => Some(("difference", &it.phase, &mut it.metric)),
            Self::Interaction(it) => Some(("interaction", &it.phase, &mut it.metric)),
            _ => None,
        }
    }

    /// What is expected; nothing for a kind whose outcome has no sides.
    #[must_use]
    pub fn expected(&self) -> Option<Expected> {
        match self {
            Self::Recovery(it) => Some(it.expect.into()),
            Self::Difference(it) => Some(it.expect.into()),
            Self::Interaction(it) => Some(it.expect.into()),
            Self::Hysteresis(it) => Some(it.expect.into()),
            Self::Delivery(it) => Some(it.expect.into()),
            Self::Diagnose(it) => Some(it.expect.into()),
            Self::Modes(it) => Some(it.expect.into()),
            Self::Limit(LimitClaim::Search(it)) => Some(it.expect.into()),
            Self::Limit(LimitClaim::Bound(it)) => Some(it.expect.into()),
            Self::LoadCurve(_)
            | Self::LossCurve(_)
            | Self::Hops(_)
            | Self::Knee(_)
            | Self::Source(_)
            | Self::Growth(_)
            | Self::Winner(_) => None,
        }
    }

    /// The figures that it is about: the claim's name, the phase that measures, and the metric.
    pub(crate) fn figures(&self) -> Vec<(&'static str, &str, Metric)> {
        match self {
            Self::Recovery(it) => vec![("recovery", &it.baseline, it.metric)],
            Self::Difference(it) => vec![("difference", &it.phase, it.metric)],
            Self::Interaction(it) => vec![("interaction", &it.phase, it.metric)],
            Self::Hysteresis(it) => vec![("hysteresis", &it.phase, it.metric)],
            Self::Modes(it) => vec![("modes", &it.phase, it.metric)],
            Self::Limit(LimitClaim::Bound(it)) => vec![("limit", &it.phase, it.metric)],
            Self::Winner(it) => it.phases.iter().map(|phase| ("winner", phase.as_str(), it.metric)).collect(),
            Self::Limit(LimitClaim::Search(_))
            | Self::Delivery(_)
            | Self::LoadCurve(_)
            | Self::LossCurve(_)
            | Self::Hops(_)
            | Self::Diagnose(_)
            | Self::Knee(_)
            | Self::Source(_)
            | Self::Growth(_) => Vec::new(),
        }
    }

    /// Whether it compares cells with each other.
    #[must_use]
    pub fn compares_cells(&self) -> bool {
        matches!(self, Self::Difference(_) | Self::Interaction(_))
    }
}

/// The figure after the flood is as good as before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryClaim {
    /// The measured phase before.
    pub baseline: String,
    /// The measured phase after; every repetition counts.
    pub after: String,
    /// How much less is still as good (more than 0, less than 1).
    #[serde(default = "RecoveryClaim::default_margin")]
    pub margin: Share,
    /// What is compared; by default what is usually asked of the load that is measured: connections per second where each carries one
    /// request, else requests per second; bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: RecoveryExpect,
}

impl RecoveryClaim {
    fn default_margin() -> Share {
        Share(0.05)
    }
}

/// All mail that was acknowledged arrives at a sink, and none of it is spoiled. Mail that arrives twice is counted; that a relay delivers
/// a message again after a crash is allowed (RFC 5321, section 4.1.1.4), unless the claim says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryClaim {
    /// The sink.
    pub sink: String,
    /// How long to wait for it after the last phase.
    #[serde(default = "DeliveryClaim::default_within")]
    pub within: Span,
    /// Whether a message may arrive more than once.
    #[serde(default = "DeliveryClaim::default_doubles")]
    pub doubles: bool,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: DeliveryExpect,
}

impl DeliveryClaim {
    fn default_within() -> Span {
        Span::secs(30)
    }
    fn default_doubles() -> bool {
        true
    }
}

/// Every other level of a factor is compared with its first, or every other cell with one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DifferenceClaim {
    /// The measured phase.
    pub phase: String,
    /// The factor. Give this or `against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// The cell that all others are compared with: a level for every factor. Give this or `factor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against: BTreeMap<String, serde_json::Value>,
    /// How small a difference counts as none (more than 0, less than 1). Of a metric that is a share it is in percentage points.
    #[serde(default = "DifferenceClaim::default_margin")]
    pub margin: Share,
    /// What is compared; by default what is usually asked of the load that is measured: connections per second where each carries one
    /// request, else requests per second; bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: DifferenceExpect,
}

impl DifferenceClaim {
    pub(crate) fn default_margin() -> Share {
        Share(0.02)
    }
}

/// Whether the effect of one factor depends on the level of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InteractionClaim {
    /// The measured phase.
    pub phase: String,
    /// The factors.
    pub factors: Vec<String>,
    /// How small an interaction counts as none (more than 0, less than 1). Of a metric that is a share it is in percentage points.
    #[serde(default = "InteractionClaim::default_margin")]
    pub margin: Share,
    /// What is compared; by default what is usually asked of the load that is measured: connections per second where each carries one
    /// request, else requests per second; bits per second of bulk transfers, datagrams, messages per minute of mail, megabytes of storage.
    #[serde(default)]
    #[schemars(transform = forget_default)]
    pub metric: Metric,
    /// What is expected: the claim holds when that is found.
    #[serde(default)]
    pub expect: InteractionExpect,
}

impl InteractionClaim {
    fn default_margin() -> Share {
        Share(0.05)
    }
}
