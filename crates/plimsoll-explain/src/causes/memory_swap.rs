//! `memory.swap`: The kernel writes memory to swap, and programs wait to read it back.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::WaitFor;

use super::{Change, Definition, Known, Page, When, by_counters, by_seen};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the kernel counts pages that it wrote to swap and read from swap (pswpin, pswpout)",
        evidence_against: "nothing is read from swap. Memory is free",
        test: "give the machine or the control group more memory, or disable swap, and measure again",
        remedy: "raise the memory limit, let programs cache less, or add memory",
    },
    when: When::Always,
    find,
    change: Change::more_memory,
};

/// What must have been counted: mm/page_io.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "machine.vmstat.pswpin",
    least: 0.005,
    with: &["machine.vmstat.pswpout", "machine.vmstat.pgmajfault"],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let waits = by_seen::waits(known, WaitFor::Memory);
    by_counters::named(CauseId::MemorySwap, &COUNTERS, known.evidence)
        .map(|found| {
            let told = by_seen::told_waits(known, &waits);
            Cause { evidence: found.evidence.into_iter().chain(told).collect(), ..found }
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn pages_that_come_back_from_swap_are_told_and_those_that_only_leave_are_not() {
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
