//! The receiver closed its window: its program did not read.

use crate::stalls::class::{Actor, Class};
use crate::stalls::time::ms;

use super::Finding;

/// `receiver` announced a window of zero, and `length` ns later one of `opened_to` bytes.
pub(in crate::stalls) fn judge(receiver: Actor, length: u64, opened_to: Option<u32>) -> Finding {
    let end = match opened_to {
        Some(window) => format!("announced a window of zero, and one of {window} bytes {:.1} ms later", ms(length)),
        None => format!("announced a window of zero, and no other in the {:.1} ms until the end", ms(length)),
    };
    Finding { class: Class::ZeroWindow, waiting_for: receiver, evidence: format!("the {receiver} {end}") }
}
