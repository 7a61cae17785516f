//! What must hold of loads that diagnose a path, and of claims about them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Checked, in_range, measured_load, problem, up_to, within};
use crate::experiment::problem::Part;
use crate::experiment::{DiagnoseClaim, Experiment, Load};
use crate::units::Span;

/// The most datagrams of a burst.
const LONGEST_BURST: u32 = 100_000;

pub(super) fn check_load(experiment: &Experiment, name: &String, load: &Load) -> Checked {
    let Some(diagnose) = &load.diagnose else { return Ok(()) };
    let here = |key: &str| path!["loads", name, "diagnose", key];
    if experiment.services[&load.to].bulk.is_none() {
        return Err(problem(
            path!["loads", name, "to"],
            format!("the service `{}` tells nothing of what arrives", load.to),
            "a service of kind `bulk`",
        ));
    }
    in_range(diagnose.rate.0, 10_000, 10_000_000_000, here("rate"))?;
    in_range(u64::from(diagnose.segment), 256, 8948, here("segment"))?;
    in_range(u64::from(diagnose.packets), 100, 10_000_000, here("packets"))?;
    in_range(u64::from(diagnose.bursts), 1, 1000, here("bursts"))?;
    let shortest = Span(Duration::from_micros(100));
    within(diagnose.rtt, shortest..=Span::secs(10), here("rtt"), "from 100us to 10s")?;
    within(diagnose.duration, up_to(Span::secs(600)), here("duration"), "a length of time of at most 10m")?;
    within(diagnose.constant, 0.1..=10.0, here("constant"), "a number from 0.1 to 10")?;
    if diagnose.burst() > LONGEST_BURST {
        return Err(problem(
            here("rtt"),
            "a queue for that rate and that time takes more than a burst can show",
            format!("at most {LONGEST_BURST} segments under way"),
        ));
    }
    Ok(())
}

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &DiagnoseClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = path!["claims", index, "diagnose", "phase"];
    let load = measured_load(experiment, &claim.phase, names, here.clone())?;
    if load.is_none_or(|load| load.diagnose.is_none()) {
        return Err(problem(here, "this phase does not diagnose a path", "a load with `diagnose`"));
    }
    Ok(())
}
