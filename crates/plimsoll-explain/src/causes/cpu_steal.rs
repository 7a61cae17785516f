//! `cpu.steal`: The hypervisor gives the CPUs of this machine to other guests.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "CPUs of this guest were ready to run and did not for more of the time (steal, `st`)",
        evidence_against: "steal is as before; programs of this machine take the CPUs",
        test: "move the guest to a host of its own and measure again",
        remedy: "ask the provider for dedicated CPUs or a larger size, or move the guests that share the host",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::CpuSteal;
/// The part of all CPUs' time: from counters, mpstat and top; of vmstat; of sar.
const STEAL: [&str; 3] = ["cpu.all.steal_share", "st", "%steal"];
/// From this part on it is felt, in per cent.
const LEAST: f64 = 10.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let steal = by_levels::above(&STEAL, LEAST, known.evidence);
    steal.map(|it| by_levels::shown(ID, 0.85, &[Some(it)])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn half_of_the_time_that_goes_to_others_is_named_and_little_is_not() {
        assert_eq!(ids(&[grew("vmstat", "st (of all CPUs' time)", 1.0, 48.0)]), [ID]);
        assert!(ids(&[grew("vmstat", "st (of all CPUs' time)", 0.0, 4.0)]).is_empty());
    }
}
