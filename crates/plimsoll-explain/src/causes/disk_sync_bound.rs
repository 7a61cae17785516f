//! `disk.sync_bound`: The service waits for the disk to make durable what it has written, and does so more often.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_calls, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the service itself calls fsync more often for each operation and in each second, and the device flushes more often",
        evidence_against: "somebody else calls fsync; the device flushes no more often",
        test: "let it flush as seldom as before (its own settings), and measure again",
        remedy: "gather several writes in one flush, or use a device that keeps what it was given without power",
    },
    when: When::Always,
    find,
    change: by_hand,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_calls::flushed(CauseId::DiskSyncBound, &by_calls::syncs(known).own, known.evidence)
        .into_iter()
        .collect()
}
