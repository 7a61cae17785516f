//! What must hold of probes of a path, and of claims about them.

use std::collections::BTreeMap;

use super::{Checked, margin, measured_load, problem};
use crate::experiment::problem::Part;
use crate::experiment::{Experiment, HopsClaim};

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &HopsClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "hops", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.is_none_or(|load| load.kind.hops().is_none()) {
        return Err(problem(here("phase"), "this phase does not probe a path", "a load with `hops`"));
    }
    margin(claim.within.0, here("within"))
}
