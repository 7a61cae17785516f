//! `kernel.state_grows`: State that the host's kernel keeps makes each operation dearer; it outlives the service and goes with the host.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::report::StateLivesIn;

use super::{Change, Definition, Known, Page, When, by_ladder};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "rules, routes, tracked connections or slabs of the host grew with the connections; time in the kernel and in \
                       softirqs per connection grew",
        evidence_against: "a restarted service is as fast as before",
        test: "restart the service (no change), then rebuild its host: the figure is back",
        remedy: "find who leaves this state in the host's kernel and does not take it away; until then, remove it or rebuild the host",
    },
    when: When::Always,
    find,
    change,
};

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

fn change(experiment: &Experiment) -> Option<Change> {
    Change::without_rules(experiment)
}
