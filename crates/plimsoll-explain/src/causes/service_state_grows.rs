//! `service.state_grows`: A service keeps state for past connections, which makes each new one more expensive. A restart clears it.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::StateLivesIn;

use super::{Definition, Known, Page, by_ladder, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "user CPU time per connection grew on the service's host, and stays high after all connections have closed",
        evidence_against: "the kernel's time per connection grew instead. A restarted service is as slow",
        test: "restart the service and measure again: the figure recovers",
        remedy: "limit the state that the service keeps for past connections. Until then, restart it",
    },
    find,
)
.confirmed_by(changes::restarted);

/// Whether a figure that grew is the program's.
fn is_of_service(metric: &str) -> bool {
    metric.contains("stat.cpu.user") || metric.starts_with("processes.user")
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_ladder::named(CauseId::ServiceStateGrows, StateLivesIn::Service, is_of_service, known)
        .into_iter()
        .collect()
}
