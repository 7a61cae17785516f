//! Phases that search for a limit.

use super::super::open_loop::{OpenLoop, check_rate};
use super::super::problem::Part;
use super::super::{Experiment, HttpLoad, Search, SearchClaim};
use super::{Checked, declared, in_range, problem};

/// The fewest requests that a probe has at the least rate that is tried.
const FEWEST_REQUESTS: f64 = 20.0;

/// A phase that searches has a load whose rate can be set, a range, and exactly one claim.
pub(in crate::experiment) fn check_search(
    experiment: &Experiment,
    name: &str,
    search: &Search,
    at: &[Part],
) -> Checked {
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
            format!("{number} claim states the bound for `{name}`"),
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
                "a probe at {} requests/s has {requests:.0} requests: too few to judge {}",
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

/// The load of a search and its rate; `None` if it cannot be set.
fn offered<'e>(experiment: &'e Experiment, search: &Search) -> Option<(&'e HttpLoad, &'e OpenLoop)> {
    let http = experiment.loads.get(&search.load)?.kind.http()?;
    let open = http.open.as_ref().filter(|open| open.is_constant())?;
    http.duration.map(|_| (http, open))
}

fn claims(experiment: &Experiment) -> impl Iterator<Item = (usize, &SearchClaim)> {
    experiment.claims.iter().enumerate().filter_map(|(index, claim)| Some((index, claim.limit()?.search()?)))
}
