//! `limit.file_descriptors`: A process has as many files and sockets open as it may.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_counters, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "calls fail with EMFILE or ENFILE: the process, or the machine, may have no more files and sockets open",
        evidence_against: "connections are refused by the other side",
        test: "raise the limit (ulimit -n, fs.file-max) and measure again: the errors are gone",
        remedy: "raise RLIMIT_NOFILE of the process (LimitNOFILE of a systemd unit), or find what it does not close",
    },
    when: When::Always,
    find,
    change: by_hand,
};

/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_descriptor", least: 0.005, with: &[] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_counters::named(CauseId::LimitFileDescriptors, &COUNTERS, known.evidence).into_iter().collect()
}
