//! Programs of the user's own. Who starts programs confines them, which is the agent's work: none is started here.

use plimsoll_model::experiment::ExecLoad;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::LoadResult;

use super::Control;
use crate::failure::other;

/// Refuses it.
///
/// # Errors
/// Always.
pub(super) fn run(_spec: &LoadSpec, _load: &ExecLoad, _control: &Control<'_>) -> Result<LoadResult, Failure> {
    Err(other("run a program", &"the agent does that"))
}
