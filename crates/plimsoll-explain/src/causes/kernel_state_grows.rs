//! `kernel.state_grows`: The host's kernel keeps state that makes each operation more expensive. It outlives the service, not the host.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::StateLivesIn;

use super::{Definition, Known, Page, by_ladder, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "rules, routes, tracked connections or slabs of the host grew with the connections. Kernel and softirq time per connection grew",
        evidence_against: "a restarted service is as fast as before",
        test: "restart the service (no change), then recreate its host: the figure recovers",
        remedy: "find what leaves this state in the host's kernel and never removes it. Until then, remove it or recreate the host",
    },
    find,
)
.confirmed_by(changes::without_rules);

/// Whether a figure that grew is state of the kernel, or its time. Sockets in TIME_WAIT and the inodes of `/proc` follow from any load, and go by
/// themselves.
fn is_of_kernel(metric: &str) -> bool {
    let follows_any_load = metric.contains("tw_sock") || metric.contains("proc_inode");
    let grows = [
        "rules",
        "routes",
        "neighbours",
        "machine.slab.",
        "nf_conntrack",
        "machine.stat.cpu.softirq",
        "machine.stat.cpu.system",
    ];
    !follows_any_load && grows.iter().any(|name| metric.starts_with(name))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_ladder::named(CauseId::KernelStateGrows, StateLivesIn::HostKernel, is_of_kernel, known)
        .into_iter()
        .collect()
}
