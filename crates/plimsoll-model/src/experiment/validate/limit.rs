//! Searches for a limit, and the claims that say which bound they are about.

use std::collections::BTreeMap;

use super::super::open_loop::{OpenLoop, check_rate};
use super::super::problem::Part;
use super::super::{BoundClaim, Experiment, HttpLoad, LimitClaim, Predict, Search, SearchClaim};
use super::{Checked, declared, in_range, margin, measured, measured_load, problem, random_steps};

/// The fewest requests that a probe has at the least rate that is tried.
const FEWEST_REQUESTS: f64 = 20.0;

/// A phase that searches has a load whose rate can be set, a range, and exactly one claim.
pub(super) fn check_search(experiment: &Experiment, name: &str, search: &Search, at: &[Part]) -> Checked {
    let here = |key: &str| [at, &path![key]].concat();
    declared(&search.load, &experiment.loads, "load", here("load"))?;
    let (http, open) = offered(experiment, search).ok_or_else(|| {
        problem(
            here("load"),
            format!("the load `{}` has no rate that could be set", search.load),
            "an HTTP load with a `duration` and an `open.rate`, without `ramp_to`, `sine` and `steps`",
        )
    })?;
    check_rate(search.to, here("to"))?;
    if search.to < open.rate * 1.1 {
        return Err(problem(
            here("to"),
            format!("there is nothing to search between {} and {}", open.rate, search.to),
            "a rate above that of the load, which is the least that is tried",
        ));
    }
    in_range(u64::from(search.most), u64::from(Search::FEWEST), 1000, here("most"))?;
    let claims: Vec<(usize, &SearchClaim)> =
        claims(experiment).filter(|(_, claim)| claim.phase == name).collect();
    let [(index, claim)] = claims.as_slice() else {
        let number = if claims.is_empty() { "no" } else { "more than one" };
        return Err(problem(
            at.to_vec(),
            format!("{number} claim says which bound is to be held in `{name}`"),
            "one `limit` claim for each phase that searches",
        ));
    };
    let requests = open.rate * http.duration.map_or(0.0, |span| span.0.as_secs_f64());
    let needed = FEWEST_REQUESTS.max(1.0 / (1.0 - claim.share.0));
    // A share of everything is refused with the claim.
    if needed.is_finite() && requests < needed {
        return Err(problem(
            here("load"),
            format!(
                "a probe at {} requests/s has {requests:.0} requests: too few to tell {}",
                open.rate, claim.share
            ),
            format!("at least {needed:.0}: a longer `duration` or a higher `open.rate` of the load"),
        ));
    }
    if claim.at_most > http.timeout {
        return Err(problem(
            path!["claims", *index, "limit", "at_most"],
            format!("requests are given up after {}, before they are too late", http.timeout),
            "at most the `timeout` of the load",
        ));
    }
    Ok(())
}

pub(super) fn check_claim(
    experiment: &Experiment,
    claim: &LimitClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    if claim.phase().is_empty() {
        let (what, all): (_, Vec<String>) = match claim {
            LimitClaim::Search(_) => ("that searches", searching(experiment).into_keys().collect()),
            LimitClaim::Bound(_) => {
                let measuring = names.iter().filter(|(_, load)| load.is_some());
                ("that is measured", measuring.map(|(name, _)| name.clone()).collect())
            }
        };
        return Err(problem(
            path!["claims", index, "limit"],
            "the limit does not say which phase it is about",
            format!("`phase`, the name of one {what}: {}", all.join(", ")),
        ));
    }
    match claim {
        LimitClaim::Search(claim) => search_claim(experiment, claim, index, names),
        LimitClaim::Bound(claim) => bound_claim(claim, index, names),
    }
}

/// The bound is an amount of what the figure is told in.
fn bound_claim(claim: &BoundClaim, index: usize, names: &BTreeMap<String, Option<&str>>) -> Checked {
    let here = |key: &str| path!["claims", index, "limit", key];
    measured(&claim.phase, names, here("phase"))?;
    match claim.value() {
        Ok(_) => Ok(()),
        Err(error) => Err(problem(
            here(claim.side.name()),
            format!("`{}` is no amount of `{}`", claim.bound, claim.metric.name()),
            error.expected(),
        )),
    }
}

/// The phases that search.
fn searching(experiment: &Experiment) -> BTreeMap<String, ()> {
    let phases = experiment.all_phases().filter(|phase| phase.search.is_some());
    phases.map(|phase| (phase.name.clone(), ())).collect()
}

fn search_claim(
    experiment: &Experiment,
    claim: &SearchClaim,
    index: usize,
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| path!["claims", index, "limit", key];
    declared(&claim.phase, &searching(experiment), "phase with `search`", here("phase"))?;
    if claim.at_most.0.is_zero() {
        return Err(problem(here("at_most"), "no request takes no time", "a length of time of more than 0"));
    }
    margin(claim.share.0, here("share"))?;
    margin(claim.precision.0, here("precision"))?;
    if let Some(predict) = &claim.predict {
        check_prediction(experiment, claim, predict, &here("predict"), names)?;
    }
    claim.at_least.map_or(Ok(()), |rate| check_rate(rate, here("at_least")))
}

/// What a limit is predicted from asks the same service as the search.
fn check_prediction(
    experiment: &Experiment,
    claim: &SearchClaim,
    predict: &Predict,
    at: &[Part],
    names: &BTreeMap<String, Option<&str>>,
) -> Checked {
    let here = |key: &str| [at, &path![key]].concat();
    let light = measured_load(experiment, &predict.from, names, here("from"))?;
    in_range(u64::from(predict.servers), 1, 1024, here("servers"))?;
    if random_steps(light) < Predict::LEAST_STEPS {
        return Err(problem(
            here("from"),
            "the load of this phase does not show how response times begin to grow",
            "a load with at least three different `open.steps` and `open.arrivals = \"poisson\"`",
        ));
    }
    let searching = experiment.all_phases().find(|phase| phase.name == claim.phase);
    let search = searching.and_then(|phase| experiment.loads.get(&phase.search.as_ref()?.load));
    if light.map(|load| &load.to) != search.map(|load| &load.to) {
        return Err(problem(
            here("from"),
            format!("`{}` and `{}` ask different services", predict.from, claim.phase),
            "a phase whose load aims where that of the search aims",
        ));
    }
    Ok(())
}

/// The load of a search and its rate; nothing where it cannot be set.
fn offered<'e>(experiment: &'e Experiment, search: &Search) -> Option<(&'e HttpLoad, &'e OpenLoop)> {
    let http = experiment.loads.get(&search.load)?.kind.http()?;
    let open = http.open.as_ref().filter(|open| open.is_constant())?;
    http.duration.map(|_| (http, open))
}

fn claims(experiment: &Experiment) -> impl Iterator<Item = (usize, &SearchClaim)> {
    experiment.claims.iter().enumerate().filter_map(|(index, claim)| Some((index, claim.limit()?.search()?)))
}
