//! What must hold of messaging loads, and of claims on how their time grows.

use std::collections::BTreeMap;

use super::{Checked, in_range, measured_load, points_of, problem};
use crate::experiment::problem::Part;
use crate::experiment::{Experiment, GrowthClaim, Load, MessagingLoad};

/// The largest message, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 20;

pub(super) fn check_load(name: &String, load: &Load, messaging: &MessagingLoad) -> Checked {
    let here = |key: &str| path!["loads", name, "messaging", key];
    if !load.to.is_empty() {
        return Err(problem(
            path!["loads", name, "to"],
            "the workers of a messaging load send to each other",
            "no `to` beside `messaging`",
        ));
    }
    if messaging.rounds.is_some() == messaging.duration.is_some() {
        return Err(problem(
            path!["loads", name, "messaging"],
            format!("the load `{name}` does not say how long it goes on"),
            "either `rounds` or `duration`",
        ));
    }
    in_range(u64::from(messaging.groups), 1, 1000, here("groups"))?;
    in_range(u64::from(messaging.pairs), 1, 500, here("pairs"))?;
    in_range(u64::from(messaging.messages), 1, 1_000_000, here("messages"))?;
    in_range(messaging.size.0, 1, LARGEST_MESSAGE, here("size"))?;
    if messaging.workers() > MessagingLoad::MOST_WORKERS {
        return Err(problem(
            here("groups"),
            format!("these are {} workers", messaging.workers()),
            format!("at most {} in all: 2 x groups x pairs", MessagingLoad::MOST_WORKERS),
        ));
    }
    match messaging.rounds {
        Some(rounds) => in_range(rounds, 1, 1_000_000, here("rounds")),
        None => Ok(()),
    }
}

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &GrowthClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "growth", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.is_none_or(|load| load.messaging.is_none()) {
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
