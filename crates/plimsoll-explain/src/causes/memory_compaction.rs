//! `memory.compaction`: Allocations wait while the kernel moves pages to make room for a huge one.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_functions};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts allocations that had to compact memory first (compact_stall) and scanned for it, or CPU time was added in compact_zone",
        evidence_against: "compact_stall stands still; memory is free in large blocks (/proc/buddyinfo)",
        test: "set /sys/kernel/mm/transparent_hugepage/defrag to `defer` or `madvise` and measure again",
        remedy: "set transparent_hugepage/defrag to `defer+madvise`, or enabled to `madvise`; keep more memory free (vm.min_free_kbytes)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::MemoryCompaction;
/// What must have been counted: mm/compaction.c and mm/page_alloc.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "machine.vmstat.compact_stall",
    least: 0.005,
    with: &[
        "machine.vmstat.compact_migrate_scanned",
        "machine.vmstat.compact_free_scanned",
        "machine.vmstat.compact_fail",
        "machine.vmstat.thp_fault_fallback",
    ],
};
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &["compact_zone", "isolate_migratepages_block", "try_to_compact_pages"],
    with: &["machine.vmstat.compact_stall", "machine.vmstat.compact_migrate_scanned"],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let counted = by_counters::named(ID, &COUNTERS, known.evidence);
    counted.into_iter().chain(by_functions::named(ID, &FUNCTIONS, known)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn stalls_with_pages_that_were_scanned_are_compaction() {
        let stall = grew("machine", "machine.vmstat.compact_stall (per second)", 0.0, 30.0);
        let scanned = grew("machine", "machine.vmstat.compact_migrate_scanned (per second)", 0.0, 9e5);
        assert_eq!(ids(&[stall.clone(), scanned]), [ID]);
        assert!(ids(&[stall]).is_empty());
    }
}
