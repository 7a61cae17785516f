//! What must hold of loads that diagnose a path, and of claims about them.

use std::collections::BTreeMap;

use super::{Checked, measured_load, problem};
use crate::experiment::problem::Part;
use crate::experiment::{DiagnoseClaim, Experiment};

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &DiagnoseClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = path!["claims", index, "diagnose", "phase"];
    let load = measured_load(experiment, &claim.phase, names, here.clone())?;
    if load.is_none_or(|load| load.kind.diagnose().is_none()) {
        return Err(problem(here, "this phase does not diagnose a path", "a load with `diagnose`"));
    }
    Ok(())
}
