//! The claim that processors behave as a queue: from the samples in each step of a load to the judge's points, and back to a verdict.

use plimsoll_judge::input::JudgeError;
use plimsoll_judge::models::load_curve::{LoadCurve, LoadPoint, fit_load_curve};
use plimsoll_judge::warmup::find_warmup;
use plimsoll_model::experiment::claim::load_curve::{
    LoadCurveClaim, LoadCurveDetails, LoadFit, LoadPointReport,
};
use plimsoll_model::experiment::{Cpus, cpus};
use plimsoll_model::observation::{CpuTime, Sample, Step};

use crate::claims::prelude::*;

/// The claim, as the judge names it.
const CLAIM: &str = "load_curve";
/// The metric of the claim.
const METRIC: &str = "load";
/// Tasks that can run, the one that reads the figure among them.
const RUNNING: &str = "machine.stat.procs_running";
/// The share of each step that is never counted: the queue must get from the last step's length to this one's.
const LEAST_CUT: f64 = 0.15;
/// The largest share of a step that is cut off when it takes longer to settle. A step that never does counts from here on, and its residual shows.
const MOST_CUT: f64 = 0.5;

impl ClaimKind for LoadCurveClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(cell, self, trials)).collect()
    }

    /// The load is the number of tasks that can run, whose-ever they are.
    fn counts_other_processes(&self) -> bool {
        true
    }
}

fn finding(cell: &Cell, claim: &LoadCurveClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let fitted = fitted(cell, claim, &of_cell);
    let mut verdict = match (soundness::objection_to_queue(&of_cell), &fitted) {
        (Some(reason), _) => Verdict::bare(CLAIM, METRIC, Outcome::Invalid, of_cell.len(), reason),
        (None, Ok((_, curve))) => curve.verdict(METRIC),
        (None, Err(error)) => Verdict::bare(CLAIM, METRIC, Outcome::Undecided, 0, in_words(error)),
    };
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    let Ok((points, curve)) = fitted else { return Finding::bare(verdict) };
    let details = LoadCurveDetails {
        cell: cell.levels.clone(),
        phase: claim.phase.clone(),
        cpus: curve.cpus,
        fits: curve.fits.iter().map(|fit| drawn(fit, curve.cpus)).collect(),
        points,
    };
    Finding::new(verdict, details)
}

fn drawn(fit: &plimsoll_judge::models::load_curve::QueueFit, cpus: usize) -> LoadFit {
    LoadFit {
        model: fit.name.clone(),
        background: fit.background,
        left_out_error: fit.left_out_error,
        residuals: fit.residuals.clone(),
        curve: fit.drawn(cpus),
    }
}

fn fitted(
    cell: &Cell,
    claim: &LoadCurveClaim,
    trials: &[&TrialRecord],
) -> Result<(Vec<LoadPointReport>, LoadCurve), JudgeError> {
    let cpus = &cpus_of(cell, &claim.host, trials);
    let seen: Vec<Point> = trials
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| of_trial(trial, claim, cpus))
        .collect();
    let count = seen.first().map_or(cpus.len(), |seen| seen.cpus);
    let points = together(&seen);
    let rows: Vec<LoadPoint> = points
        .iter()
        .map(|point| LoadPoint { utilisation: point.utilisation, load: point.load, users: None })
        .collect();
    fit_load_curve(&rows, count).map(|curve| (points, curve))
}

/// The CPUs that a host had; empty if it had all. A number of them was given out as [`cpus::assign`] does, among those that were sampled.
fn cpus_of(cell: &Cell, host: &str, trials: &[&TrialRecord]) -> Vec<u32> {
    let hosts = &cell.experiment.hosts;
    if let Cpus::These(these) = &hosts[host].cpus {
        return these.clone();
    }
    let sampled = trials.iter().flat_map(|trial| trial.series.values()).find_map(|samples| {
        let all = all_cpus(samples.first()?);
        (!all.is_empty()).then_some(all)
    });
    let assigned = cpus::assign(hosts, &sampled.unwrap_or_default()).ok();
    assigned.and_then(|mut assigned| assigned.remove(host)).unwrap_or_default()
}

