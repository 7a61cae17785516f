//! A retransmission timeout (RFC 6298): nothing told the sender of the loss, and its timer ran out.

use crate::stalls::recovery::Recovery;
use crate::stalls::rtt::{self, Rtt};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::Finding;

pub(super) fn judge(recovery: &Recovery, sender: Actor, rtt: Option<Rtt>) -> Finding {
    let timeouts = match recovery.timeouts {
        0 | 1 => "a timer ran out".to_owned(),
        count => format!("timers ran out {count} times"),
    };
    Finding {
        class: Class::Rto,
        waiting_for: sender,
        evidence: format!(
            "with {} bytes in flight {timeouts}: sent again first after {:.1} ms, last after {:.1} ms (timeout about \
             {:.0} ms); nothing had told of a loss",
            recovery.in_flight,
            ms(recovery.first_resent.saturating_sub(recovery.start)),
            ms(recovery.last_resent.saturating_sub(recovery.start)),
            ms(rtt::rto(rtt)),
        ),
    }
}
