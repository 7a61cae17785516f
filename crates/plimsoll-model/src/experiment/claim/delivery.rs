//! The claim that mail which was acknowledged arrives.

use super::{ClaimKind, ClaimPlace};
use crate::experiment::prelude::*;
use crate::experiment::problem::mail_sink;

/// All mail that was acknowledged arrives at a sink, and none of it is spoiled. Mail that arrives twice is counted; that a relay delivers
/// a message again after a crash is allowed (RFC 5321, section 4.1.1.4), unless the claim says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryClaim {
    /// The sink.
    pub sink: String,
    /// How long to wait for it after the last phase.
    #[serde(default = "Span::of_secs::<30>")]
    pub within: Span,
    /// Whether a message may arrive more than once.
    #[serde(default = "DeliveryClaim::default_doubles")]
    pub doubles: bool,
    /// Expected outcome; the claim holds when the verdict has it.
    #[serde(default)]
    pub expect: DeliveryExpect,
}

impl DeliveryClaim {
    fn default_doubles() -> bool {
        true
    }
}

expectations! {
    /// Expected outcome of a delivery claim.
    DeliveryExpect {
        /// All acknowledged mail arrives.
        Delivered "delivered": Delivered,
        /// Some of it does not.
        NotDelivered "not_delivered": NotDelivered,
    }
}

impl ClaimKind for DeliveryClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        mail_sink(at.experiment, &self.sink, at.key("sink"))
    }

    fn describe(&self) -> String {
        let (sink, within) = (&self.sink, self.within);
        let does = match self.expect {
            DeliveryExpect::Delivered => "all mail that is acknowledged arrives",
            DeliveryExpect::NotDelivered => "some mail that is acknowledged does not arrive",
        };
        format!("{does} whole at {sink} within {within} after the last phase")
    }

    follows_from!(expect);
}

/// Fate of the mail, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryDetails {
    /// The sink.
    pub sink: String,
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// Acknowledged messages that arrived.
    pub arrived: u64,
    /// Acknowledged messages that did not arrive.
    pub lost: u64,
    /// Messages that arrived more than once.
    pub doubled: u64,
    /// Messages that did not arrive as they were sent.
    pub corrupted: u64,
}
