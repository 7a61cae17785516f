//! `net.backlog_dropped`: The queue of packets that a CPU has yet to handle is full, or its budget for them is used up.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the second column of /proc/net/softnet_stat counts packets that were dropped because the backlog was full; or the third grows (the budget was used up) while softirqs take more of the CPUs",
        evidence_against: "the columns stand still; packets are lost on the way",
        test: "raise net.core.netdev_max_backlog and net.core.netdev_budget and measure again",
        remedy: "spread the packets over more CPUs (RSS, RPS), and raise net.core.netdev_max_backlog (drops) or netdev_budget and netdev_budget_usecs (squeezes)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::NetBacklogDropped;
/// The most packets that wait for a CPU.
const LIMIT: &str = "net.core.netdev_max_backlog";
/// Drops and used-up budgets: net/core/dev.c, `enqueue_to_backlog` and `net_rx_action`.
const DROPPED: &str = "machine.softnet.dropped";
const SQUEEZED: &str = "machine.softnet.time_squeeze";
/// The part of the CPUs' time for softirqs that a squeezed budget comes with.
const SOFTIRQ: [&str; 1] = ["cpu.all.softirq_share"];
const LEAST_SHARE: f64 = 5.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let [dropped, squeezed] = [DROPPED, SQUEEZED].map(|name| by_counters::grown(name, known.evidence));
    let softirq = by_levels::above(&SOFTIRQ, LEAST_SHARE, known.evidence);
    if dropped.is_some() {
        // Retransmissions show that the dropped packets mattered to a connection.
        let again = by_counters::grown("snmp.Tcp.RetransSegs", known.evidence);
        let sure = if again.is_some() { 0.91 } else { 0.85 };
        let lowered = by_levels::lowered(LIMIT, known.evidence);
        by_levels::shown(ID, sure, &[lowered, dropped, again, softirq])
    } else if squeezed.is_some() && softirq.is_some() {
        by_levels::shown(ID, 0.6, &[squeezed, softirq])
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn drops_name_it_and_a_squeezed_budget_needs_softirqs_beside_it() {
        let squeezed = grew("machine", "machine.softnet.time_squeeze (per second)", 0.0, 90.0);
        let softirq = grew("machine", "cpu.all.softirq_share (level)", 2.0, 40.0);
        assert_eq!(ids(&[grew("machine", "machine.softnet.dropped (per second)", 0.0, 500.0)]), [ID]);
        assert_eq!(ids(&[squeezed.clone(), softirq]), [ID]);
        assert!(ids(&[squeezed]).is_empty());
    }
}
