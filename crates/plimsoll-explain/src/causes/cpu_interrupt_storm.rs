//! `cpu.interrupt_storm`: Interrupts, or a thread of the kernel, take a large part of the CPUs.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "far more interrupts come, and the CPUs spend more time on them; or a thread of the kernel (kworker, ksoftirqd) uses much of a CPU",
        evidence_against: "as many interrupts as before for the work that is done; programs take the CPUs",
        test: "look at /proc/interrupts twice, and stop or unload what the line that grows belongs to",
        remedy: "mend the device or driver whose interrupt comes so often; spread it (smp_affinity), or let the driver coalesce (ethtool -C)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::CpuInterruptStorm;
/// All interrupts: /proc/stat.
const INTERRUPTS: &str = "machine.stat.intr";
const SHARES: [&str; 2] = ["cpu.all.irq_share", "cpu.all.softirq_share"];
/// From this part of all CPUs' time on it is felt, in per cent.
const LEAST: f64 = 10.0;
/// From this part of one CPU on a thread of the kernel is busy, in per cent.
const BUSY: f64 = 30.0;
/// Threads that only do what others asked for: reclaim and compaction are causes of their own.
const THREADS: [&str; 3] =
    ["process.kworker.cpu_share", "process.ksoftirqd.cpu_share", "process.irq.cpu_share"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let interrupts = by_counters::grown(INTERRUPTS, known.evidence);
    let share = by_levels::above(&SHARES, LEAST, known.evidence);
    let thread = by_levels::above(&THREADS, BUSY, known.evidence);
    match (interrupts.and(share), thread) {
        (Some(_), _) => by_levels::shown(ID, 0.6, &[interrupts, share, thread]),
        (None, Some(_)) => by_levels::shown(ID, 0.55, &[thread, share]),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn more_interrupts_need_time_that_they_take() {
        let interrupts = grew("machine", "machine.stat.intr (per second)", 900.0, 90_000.0);
        let share = grew("machine", "cpu.all.irq_share (level)", 0.0, 30.0);
        assert_eq!(ids(&[interrupts.clone(), share]), [ID]);
        assert!(ids(&[interrupts]).is_empty());
        assert_eq!(ids(&[grew("machine", "process.kworker.cpu_share (level)", 0.0, 90.0)]), [ID]);
    }
}
