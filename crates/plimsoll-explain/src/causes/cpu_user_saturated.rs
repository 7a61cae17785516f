//! `cpu.user_saturated`: The CPUs are busy, and a program uses most of the additional time.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_columns, by_functions};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "hardly any CPU is idle. Each operation takes more CPU time, mostly in a program",
        evidence_against: "CPUs are idle. The kernel uses the additional time",
        test: "give the program more CPUs: the rate rises with them",
        remedy: "the profile names the functions of the program that use the time. Make them cheaper, or add CPUs",
    },
    find,
)
.of_use()
.where_nothing_else_fits();

fn find(known: &Known<'_>) -> Vec<Cause> {
    let saved = known.saved.iter().filter_map(|it| by_columns::saturated(it, known.evidence));
    let sampled = by_functions::one_function(known).or_else(|| by_functions::saturated(known));
    sampled.into_iter().chain(saved).filter(|cause| cause.id == CauseId::CpuUserSaturated).collect()
}
