//! Whether the load of a phase has the figure that a claim is about.

use std::collections::BTreeMap;

use super::super::problem::{Part, nearest};
use super::super::{Claim, Experiment, Metric};
use super::{Checked, problem};

/// A claim is about a figure that its phases' loads have.
pub(super) fn check(
    experiment: &Experiment,
    index: usize,
    claim: &Claim,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    for (kind, phase, metric) in claim.figures() {
        let load = names.get(phase).copied().flatten();
        let Some((name, kind_of_load)) =
            load.and_then(|name| Some((name, &experiment.loads.get(name)?.kind)))
        else {
            continue;
        };
        if kind_of_load.has(metric) {
            continue;
        }
        let has: Vec<&str> =
            Metric::ALL.into_iter().filter(|metric| kind_of_load.has(*metric)).map(Metric::name).collect();
        let expected = has.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut found = problem(
            path!["claims", index, kind, "metric"],
            format!("the load `{name}` of the phase `{phase}` has no `{}`", metric.name()),
            format!("one of {expected}"),
        );
        found.nearest = nearest(metric.name(), has.iter().copied());
        return Err(found);
    }
    Ok(())
}
