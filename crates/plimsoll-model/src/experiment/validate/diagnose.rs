//! What must hold of loads that diagnose a path, and of claims about them.

use std::collections::BTreeMap;

use super::{Checked, in_range, measured, problem};
use crate::experiment::parse::Part;
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
    if !(Span(std::time::Duration::from_micros(100))..=Span::secs(10)).contains(&diagnose.rtt) {
        return Err(problem(here("rtt"), format!("{} is out of range", diagnose.rtt), "from 100us to 10s"));
    }
    if diagnose.duration.0.is_zero() || diagnose.duration > Span::secs(600) {
        return Err(problem(
            here("duration"),
            format!("{} is out of range", diagnose.duration),
            "a length of time of at most 10m",
        ));
    }
    if !(0.1..=10.0).contains(&diagnose.constant) {
        return Err(problem(
            here("constant"),
            format!("{} is out of range", diagnose.constant),
            "a number from 0.1 to 10",
        ));
    }
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
    measured(&claim.phase, names, here.clone())?;
    let load = names[&claim.phase].and_then(|load| experiment.loads.get(load));
    if load.is_none_or(|load| load.diagnose.is_none()) {
        return Err(problem(here, "this phase does not diagnose a path", "a load with `diagnose`"));
    }
    Ok(())
}
