//! `cpu.kernel_saturated`: The CPUs are busy, and most of what was added is the kernel's.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_columns, by_functions, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "hardly a CPU is idle, and most of the CPU time that each operation takes more is spent in the kernel",
        evidence_against: "CPUs are idle; the time that was added is the program's",
        test: "give the hosts more CPUs: the rate rises with them",
        remedy: "the profile names the functions of the kernel that take the time; avoid what calls them, or add CPUs",
    },
    when: When::NothingElse,
    find,
    change: by_hand,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let saved = known.saved.iter().filter_map(|it| by_columns::saturated(it, known.evidence));
    let sampled = by_functions::saturated(known.profile);
    sampled.into_iter().chain(saved).filter(|cause| cause.id == CauseId::CpuKernelSaturated).collect()
}
