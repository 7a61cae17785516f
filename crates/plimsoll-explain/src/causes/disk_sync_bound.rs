//! `disk.sync_bound`: The service waits for flushes of the disk, and requests them more often.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_calls};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the service itself calls fsync more often per operation and per second, and the device flushes more often",
        evidence_against: "another process calls fsync. The device flushes no more often",
        test: "make the service flush as rarely as before (its own settings), and measure again",
        remedy: "combine several writes in one flush, or use a device with power-loss protection",
    },
    find,
);

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_calls::flushed(CauseId::DiskSyncBound, &by_calls::syncs(known).own, known.evidence)
        .into_iter()
        .collect()
}
