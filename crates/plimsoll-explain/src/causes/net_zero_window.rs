//! `net.zero_window`: The receiving program does not read the data that has arrived.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_stalls};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the receiver announces a window of 0, and the kernel counts such announcements. Or the window stays full until the program reads, and TCP_INFO names it as the limit",
        evidence_against: "windows stay open, or the sender has nothing to send",
        test: "make the receiving program read faster, or discard the data: the stalls disappear",
        remedy: "the receiving program is too slow: reduce its work per byte, or give it more CPU",
    },
    find,
);

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::ZeroWindow],
    counters: &["netstat.TcpExt.TCPToZeroWindowAdv", "netstat.TcpExt.TCPWantZeroWindowAdv"],
    // A window that is only too small is never announced as 0.
    is_counted: false,
    required: None,
    window: true,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetZeroWindow, &STALLS, known.stalls).into_iter().collect()
}
