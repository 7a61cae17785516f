//! `cpu.pinned`: The service may use fewer CPUs than the machine has.

use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::StateKind;

use super::{Definition, Page, by_seen, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the CPUs that the service may use are fewer (Cpus_allowed_list, cpuset). Its threads wait longer for a CPU",
        evidence_against: "it may use the same CPUs as before. Its threads never wait for one",
        test: "let the service use all CPUs (taskset -ap, cpuset.cpus) and measure again",
        remedy: "find who pins it: taskset, CPUAffinity of its unit, a cpuset, or the program itself",
    },
    |known| {
        by_seen::scheduled(CauseId::CpuPinned, known, &[StateKind::WithheldCpus]).into_iter().collect()
    },
)
.confirmed_by(|experiment| {
    let command = "for p in $pids; do taskset -a -c -p 0-$(($(nproc --all) - 1)) $p >/dev/null; done";
    changes::of_processes("with all CPUs for the service", command, experiment)
});