/// The CPUs whose time is in a sample.
fn all_cpus(sample: &Sample) -> Vec<u32> {
    CpuTime::known(|name| sample.values.contains_key(name))
}

/// The steps of all trials that were offered the same rate, as one point each: their means.
fn together(seen: &[Point]) -> Vec<LoadPointReport> {
    let mut rates: Vec<f64> = seen.iter().map(|seen| seen.rate).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    let point = |rate: f64| {
        let same: Vec<&Point> = seen.iter().filter(|seen| seen.rate.total_cmp(&rate).is_eq()).collect();
        let mean = |of: fn(&Point) -> f64| same.iter().map(|seen| of(seen)).sum::<f64>() / same.len() as f64;
        LoadPointReport {
            offered_per_second: rate,
            // Nothing was idle for a moment: that is a full machine, and no model has a load there.
            utilisation: mean(|seen| seen.utilisation).min(0.9999),
            load: mean(|seen| seen.load),
        }
    };
    rates.into_iter().map(point).collect()
}

/// Measured step of a load.
struct Point {
    rate: f64,
    utilisation: f64,
    load: f64,
    cpus: usize,
}

fn of_trial(trial: &TrialRecord, claim: &LoadCurveClaim, cpus: &[u32]) -> Vec<Point> {
    let Some(samples) = trial
        .series
        .values()
        .find(|samples| samples.first().is_some_and(|sample| sample.values.contains_key(RUNNING)))
    else {
        return Vec::new();
    };
    let samples = carried(samples, cpus);
    let steps = slices::measured(trial, &claim.phase).flat_map(|slice| {
        let steps = slice.result.offer.as_ref().map_or(&[][..], |offer| &offer.steps);
        steps.iter().map(|step| (slice.result.started_ns, step))
    });
    steps.filter_map(|(started_ns, step)| of_step(&samples, started_ns, step)).collect()
}

/// One sample: when, how many tasks could run, and the time of the CPUs that count.
struct Reading {
    at_ns: u64,
    running: f64,
    time: CpuTime,
    cpus: usize,
}

/// The samples with what each leaves out because it had not changed.
fn carried(samples: &[Sample], cpus: &[u32]) -> Vec<Reading> {
    let mut known: BTreeMap<&str, f64> = BTreeMap::new();
    let mut readings = Vec::with_capacity(samples.len());
    let all: Vec<u32> = match samples.first() {
        Some(first) if cpus.is_empty() => all_cpus(first),
        _ => cpus.to_vec(),
    };
    let names: Vec<_> = all.iter().map(|cpu| CpuTime::counters(*cpu)).collect();
    for sample in samples {
        known.extend(sample.values.iter().map(|(name, value)| (name.as_str(), *value)));
        let value = |name: &str| known.get(name).copied().unwrap_or(0.0);
        readings.push(Reading {
            at_ns: sample.at_ns,
            running: value(RUNNING),
            time: CpuTime::of(&names, value),
            cpus: names.len(),
        });
    }
    readings
}

