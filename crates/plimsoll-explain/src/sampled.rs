//! Samples of one side of a comparison.

use plimsoll_model::observation::Profile;

/// The samples of one side, and for how many connections or operations.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The stacks.
    pub profile: Profile,
    /// Connections or operations that were carried out meanwhile.
    pub operations: u64,
    /// How long that took, in seconds.
    pub seconds: f64,
}
