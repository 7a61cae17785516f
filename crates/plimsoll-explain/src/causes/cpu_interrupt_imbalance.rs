//! `cpu.interrupt_imbalance`: One CPU takes the interrupts of all queues of a device.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "one CPU takes nearly all interrupts of devices, where they were spread before, and is busy with softirqs",
        evidence_against: "interrupts are spread over the CPUs, or there are few",
        test: "spread them (irqbalance, /proc/irq/*/smp_affinity) and measure again",
        remedy: "run irqbalance, or set smp_affinity of each queue's interrupt to a CPU of its own; use as many queues as CPUs (ethtool -L)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::CpuInterruptImbalance;
/// From this share on it is nearly all, in per cent.
const NEARLY_ALL: f64 = 85.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let interrupts = by_levels::above(&["interrupts.busiest_share"], NEARLY_ALL, known.evidence);
    let softirq = by_levels::above(&["softirq.busiest_share"], NEARLY_ALL, known.evidence);
    if interrupts.is_none() || softirq.is_none() {
        Vec::new()
    } else {
        by_levels::shown(ID, 0.75, &[interrupts, softirq])
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn one_cpu_with_all_interrupts_is_named_where_it_has_the_softirqs_too() {
        let interrupts = grew("machine", "interrupts.busiest_share (level)", 52.0, 99.0);
        let softirq = grew("machine", "softirq.busiest_share (level)", 55.0, 97.0);
        assert_eq!(ids(&[interrupts.clone(), softirq]), [ID]);
        assert!(ids(&[interrupts]).is_empty());
    }
}
