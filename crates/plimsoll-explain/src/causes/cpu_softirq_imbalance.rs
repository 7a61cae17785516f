//! `cpu.softirq_imbalance`: One CPU handles nearly all network softirqs and is saturated.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "one CPU spends nearly all softirq time, receives nearly all packets, and is busy. Before, several CPUs shared the work",
        evidence_against: "that CPU has idle time. Softirqs take little time in total",
        test: "spread the work (RPS: /sys/class/net/DEVICE/queues/rx-*/rps_cpus; interrupts: smp_affinity; ethtool -L) and measure again",
        remedy: "use as many queues as CPUs (ethtool -L), spread their interrupts (irqbalance), or enable RPS",
    },
    find,
)
.beyond_the_run();

/// From this share on it is nearly all, in per cent.
const NEARLY_ALL: f64 = 85.0;
/// From this share of its time on the CPU is busy, in per cent.
const BUSY: f64 = 85.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let share = |name| by_counters::raised(name, known.evidence).filter(|it| it.after >= NEARLY_ALL);
    let (Some(time), Some(packets)) = (share("softirq.busiest_share"), share("softnet.busiest_share")) else {
        return Vec::new();
    };
    let busy = by_counters::raised("softirq.busiest_busy_share", known.evidence);
    // A CPU that was as busy before has no evidence: nothing moved.
    let sure = match busy {
        Some(busy) if busy.after < BUSY => return Vec::new(),
        Some(_) => 0.7,
        None => 0.55,
    };
    vec![cause(
        CauseId::CpuSoftirqImbalance,
        sure,
        [time, packets].into_iter().chain(busy).map(quoted).collect(),
    )]
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn one_cpu_that_does_what_two_did_is_named_where_time_and_packets_agree() {
        let share = |name: &str, after: f64| grew("machine", &format!("{name} (level)"), 55.0, after);
        let of = |time: f64, packets: f64, busy: f64| {
            let evidence = [
                share("softirq.busiest_share", time),
                share("softnet.busiest_share", packets),
                share("softirq.busiest_busy_share", busy),
            ];
            named(&Known { evidence: &evidence, ..Known::default() }).len()
        };
        assert_eq!(of(97.0, 99.0, 96.0), 1);
        assert_eq!((of(97.0, 60.0, 96.0), of(70.0, 99.0, 96.0), of(97.0, 99.0, 60.0)), (0, 0, 0));
    }
}
