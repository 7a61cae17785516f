//! `cpu.pinned`: The service may use fewer CPUs than the machine has.

use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::StateKind;

use super::{Definition, Page, When, by_hand, by_seen};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the CPUs that the service may use are fewer (Cpus_allowed_list, cpuset). Its threads wait longer for a CPU",
        evidence_against: "it may use the same CPUs as before. Its threads never wait for one",
        test: "let the service use all CPUs (taskset -ap, cpuset.cpus) and measure again",
        remedy: "find who pins it: taskset, CPUAffinity of its unit, a cpuset, or the program itself",
    },
    when: When::Always,
    find: |known| {
        by_seen::scheduled(CauseId::CpuPinned, known, &[StateKind::WithheldCpus]).into_iter().collect()
    },
    change: by_hand,
};
