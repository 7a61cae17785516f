//! `memory.remote_numa`: Programs use memory of another NUMA node, because their own has none free.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts pages that it had to take from another node (numa_miss, numa_foreign) and that programs of another node got (numa_other)",
        evidence_against: "the machine has one node; numa_miss stands still",
        test: "bind the program to one node (numactl --cpunodebind --membind) and measure again",
        remedy: "bind programs to the node of their memory, spread them, or set vm.zone_reclaim_mode",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::MemoryRemoteNuma;
/// What must have been counted: mm/page_alloc.c, `zone_statistics`.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "machine.vmstat.numa_miss",
    least: 1.0,
    with: &["machine.vmstat.numa_foreign", "machine.vmstat.numa_other"],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_counters::named(ID, &COUNTERS, known.evidence).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn pages_of_another_node_are_named() {
        let missed = grew("machine", "machine.vmstat.numa_miss (per second)", 0.0, 5000.0);
        let other = grew("machine", "machine.vmstat.numa_other (per second)", 10.0, 5000.0);
        assert_eq!(ids(&[missed.clone(), other]), [ID]);
        assert!(ids(&[missed]).is_empty());
    }
}
