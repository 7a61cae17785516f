//! `memory.swap`: The kernel writes memory to swap, and programs wait to read it back.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::WaitFor;

use super::{Definition, Known, Page, by_columns, by_counters, by_seen, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts pages that it wrote to swap and read from swap (pswpin, pswpout)",
        evidence_against: "nothing is read from swap. Memory is free",
        test: "give the machine or the control group more memory, or disable swap, and measure again",
        remedy: "raise the memory limit, let programs cache less, or add memory",
    },
    find,
)
.confirmed_by(changes::more_memory);

/// What must have been counted: mm/page_io.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "machine.vmstat.pswpin",
    least: 0.005,
    with: &["machine.vmstat.pswpout", "machine.vmstat.pgmajfault"],
};

/// Columns of vmstat and sar: pages that come back from swap, and those that leave.
const READ: [&str; 2] = ["si", "pswpin/s"];
const WRITTEN: [&str; 3] = ["so", "pswpout/s", "majflt/s"];

/// The columns of pages that come and go, where both grew.
fn by_table(known: &Known<'_>) -> Option<Cause> {
    let read = by_columns::named(CauseId::MemorySwap, 0.85, &READ, known.evidence)?;
    let written = by_columns::named(CauseId::MemorySwap, 0.85, &WRITTEN, known.evidence)?;
    Some(Cause { evidence: read.evidence.into_iter().chain(written.evidence).collect(), ..read })
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let waits = by_seen::waits(known, WaitFor::Memory);
    by_counters::named(CauseId::MemorySwap, &COUNTERS, known.evidence)
        .map(|found| {
            let waited = by_seen::wait_evidence(known, &waits);
            Cause { evidence: found.evidence.into_iter().chain(waited).collect(), ..found }
        })
        .into_iter()
        .chain(by_table(known))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn a_storm_in_a_table_of_vmstat_is_swapping_before_it_is_reclaim() {
        let [read, written] =
            ["si", "so"].map(|it| grew("vmstat", &format!("{it} (per second)"), 0.0, 9000.0));
        let evidence = [read, written];
        let causes = named(&Known { evidence: &evidence, ..Known::default() });
        assert_eq!(causes[0].id, CauseId::MemorySwap);
    }

    #[test]
    fn pages_that_come_back_from_swap_are_named_and_those_that_only_leave_are_not() {
        let [swapped_in, swapped_out] = ["pswpin", "pswpout"]
            .map(|it| grew("machine", &format!("machine.vmstat.{it} (per operation)"), 0.0, 4.0));
        let ids = |evidence: &[_]| {
            let causes = named(&Known { evidence, ..Known::default() });
            causes.iter().map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[swapped_in, swapped_out.clone()]), [CauseId::MemorySwap]);
        assert!(ids(&[swapped_out]).is_empty());
    }
}
