//! `kernel.clocksource`: The kernel gave up its fast clock, and each question for the time goes to a slow device.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_functions, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel logs that it marked its clocksource unstable or switched to hpet, or CPU time was added in read_hpet or acpi_pm_read",
        evidence_against: "/sys/devices/system/clocksource/clocksource0/current_clocksource is tsc, kvm-clock or arch_sys_counter",
        test: "start with `tsc=reliable` (where that is true) or set current_clocksource, and measure again",
        remedy: "mend what makes the TSC unstable (firmware, host), or set the clocksource that the hypervisor recommends",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::KernelClocksource;
/// The functions are those of arch/x86/kernel/hpet.c and drivers/clocksource/acpi_pm.c.
const FUNCTIONS: by_functions::Signature =
    by_functions::Signature { functions: &["read_hpet", "acpi_pm_read"], with: &["kernel_log.clocksource"] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    let logged = by_levels::above(&["kernel_log.clocksource"], 0.0, known.evidence);
    let logged = logged.map(|it| by_levels::shown(ID, 0.8, &[Some(it)]));
    logged.into_iter().flatten().chain(by_functions::named(ID, &FUNCTIONS, known)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn the_kernel_says_that_it_gave_its_clock_up() {
        assert_eq!(ids(&[grew("machine", "kernel_log.clocksource (level)", 0.0, 2.0)]), [ID]);
        assert!(ids(&[grew("machine", "kernel_log.clocksource (level)", 2.0, 0.0)]).is_empty());
    }
}
