//! `memory.reclaim`: The kernel must reclaim memory before it can allocate any.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::{Evidence, WaitFor};

use super::{
    Definition, Known, Page, by_columns, by_counters, by_functions, by_levels, by_seen, cause, changes,
    quoted,
};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "functions that reclaim memory take more CPU time (shrink_node, try_to_free_pages), and the kernel counts scanned pages. Or the control group reaches its limit more often, and reclaimed pages are read again",
        evidence_against: "memory is free, the kernel scanned no page, and no control group reached its limit",
        test: "give the machine or the control group more memory and measure again",
        remedy: "raise the limit of the control group, let programs cache less, or add memory",
    },
    find,
)
.confirmed_by(changes::more_memory);

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
        // The own group's, and those of any group of a recorded machine.
        with: &[
            "cgroup.memory.max",
            "cgroup.memory.failcnt",
            "memory.max",
            "memory.failcnt",
            "machine.pressure.memory.some",
        ],
    }
}

/// What the counters of control groups begin with, and end with.
const AT_LIMIT: (&str, &str) = ("machine.group.", ".at_limit");

/// A control group that came to its limit more often, while pages are read again or somebody waits for memory.
fn at_limit(known: &Known<'_>) -> Option<Cause> {
    let of_groups = known.evidence.iter().filter_map(|it| {
        let counter = by_levels::name(it);
        let group = counter.strip_prefix(AT_LIMIT.0)?.strip_suffix(AT_LIMIT.1)?;
        Some((group, by_counters::grown(counter, known.evidence)?))
    });
    let (group, limit) = of_groups.max_by(|a, b| a.1.after.total_cmp(&b.1.after))?;
    let again = READ_AGAIN.iter().find_map(|it| by_counters::grown(it.counter, known.evidence));
    let waits = by_seen::waits(known, WaitFor::Memory);
    if again.is_none() && waits.is_empty() {
        return None;
    }
    let evidence = [Some(limit), again].into_iter().flatten().map(quoted);
    let evidence = evidence.chain(by_seen::wait_evidence(known, &waits)).collect();
    let title = format!("{}: the control group `{group}` is at its limit", ID.title());
    Some(Cause { title, ..cause(ID, 0.9, evidence) })
}

/// The kernel's count of the time in which some task waited for memory, and the time per second, in µs, that slows no program.
const PRESSURE: &str = "machine.pressure.memory.some";
const HARDLY_FELT: f64 = 1e4;

fn is_hardly_felt(of: &Evidence) -> bool {
    by_levels::name(of) == PRESSURE && of.unit.ends_with("/second") && of.after < HARDLY_FELT
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let columns = by_columns::named(ID, 0.7, &COLUMNS, known.evidence);
    let waits = by_seen::waits(known, WaitFor::Memory);
    let scanned = ["machine.vmstat.pgscan_direct", "machine.vmstat.pgsteal_direct"];
    let scanned: Vec<_> =
        scanned.iter().filter_map(|name| by_counters::grown(name, known.evidence)).collect();
    let slept = (!waits.is_empty() && !scanned.is_empty()).then(|| {
        let evidence =
            by_seen::wait_evidence(known, &waits).into_iter().chain(scanned.into_iter().map(quoted));
        cause(ID, 0.8, evidence.collect())
    });
    let of_group = at_limit(known);
    // The named group explains the pages that its programs read again, so a second cause would repeat it.
    let read_again = READ_AGAIN.iter().filter(|_| of_group.is_none());
    let felt: Vec<Evidence> = known.evidence.iter().filter(|it| !is_hardly_felt(it)).cloned().collect();
    let read_again: Vec<Cause> = read_again.filter_map(|it| by_counters::named(ID, it, &felt)).collect();
    by_functions::named(ID, &FUNCTIONS, known)
        .into_iter()
        .chain(slept)
        .chain(of_group)
        .chain(read_again)
        .chain(columns)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::super::named;
    use super::*;

    #[test]
    fn a_group_that_is_named_is_not_named_once_more_without_its_name() {
        let evidence = [
            grew("machine", "machine.group./db.at_limit (per second)", 0.0, 900.0),
            grew("machine", "machine.vmstat.workingset_refault_file (per second)", 3.0, 40_000.0),
            grew("machine", "machine.pressure.memory.some (per second)", 9.0, 400_000.0),
        ];
        let causes = named(&Known { evidence: &evidence, ..Known::default() });
        assert_eq!(causes.len(), 1);
        assert!(causes[0].title.ends_with("`/db` is at its limit"), "{}", causes[0].title);
    }
    #[test]
    fn eleven_microseconds_of_each_second_hold_nobody_up() {
        let again = grew("machine", "machine.vmstat.workingset_refault_file (per second)", 3.0, 40_000.0);
        let waited = |after| Evidence {
            unit: "µs/second".into(),
            ..grew("machine", "machine.pressure.memory.some (per second)", 0.8, after)
        };
        assert_eq!(ids(&[again.clone(), waited(2e5)]), [ID]);
        assert!(ids(&[again, waited(10.9)]).is_empty());
    }
}
