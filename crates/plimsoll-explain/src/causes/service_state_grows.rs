//! `service.state_grows`: State that a service keeps per past connection makes each new one dearer; it goes with the process.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::{Action, Experiment, RestartService};
use plimsoll_model::report::StateLivesIn;

use super::{Change, Definition, Known, Page, When, by_ladder};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "user CPU time per connection grew on the service's host, and stays so when no connection is left",
        evidence_against: "the kernel's time per connection grew instead; a restarted service is as slow",
        test: "restart the service and measure again: the figure is back",
        remedy: "bound what the service remembers of past connections; until then, restart it",
    },
    when: When::Always,
    find,
    change,
};

/// Whether a figure that grew is the program's.
fn is_of_service(metric: &str) -> bool {
    metric.contains("stat.cpu.user") || metric.starts_with("processes.user")
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_ladder::named(CauseId::ServiceStateGrows, StateLivesIn::Service, is_of_service, known)
        .into_iter()
        .collect()
}

fn change(experiment: &Experiment) -> Option<Change> {
    let services = experiment.services.keys();
    Change::act(
        "with the services restarted",
        services.map(|service| Action::of(RestartService { service: service.clone() })),
    )
}
