//! `memory.oom`: Memory has run out, and the kernel kills a process to free some.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_calls, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel killed a process on the worse side (tracepoint oom/mark_victim) and names it",
        evidence_against: "processes exited on their own, or another process sent the signal",
        test: "give the machine or the control group more memory and measure again: no process is killed",
        remedy: "raise the memory limit, let programs cache less, or find what leaks memory",
    },
    find,
)
.confirmed_by(changes::more_memory);

fn find(known: &Known<'_>) -> Vec<Cause> {
    let (own, mut elsewhere) = by_calls::killed(known);
    // Beside strangers, one of them that lacks memory says nothing of what is measured.
    if known.measured.is_beside_strangers {
        elsewhere.clear();
    }
    // Whoever is killed elsewhere may have had a limit of its own.
    let (confidence, killed) = if own.is_empty() { (0.5, elsewhere) } else { (0.95, own) };
    if killed.is_empty() {
        return Vec::new();
    }
    vec![cause(CauseId::MemoryOom, confidence, by_calls::call_evidence(&killed).collect())]
}
