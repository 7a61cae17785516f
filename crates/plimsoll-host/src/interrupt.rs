//! Whether the user still wants what is being made.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::HostError;

/// Ends what is being made, where that is wanted.
pub(crate) fn go_on(interrupt: &AtomicBool) -> Result<(), HostError> {
    if interrupt.load(Ordering::Acquire) { Err(HostError::Interrupted) } else { Ok(()) }
}
