//! The claim about where a path begins to lose datagrams.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::verdict::Interval;

/// Datagrams are lost from an offered rate on: the knee is the rate that the path carries. The measured load is `udp`; every cell becomes a point,
/// of what was offered and the share that did not arrive. Bits are those of datagrams, without headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KneeClaim {
    /// The measured phase.
    pub phase: String,
    /// The factors whose levels are points of one curve, such as the rate of the load. Every combination of levels of the others is a
    /// curve of its own.
    pub over: Vec<String>,
}

impl ClaimKind for KneeClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if at.load(&self.phase)?.is_none_or(|load| load.kind.udp().is_none()) {
            let message = "this phase does not send datagrams";
            return Err(problem(at.key("phase"), message, "a load with `udp`"));
        }
        at.points(&self.over)
    }

    fn describe(&self) -> String {
        format!("datagrams of {} are lost from a rate on, over {}", self.phase, self.over.join(" and "))
    }

    follows_from!(phase);
}

/// The loss of datagrams over the rate that was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeDetails {
    /// The levels of the factors that set this curve apart.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// The offered rate from which on more is lost, in bit/s; null where there is no knee.
    pub knee_bits_per_second: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The points, by rising rate.
    pub points: Vec<KneePointReport>,
    /// Pairs of offered bit/s and the share that a link of that rate loses, to be drawn; empty where there is no knee.
    pub curve: Vec<[f64; 2]>,
}

/// Fate of datagrams at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneePointReport {
    /// Rate that was sent, in bit/s of datagrams.
    pub offered_bits_per_second: f64,
    /// Arrived rate, likewise.
    pub arrived_bits_per_second: f64,
    /// The share that did not arrive.
    pub loss: f64,
}

impl KneePointReport {
    /// A rate in bit/s, of which a share did not arrive.
    pub fn new(offered_bits_per_second: f64, loss: f64) -> Self {
        Self {
            offered_bits_per_second,
            arrived_bits_per_second: offered_bits_per_second * (1.0 - loss),
            loss,
        }
    }
}
