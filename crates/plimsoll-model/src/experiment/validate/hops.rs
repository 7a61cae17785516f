//! What must hold of probes of a path, and of claims about them.

use std::collections::BTreeMap;

use super::{Checked, in_range, margin, measured_load, problem, up_to, within};
use crate::experiment::problem::Part;
use crate::experiment::{Experiment, HopsClaim, Load};
use crate::units::Span;

pub(super) fn check_load(name: &String, load: &Load) -> Checked {
    let Some(hops) = &load.hops else { return Ok(()) };
    let here = |key: &str| path!["loads", name, "hops", key];
    in_range(u64::from(hops.probes), 1, 100_000, here("probes"))?;
    in_range(u64::from(hops.sizes), 6, 64, here("sizes"))?;
    in_range(u64::from(hops.largest), 700, 65_535, here("largest"))?;
    in_range(u64::from(hops.most_hops), 1, 64, here("most_hops"))?;
    in_range(u64::from(hops.port), 1024, 49_152, here("port"))?;
    let expected = "a length of time of at most 10 s";
    within(hops.spacing, ..=Span::secs(10), here("spacing"), expected)?;
    within(hops.timeout, up_to(Span::secs(10)), here("timeout"), expected)
}

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &HopsClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "hops", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.is_none_or(|load| load.hops.is_none()) {
        return Err(problem(here("phase"), "this phase does not probe a path", "a load with `hops`"));
    }
    margin(claim.within.0, here("within"))
}
