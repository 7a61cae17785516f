//! Shapes of one direction of a link.

use plimsoll_model::units::QueueLength;
use serde::{Deserialize, Serialize};

/// One direction of a link. The default does nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkShape {
    /// The rate of Ethernet frames, in bits per second; without it, any.
    pub rate_bits: Option<u64>,
    /// Travel time of a frame, in nanoseconds.
    pub delay_ns: u64,
    /// Largest deviation of the travel time, uniformly distributed, in nanoseconds; frames keep their order.
    pub jitter_ns: u64,
    /// The share of frames that are lost (0 to 1).
    pub loss: f64,
    /// Mean number of frames lost in a row; a value below that of pure chance means pure chance.
    pub loss_burst: f64,
    /// The share of frames that do not travel but come out as soon as they are sent, and so overtake others (0 to 1).
    pub reorder: f64,
    /// Limit of the queue of a link with a rate, beside the frame that is being sent.
    pub queue: QueueLength,
}

impl Default for LinkShape {
    fn default() -> Self {
        Self {
            rate_bits: None,
            delay_ns: 0,
            jitter_ns: 0,
            loss: 0.0,
            loss_burst: 0.0,
            reorder: 0.0,
            // As netem has it (tc-netem(8)).
            queue: QueueLength::Packets(1000),
        }
    }
}

impl LinkShape {
    /// Gilbert's model: in the bad state every frame is lost, in the good one none (Bell System Technical Journal 39, 1960). The
    /// probabilities, at each frame, to go from the good state to the bad one, and back; `None` if no frame is lost, or each. A mean burst
    /// of 1/(1 - loss) frames is chance without memory.
    pub(crate) fn gilbert(&self) -> Option<(f64, f64)> {
        let loss = self.loss;
        (loss > 0.0 && loss < 1.0).then(|| {
            let to_good = 1.0 / self.loss_burst.max(1.0 / (1.0 - loss));
            ((to_good * loss / (1.0 - loss)).min(1.0), to_good)
        })
    }
}
