//! The path held a packet: its time stamp (RFC 7323) says that it was sent long before it was captured.

use crate::stalls::gap::Gap;
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by, ender};

/// A silence that a packet ended which the path had held for so long, in nanoseconds.
pub(in crate::stalls) fn judge(gap: &Gap, held: u64) -> Finding {
    Finding {
        class: Class::PathDelay,
        waiting_for: Actor::Path,
        evidence: format!(
            "{} of the {} arrived after {:.1} ms; by the time stamp the path had held them for at least {:.1} ms",
            ended_by(gap),
            ender(gap),
            ms(gap.length()),
            ms(held)
        ),
    }
}
