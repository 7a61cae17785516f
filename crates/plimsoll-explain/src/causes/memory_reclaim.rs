//! `memory.reclaim`: The kernel must reclaim memory before it can allocate any.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::WaitFor;

use super::{
    Change, Definition, Known, Page, When, by_columns, by_counters, by_functions, by_seen, cause, quoted,
};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "functions that reclaim memory take more CPU time (shrink_node, try_to_free_pages), and the kernel counts scanned pages. Or the control group reaches its limit more often, and reclaimed pages are read again",
        evidence_against: "memory is free, the kernel scanned no page, and no control group reached its limit",
        test: "give the machine or the control group more memory and measure again",
        remedy: "raise the limit of the control group, let programs cache less, or add memory",
    },
    when: When::Always,
    find,
    change: Change::more_memory,
};

const ID: CauseId = CauseId::MemoryReclaim;
/// Columns of vmstat and sar that count what the kernel writes to swap, and what it looks through for memory to take back.
const COLUMNS: [&str; 5] = ["so", "pswpout/s", "pgscank/s", "pgscand/s", "pgsteal/s"];
/// The functions are those of mm/vmscan.c.
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &[
        "shrink_node",
        "shrink_lruvec",
        "try_to_free_pages",
        "try_to_free_mem_cgroup_pages",
        "balance_pgdat",
    ],
    with: &["machine.vmstat.pgscan", "machine.vmstat.allocstall", "machine.vmstat.pgsteal"],
};

/// What counts where only a control group lacks memory: pages that were taken back are read again (mm/workingset.c), and it came to its limit
/// (mm/memcontrol.c; version 2, version 1) or tasks waited for memory (kernel/sched/psi.c). The limit is reached once for many pages, so that it is no measure
/// for each operation; and the machine's counts of scanned pages leave out what control groups scan (mm/vmscan.c).
const READ_AGAIN: [by_counters::Signature; 2] =
    [refaults("machine.vmstat.workingset_refault_file"), refaults("machine.vmstat.workingset_refault_anon")];

const fn refaults(counter: &'static str) -> by_counters::Signature {
    by_counters::Signature {
        counter,
        least: 0.001,
        with: &["cgroup.memory.max", "cgroup.memory.failcnt", "machine.pressure.memory.some"],
    }
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let columns = by_columns::named(ID, 0.7, &COLUMNS, known.evidence);
    let waits = by_seen::waits(known, WaitFor::Memory);
    let scanned = ["machine.vmstat.pgscan_direct", "machine.vmstat.pgsteal_direct"];
    let scanned: Vec<_> =
        scanned.iter().filter_map(|name| by_counters::grown(name, known.evidence)).collect();
    let slept = (!waits.is_empty() && !scanned.is_empty()).then(|| {
        let evidence = by_seen::told_waits(known, &waits).into_iter().chain(scanned.into_iter().map(quoted));
        cause(ID, 0.8, evidence.collect())
    });
    let read_again = READ_AGAIN.iter().filter_map(|it| by_counters::named(ID, it, known.evidence));
    by_functions::named(ID, &FUNCTIONS, known)
        .into_iter()
        .chain(slept)
        .chain(read_again)
        .chain(columns)
        .collect()
}
