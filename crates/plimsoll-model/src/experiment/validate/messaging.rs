//! What must hold of messaging loads, and of claims on how their time grows.

use std::collections::BTreeMap;

use super::{Checked, measured_load, points_of, problem};
use crate::experiment::problem::Part;
use crate::experiment::{Experiment, GrowthClaim};

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &GrowthClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "growth", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.is_none_or(|load| load.kind.messaging().is_none()) {
        return Err(problem(here("phase"), "nobody sends messages in this phase", "a load with `messaging`"));
    }
    points_of(experiment, &claim.over, &here("over"))?;
    let levels: usize = claim.over.iter().map(|factor| experiment.factors[factor].levels.len()).product();
    if levels < GrowthClaim::LEAST_LEVELS {
        return Err(problem(
            here("over"),
            format!("{levels} points do not tell how something grows"),
            format!("factors with at least {} combinations of levels", GrowthClaim::LEAST_LEVELS),
        ));
    }
    Ok(())
}
