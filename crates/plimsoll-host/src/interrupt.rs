//! Interrupts of a construction.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::HostError;

/// Fails once the user has interrupted it.
pub(crate) fn go_on(interrupt: &AtomicBool) -> Result<(), HostError> {
    if interrupt.load(Ordering::Acquire) { Err(HostError::Interrupted) } else { Ok(()) }
}
