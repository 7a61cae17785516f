//! The packets that would tell are not in the capture: something was acknowledged that was never seen.

use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, were};

/// `unseen` bytes were acknowledged by the packet that ended a silence of `length` ns, or soon after it.
pub(in crate::stalls) fn judge(length: u64, unseen: u32) -> Finding {
    Finding {
        class: Class::CaptureGap,
        waiting_for: Actor::Capture,
        evidence: format!(
            "{} acknowledged that the capture lacks, after {:.1} ms without packets",
            were(unseen),
            ms(length)
        ),
    }
}
