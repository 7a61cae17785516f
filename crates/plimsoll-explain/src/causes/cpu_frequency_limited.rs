//! `cpu.frequency_limited`: CPUs run at a lower frequency, because of heat, power or a governor.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel logs or counts that it throttled CPUs for heat (core_throttle_count), and their frequency fell",
        evidence_against: "the frequency is as before; the load is lower, so that CPUs may slow down",
        test: "cool the machine, or set the governor to `performance`, and measure again",
        remedy: "clear the fans, lift the power limit, set the governor to `performance`",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::CpuFrequencyLimited;
/// What the kernel logs and counts: arch/x86/kernel/cpu/mce/therm_throt.c.
const THROTTLED: [&str; 3] = ["kernel_log.thermal", "cpu.core_throttled", "cpu.package_throttled"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let throttled = by_levels::above(&THROTTLED, 0.0, known.evidence);
    let slower =
        known.evidence.iter().find(|it| by_levels::name(it) == "cpu.frequency_khz" && it.shift < 0.0);
    if throttled.is_none() { Vec::new() } else { by_levels::shown(ID, 0.8, &[throttled, slower]) }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn heat_names_it_and_a_lower_frequency_alone_does_not() {
        assert_eq!(ids(&[grew("machine", "kernel_log.thermal (level)", 0.0, 4.0)]), [ID]);
        assert!(ids(&[grew("machine", "cpu.frequency_khz (level)", 3e6, 1e6)]).is_empty());
    }
}
