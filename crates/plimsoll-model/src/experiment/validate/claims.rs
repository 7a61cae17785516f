//! What must hold of claims.

use std::collections::BTreeMap;

use super::{
    Checked, check_cell, declared, diagnose, hops, limit, mail_sink, margin, measured, measured_load,
    messaging, one_of, points_of, problem, random_steps, storage,
};
use crate::experiment::problem::Part;
use crate::experiment::{
    Claim, DifferenceClaim, Direction, Experiment, HysteresisClaim, InteractionClaim, KneeClaim,
    LoadCurveClaim, LossCurveClaim, RecoveryClaim, hysteresis,
};

pub(super) fn check(
    experiment: &Experiment,
    index: usize,
    claim: &Claim,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    match claim {
        Claim::Recovery(it) => recovery_claim(it, index, names),
        Claim::Difference(it) => difference_claim(experiment, it, index, names),
        Claim::Interaction(it) => interaction_claim(experiment, it, index, names),
        Claim::Hysteresis(it) => hysteresis_claim(experiment, it, index, names),
        Claim::Delivery(it) => mail_sink(experiment, &it.sink, path!["claims", index, "delivery", "sink"]),
        Claim::LoadCurve(it) => load_curve_claim(experiment, it, index, names),
        Claim::LossCurve(it) => loss_curve_claim(experiment, it, index, names),
        Claim::Hops(it) => hops::check_claim(experiment, it, index, names),
        Claim::Diagnose(it) => diagnose::check_claim(experiment, it, index, names),
        Claim::Knee(it) => knee_claim(experiment, it, index, names),
        Claim::Limit(it) => limit::check_claim(experiment, it, index, names),
        Claim::Growth(it) => messaging::check_claim(experiment, it, index, names),
        Claim::Modes(it) => storage::check_modes(it, index, names),
        Claim::Source(it) => storage::check_source(experiment, it, index, names),
        Claim::Winner(it) => storage::check_winner(experiment, it, index, names),
    }
}

fn difference_claim(
    experiment: &Experiment,
    claim: &DifferenceClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "difference", key];
    measured(&claim.phase, names, here("phase"))?;
    let sides = [("factor", claim.factor.is_some()), ("against", !claim.against.is_empty())];
    one_of(&sides, "the difference", path!["claims", index, "difference"])?;
    if let Some(factor) = &claim.factor {
        declared(factor, &experiment.factors, "factor", here("factor"))?;
    } else {
        check_cell(experiment, &claim.against, &here("against"))?;
        if !experiment.cells.is_empty() && !experiment.cells.contains(&claim.against) {
            return Err(problem(here("against"), "this cell is not run", "one of the `cells`"));
        }
    }
    margin(claim.margin.0, here("margin"))
}

fn interaction_claim(
    experiment: &Experiment,
    claim: &InteractionClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "interaction", key];
    margin(claim.margin.0, here("margin"))?;
    measured(&claim.phase, names, here("phase"))?;
    if claim.factors.len() < 2 {
        let expected = "the names of at least two factors";
        return Err(problem(here("factors"), "an interaction needs two factors", expected));
    }
    claim.factors.iter().enumerate().try_for_each(|(place, factor)| {
        let here = path!["claims", index, "interaction", "factors", place];
        declared(factor, &experiment.factors, "factor", here)
    })
}

fn hysteresis_claim(
    experiment: &Experiment,
    claim: &HysteresisClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "hysteresis", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    let steps = load.and_then(|load| Some(&load.kind.http()?.open.as_ref()?.steps[..])).unwrap_or(&[]);
    let (up, down) = hysteresis::ways(steps, |rate| *rate);
    if up.len() < 2 || down.len() < 2 {
        return Err(problem(
            here("phase"),
            "the load of this phase does not go up and down",
            "a load with `open.steps` that rise and then fall",
        ));
    }
    margin(claim.margin.0, here("margin"))
}

fn load_curve_claim(
    experiment: &Experiment,
    claim: &LoadCurveClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "load_curve", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    declared(&claim.host, &experiment.hosts, "host", here("host"))?;
    if random_steps(load) < LoadCurveClaim::LEAST_STEPS {
        return Err(problem(
            here("phase"),
            "the load of this phase does not show how a queue grows",
            "a load with at least five different `open.steps` and `open.arrivals = \"poisson\"`",
        ));
    }
    Ok(())
}

fn loss_curve_claim(
    experiment: &Experiment,
    claim: &LossCurveClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "loss_curve", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.and_then(|load| load.kind.bulk()).is_none_or(|bulk| bulk.direction != Direction::Send) {
        return Err(problem(
            here("phase"),
            "this phase does not send a stream",
            "a load with `bulk` that sends",
        ));
    }
    points_of(experiment, &claim.over, &here("over"))
}

fn knee_claim(
    experiment: &Experiment,
    claim: &KneeClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "knee", key];
    let load = measured_load(experiment, &claim.phase, names, here("phase"))?;
    if load.is_none_or(|load| load.kind.udp().is_none()) {
        return Err(problem(here("phase"), "this phase does not send datagrams", "a load with `udp`"));
    }
    points_of(experiment, &claim.over, &here("over"))
}

fn recovery_claim(claim: &RecoveryClaim, index: usize, names: &BTreeMap<String, Option<&str>>) -> Checked {
    let here = |key: &str| path!["claims", index, "recovery", key];
    measured(&claim.baseline, names, here("baseline"))?;
    measured(&claim.after, names, here("after"))?;
    if names[&claim.baseline] != names[&claim.after] {
        return Err(problem(
            here("after"),
            "baseline and after measure different loads",
            "two phases that measure the same load",
        ));
    }
    margin(claim.margin.0, here("margin"))
}