fn of_step(readings: &[Reading], started_ns: u64, step: &Step) -> Option<Point> {
    let (from, to) = (started_ns + step.start_ns, started_ns + step.end_ns);
    let inside: Vec<&Reading> = readings.iter().filter(|r| (from..to).contains(&r.at_ns)).collect();
    let running: Vec<f64> = inside.iter().map(|reading| reading.running).collect();
    let settled = find_warmup(&running).ok()?.steady_from.unwrap_or(0);
    let most = (running.len() as f64 * MOST_CUT) as usize;
    let steady = &inside[settled.clamp((running.len() as f64 * LEAST_CUT) as usize, most)..];
    let (first, last) = (steady.first()?, steady.last()?);
    Some(Point {
        rate: step.rate,
        utilisation: last.time.busy_since(first.time)?,
        load: (steady.iter().map(|r| r.running).sum::<f64>() / steady.len() as f64 - 1.0).max(0.0),
        cpus: last.cpus,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::Details;
    use plimsoll_model::observation::{LoadResult, Offer};
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "which queue?"
[hosts.server]
cpus = [1]
[services.web]
on = "server"
web = { work = "1ms" }
[loads.users]
from = "server"
to = "web"
http = { duration = "60s", open = { arrivals = "poisson", steps = [100, 300, 500, 700, 800, 900] } }
[[phases]]
name = "loaded"
measure = "users"
[[claims]]
load_curve = { phase = "loaded", host = "server" }
"#;

    const STEP_NS: u64 = 10_000_000_000;

    /// A trial in which a step of rate r uses r/1000 of CPU 1 and has as many runnable tasks as a queue of that load. A
    /// step begins with the queue of the previous step, and CPU 0 is always busy.
    fn trial(plan: &Plan) -> TrialRecord {
        let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 900.0];
        let step = |(n, rate): (u64, f64)| Step {
            rate,
            start_ns: n * STEP_NS,
            end_ns: (n + 1) * STEP_NS,
            requests: 1,
            ..Step::default()
        };
        let offer = Offer { steps: (0..).zip(rates).map(step).collect(), ..Offer::default() };
        let result = LoadResult {
            started_ns: 77,
            connections: 1,
            elapsed_ns: 1,
            offer: Some(offer),
            ..Default::default()
        };
        let (mut busy, mut samples) = (0.0, Vec::new());
        for tick in 0..600_u64 {
            let rho = rates[(tick / 100) as usize] / 1000.0;
            let before = rates[((tick / 100) as usize).saturating_sub(1)] / 1000.0;
            let settling = tick % 100 < 10;
            let load = if settling { before / (1.0 - before) } else { rho / (1.0 - rho) };
            busy += rho * 1e5;
            let mut values: BTreeMap<String, f64> =
                [("machine.stat.cpu1.user", busy), ("machine.stat.cpu1.idle", tick as f64 * 1e5 - busy)]
                    .map(|(name, value)| (name.to_owned(), value))
                    .into();
            // Unchanged values are left out, as the sampler does.
            if tick % 100 == 0 || tick % 100 == 10 {
                values.insert(RUNNING.into(), load + 1.0);
            }
            values.insert("machine.stat.cpu0.user".into(), tick as f64 * 1e5);
            samples.push(Sample { at_ns: 77 + tick * STEP_NS / 100, values });
        }
        TrialRecord {
            cell: plan.cells[0].levels.clone(),
            phases: vec![fixture::phase("loaded", result)],
            series: [("server".to_owned(), samples)].into(),
            ..TrialRecord::default()
        }
    }

    #[test]
    fn each_step_becomes_a_point_of_the_hosts_own_cpus_without_its_beginning() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let finding = &crate::claims::findings(&plan, &[trial(&plan)])[0];
        let Some(Details::LoadCurve(report)) = &finding.details else { panic!("{finding:?}") };
        assert_eq!((report.cpus, report.points.len()), (1, 6));
        for point in &report.points {
            let rho = point.offered_per_second / 1000.0;
            assert!((point.utilisation - rho).abs() < 1e-3, "{point:?}");
            assert!((point.load - rho / (1.0 - rho)).abs() < 1e-6, "{point:?}");
        }
        assert_eq!(report.fits[0].model, "M/M/1");
        let verdict = &finding.verdict;
        assert_eq!(verdict.outcome, Outcome::Estimated, "{verdict:?}");
        assert!(verdict.reason.contains("M/M/1 describes 6 points"), "{}", verdict.reason);
    }

    #[test]
    fn without_samples_nothing_is_decided() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        let blind = TrialRecord { series: BTreeMap::new(), ..trial(&plan) };
        assert_eq!(crate::claims::findings(&plan, &[blind])[0].verdict.outcome, Outcome::Undecided);
    }
}
