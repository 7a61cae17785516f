//! `cpu.user_saturated`: The CPUs are busy, and most of what was added is the program's.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_columns, by_functions, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "hardly a CPU is idle, and most of the CPU time that each operation takes more is spent in a program",
        evidence_against: "CPUs are idle; the time that was added is the kernel's",
        test: "give the program more CPUs: the rate rises with them",
        remedy: "the profile names the program's functions that take the time; make them cheaper, or add CPUs",
    },
    when: When::NothingElse,
    find,
    change: by_hand,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let saved = known.saved.iter().filter_map(|it| by_columns::saturated(it, known.evidence));
    let sampled = by_functions::saturated(known.profile);
    sampled.into_iter().chain(saved).filter(|cause| cause.id == CauseId::CpuUserSaturated).collect()
}
