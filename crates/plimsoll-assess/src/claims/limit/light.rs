//! A limit predicted from light load: from the steps of a phase to the judge's queue.

use plimsoll_judge::models::queueing::light::{Bound, LightPoint, Predicted, capacity_from};
use plimsoll_judge::models::queueing::{Arrivals, Discipline, Dispatch, Figure, Rig, Times};
use plimsoll_model::experiment::claim::limit::{Predict, PredictedLimit, SearchClaim, Serving};
use plimsoll_model::experiment::{Experiment, HttpLoad, open_loop};
use plimsoll_model::observation::{Step, TrialRecord};
use plimsoll_model::verdict::Interval;

use crate::{quantiles, slices};

/// Seed of the simulation, so that the same run always gets the same report.
const SEED: u64 = 1;

/// Prediction from the light load of these trials; `None` if the claim does not ask, or there is too little of it.
pub(super) fn predicted<'t>(
    experiment: &Experiment,
    claim: &SearchClaim,
    trials: impl Iterator<Item = &'t TrialRecord>,
) -> Option<PredictedLimit> {
    let predict = claim.predict.as_ref()?;
    let sound = trials.filter(|trial| trial.faults.is_empty());
    let steps: Vec<&Step> = sound.flat_map(|trial| steps(&predict.from, trial)).collect();
    let lightest = steps.iter().min_by(|a, b| a.rate.total_cmp(&b.rate))?;
    let responses = quantiles::seconds(&lightest.latency);
    let points: Vec<LightPoint> = steps.iter().filter_map(|step| point(step)).collect();
    let bound = Bound { share: claim.share.0, within: claim.at_most.0.as_secs_f64() };
    let probe = probe(experiment, claim)?;
    let rig = rig(probe, predict);
    let Predicted { service, capacity, n } =
        capacity_from(&points, &responses, &rig, bound, (probe.duration?.0.as_secs_f64(), SEED)).ok()?;
    let interval = |figure: Figure| figure.interval.map(|[low, high]| Interval(low, high));
    Some(PredictedLimit {
        from: predict.from.clone(),
        points: n,
        highest_per_second: points.iter().map(|point| point.rate).fold(0.0, f64::max),
        service_ms: service.value * 1e3,
        service_interval: interval(service)?.map(|seconds| seconds * 1e3),
        per_second: capacity.map(|capacity| capacity.value),
        interval: capacity.and_then(interval),
    })
}

fn steps<'t>(phase: &'t str, trial: &'t TrialRecord) -> impl Iterator<Item = &'t Step> {
    let slices = slices::measured(trial, phase);
    slices.filter_map(|slice| slice.result.offer.as_ref()).flat_map(|offer| &offer.steps)
}

/// The real rate, and the mean response time at it.
fn point(step: &Step) -> Option<LightPoint> {
    let times = &step.latency;
    let rate = step.due_per_second().filter(|_| !times.is_empty())?;
    Some(LightPoint { rate, response: times.mean() / 1e6 })
}

/// The load of each probe of the search.
fn probe<'e>(experiment: &'e Experiment, claim: &SearchClaim) -> Option<&'e HttpLoad> {
    let phase = experiment.all_phases().find(|phase| phase.name == claim.phase)?;
    experiment.loads.get(&phase.kind.search()?.load)?.kind.http()
}

/// The queue that the claim says the service is; requests come as those of the search do.
fn rig(probe: &HttpLoad, predict: &Predict) -> Rig {
    let arrivals = probe.open.as_ref().map(|open| open.arrivals);
    Rig {
        hosts: 1,
        cpus: predict.servers as usize,
        service: Times::Fixed(1.0),
        arrivals: match arrivals.unwrap_or_default() {
            open_loop::Arrivals::Constant => Arrivals::Constant(1.0),
            open_loop::Arrivals::Poisson => Arrivals::Poisson(1.0),
        },
        discipline: match predict.discipline {
            Serving::Queue => Discipline::Queue,
            Serving::Shared => Discipline::Shared,
        },
        dispatch: Dispatch::Random,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{Histogram, LoadResult, Offer};
    use plimsoll_model::plan::{Plan, Settings};

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "how many?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.few]
from = "a"
to = "web"
http = { duration = "40s", concurrency = 100, open = { arrivals = "poisson", steps = [20, 60, 100, 140] } }
[loads.clients]
from = "a"
to = "web"
http = { duration = "20s", concurrency = 100, open = { rate = 100, arrivals = "poisson" } }
[[phases]]
name = "light"
measure = "few"
[[phases]]
name = "search"
search = { load = "clients", to = 10000 }
[[claims]]
limit = { phase = "search", at_most = "20ms", predict = { from = "light" } }
"#;

    /// A step of 10 s in which every answer took as long as M/D/1 with 2 ms takes in the mean.
    fn step(n: u64, rate: f64) -> Step {
        let busy = rate * 0.002;
        let response_us = 2000.0 * (1.0 + busy / (2.0 * (1.0 - busy)));
        Step {
            rate,
            start_ns: n * 10_000_000_000,
            end_ns: (n + 1) * 10_000_000_000,
            due: 10 * rate as u64,
            latency: Histogram::of([(response_us as u64, 10 * rate as u64)]),
            ..Step::default()
        }
    }

    #[test]
    fn the_steps_of_a_light_phase_predict_the_limit_that_was_never_tried() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let steps = (0..).zip([20.0, 60.0, 100.0, 140.0]).map(|(n, rate)| step(n, rate)).collect();
        let offer = Offer { steps, ..Offer::default() };
        let result = LoadResult { offer: Some(offer), ..LoadResult::default() };
        let trial = TrialRecord { phases: vec![fixture::phase("light", result)], ..TrialRecord::default() };
        let claim = plan.experiment.claims[0].limit().unwrap().search().unwrap();
        let found = predicted(&plan.experiment, claim, [&trial].into_iter()).unwrap();
        assert!((found.service_ms - 2.0).abs() < 0.01, "{found:?}");
        assert_eq!((found.points, found.highest_per_second), (4, 140.0));
        // 95 % of M/D/1 are within 20 ms up to some 420/s.
        assert!((390.0..450.0).contains(&found.per_second.unwrap()), "{found:?}");
        assert!(predicted(&plan.experiment, claim, std::iter::empty()).is_none());
        let silent = SearchClaim { predict: None, ..claim.clone() };
        assert!(predicted(&plan.experiment, &silent, [&trial].into_iter()).is_none());
    }
}
