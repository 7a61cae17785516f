//! Objections to the measurement that a claim rests on.

use std::collections::BTreeMap;

use plimsoll_model::observation::{
    ErrorKind, FaultKind, Generator, LoadResult, Offer, PhaseKind, Slice, TOGETHER_NS, TrialRecord,
};

use crate::pooled;

/// A generator whose threads are busy for this share of the time is the bottleneck itself.
const SATURATED: f64 = 0.95;
/// A sender of datagrams that reached less than this share of its rate did not offer what its file says.
const BEHIND: f64 = 0.99;
/// A hypervisor that takes more than this share of the CPUs' time decides the figures. What is compared is measured in turns and loses alike:
/// less widens the interval, which shows it.
const STOLEN: f64 = 0.5;
/// More than this, and a queue for the CPUs is longer than theory says.
const HARDLY_STOLEN: f64 = 0.05;
/// A generator that gives up more than this share of its due requests does not offer the rate.
const NOT_OFFERED: f64 = 0.01;
/// A generator that sends half of its requests later than this, in microseconds ..
const LATE_US: u64 = 1000;
/// .. and later than this share of the time that they take, measures itself.
const LATE: f64 = 0.1;
/// Largest share of the time that a generator may run alone after all others have finished.
const LAGGING: f64 = 0.2;
/// More slices than this share in which generators were not together, and it is no chance of the moment.
const ODD: f64 = 0.05;
/// More failed connections than this share, in a measured phase, and the rate is not that of the service any more.
const FAILED: f64 = 0.05;

/// Why trials cannot be judged; `None` if they can.
pub(crate) fn objection(trials: &[&TrialRecord]) -> Option<String> {
    objection_to_load(trials).or_else(|| failing(&measured(trials, PhaseKind::Measure)))
}

/// Objection where requests may fail, because whether they do is the question.
pub(crate) fn objection_to_load(trials: &[&TrialRecord]) -> Option<String> {
    let measured = measured(trials, PhaseKind::Measure);
    faulty(trials)
        .or_else(|| apart(&measured))
        .or_else(|| {
            let why = saturated(&results(&measured))?;
            Some(format!("the generator was the bottleneck: {why}"))
        })
        .or_else(|| behind(&measured))
        .or_else(|| stolen(&measured))
}

/// Objection where cells are compared: that operations fail in one and not in another is a finding, whichever of them was measured first.
pub(crate) fn objection_to_comparison(trials: &[&TrialRecord]) -> Option<String> {
    objection_to_load(trials).or_else(|| failing_everywhere(trials))
}

/// Objection where tasks that wait for a CPU are counted: while the hypervisor has the CPU they wait for it, too, and it looks busy.
pub(crate) fn objection_to_queue(trials: &[&TrialRecord]) -> Option<String> {
    objection_to_load(trials).or_else(|| taken(&measured(trials, PhaseKind::Measure), HARDLY_STOLEN))
}

/// Objection to a search, whose probes are looked at one by one.
pub(crate) fn objection_to_search(trials: &[&TrialRecord]) -> Option<String> {
    faulty(trials).or_else(|| stolen(&measured(trials, PhaseKind::Search)))
}

fn faulty(trials: &[&TrialRecord]) -> Option<String> {
    let all = !trials.is_empty() && trials.iter().all(|trial| !trial.faults.is_empty());
    all.then(|| {
        let fault = &trials[0].faults[0];
        let none = match fault.kind {
            FaultKind::Skipped => "no trial is counted",
            _ => "no trial finished",
        };
        format!("{none}: in `{}`, {}", fault.phase, fault.what)
    })
}

/// Whether the generator did not do in this slice what it was to do.
pub(crate) fn is_generators_fault(slice: &Slice) -> bool {
    saturated(&[&slice.result]).is_some() || apart(&[slice]).is_some()
}

fn measured<'t>(trials: &[&'t TrialRecord], kind: PhaseKind) -> Vec<&'t Slice> {
    trials
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| &trial.phases)
        .filter(|phase| phase.kind == kind)
        .flat_map(|phase| &phase.slices)
        .collect()
}

fn results<'t>(slices: &[&'t Slice]) -> Vec<&'t LoadResult> {
    slices.iter().map(|slice| &slice.result).collect()
}

/// Reason why generators on several machines did not start together, with the machine; `None` if they did, or there was one.
pub(crate) fn apart(slices: &[&Slice]) -> Option<String> {
    let driven: Vec<&[Generator]> = slices.iter().map(|slice| slice.result.generators.as_slice()).collect();
    let driven: Vec<&[Generator]> = driven.into_iter().filter(|generators| !generators.is_empty()).collect();
    let too_many = |odd: usize| odd as f64 > ODD * driven.len() as f64;
    let after = |generator: &&Generator| generator.after_ns.saturating_add(generator.within_ns);
    let last = driven.iter().filter_map(|generators| generators.iter().max_by_key(after));
    let late: Vec<&Generator> = last.filter(|generator| after(generator) > TOGETHER_NS).collect();
    if too_many(late.len()) {
        let worst = late.into_iter().max_by_key(after)?;
        return Some(format!(
            "the generators did not start together: the one on `{}` started {:.2} ms after the first, give or take {:.2} ms",
            worst.host,
            worst.after_ns as f64 / 1e6,
            worst.within_ns as f64 / 1e6
        ));
    }
    let lagging: Vec<String> = driven.iter().filter_map(|generators| lagging(generators)).collect();
    if too_many(lagging.len()) {
        return lagging.into_iter().next();
    }
    let mut hosts: BTreeMap<&str, Vec<&LoadResult>> = BTreeMap::new();
    for generator in driven.into_iter().flatten() {
        hosts.entry(&generator.host).or_default().push(&generator.result);
    }
    let bottleneck = |(host, results): (&str, Vec<&LoadResult>)| {
        Some(format!("the generator on `{host}` was the bottleneck: {}", saturated(&results)?))
    };
    hosts.into_iter().find_map(bottleneck)
}

/// A generator with the same work as the others drives alone if it runs long after all others have finished.
fn lagging(generators: &[Generator]) -> Option<String> {
    let mut ends: Vec<(u64, &str)> =
        generators.iter().map(|it| (it.after_ns + it.result.elapsed_ns, it.host.as_str())).collect();
    ends.sort_unstable();
    let [.., (before, _), (last, host)] = ends[..] else { return None };
    let alone = last.saturating_sub(before) as f64 / last.max(1) as f64;
    (alone > LAGGING).then(|| {
        format!(
            "the generator on `{host}` lagged: for {:.0} % of the time all others had finished",
            alone * 100.0
        )
    })
}

/// Why open loops did not offer their rate; `None` if they did, or if there is no open loop.
fn not_offered(results: &[&LoadResult]) -> Option<String> {
    let offers: Vec<&Offer> = results.iter().filter_map(|result| result.offer.as_ref()).collect();
    let due: u64 = offers.iter().map(|offer| offer.due).sum();
    let given_up = |result: &&LoadResult| result.errors.get(&ErrorKind::GeneratorLate).copied().unwrap_or(0);
    let given_up: u64 = results.iter().map(given_up).sum();
    if given_up as f64 > NOT_OFFERED * due as f64 {
        return Some(format!("it could not send {given_up} of the {due} requests that were due"));
    }
    let mut late: Vec<u64> = offers.iter().map(|offer| offer.send_lag_us.p50).collect();
    let mut took: Vec<u64> = results.iter().map(|result| result.latency.percentiles.p50).collect();
    let late = median(&mut late)?;
    let took = median(&mut took)?;
    (late > LATE_US && late as f64 > LATE * took as f64)
        .then(|| format!("half of its requests were {:.1} ms late", late as f64 / 1e3))
}

fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Loads may be busy where their own work is part of the measurement.
fn saturated(results: &[&LoadResult]) -> Option<String> {
    let generated =
        |result: &&&LoadResult| result.facts.as_ref().is_none_or(|facts| !facts.measures_its_own_work());
    let results: Vec<&LoadResult> = results.iter().filter(generated).copied().collect();
    let share = LoadResult::busy_share(results.iter().copied());
    let busy = share.filter(|share| *share >= SATURATED);
    let busy =
        busy.map(|share| format!("its threads were busy for {:.0} % of the measured time", share * 100.0));
    busy.or_else(|| not_offered(&results))
}

/// Whether datagrams were sent at the requested rate.
fn behind(slices: &[&Slice]) -> Option<String> {
    let all = slices.iter().filter_map(|slice| slice.result.facts.as_ref()?.offered());
    let (sent, intended) = all.fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    ((sent as f64) < BEHIND * intended as f64).then(|| {
        format!("the generator was the bottleneck: it sent {sent} of the {intended} datagrams that the rate requires")
    })
}

fn stolen(slices: &[&Slice]) -> Option<String> {
    taken(slices, STOLEN)
}

/// The hypervisor took this share of the CPU time, or more.
fn taken(slices: &[&Slice], share: f64) -> Option<String> {
    let steal = pooled::cpu(slices)?.steal;
    (steal >= share)
        .then(|| format!("the hypervisor took {:.0} % of the CPU time while it was measured", steal * 100.0))
}

/// Only the baseline counts here: that connections fail after a flood is a finding, and no fault of the measurement.
fn failing(slices: &[&Slice]) -> Option<String> {
    let failed: u64 = slices.iter().map(|slice| slice.result.failed()).sum();
    let all: u64 = failed + slices.iter().map(|slice| slice.result.done()).sum::<u64>();
    let first_error = first_error(slices);
    if all > 0 && failed == all {
        return Some(format!("every connection failed in every measured phase{first_error}"));
    }
    let first = &slices.first()?.result;
    let (failed, all) = (first.failed() as f64, (first.failed() + first.done()) as f64);
    (failed > FAILED * all).then(|| {
        let kinds: Vec<&str> = first.errors.keys().map(|kind| kind.title()).collect();
        format!(
            "{failed} of {all} connections failed before the first disturbance ({}){first_error}",
            kinds.join(", ")
        )
    })
}

/// No cell is sound enough to compare another with.
fn failing_everywhere(trials: &[&TrialRecord]) -> Option<String> {
    let mut cells: BTreeMap<&BTreeMap<String, String>, (u64, u64)> = BTreeMap::new();
    for trial in trials {
        for slice in measured(&[trial], PhaseKind::Measure) {
            let (failed, done) = cells.entry(&trial.cell).or_default();
            *failed += slice.result.failed();
            *done += slice.result.done();
        }
    }
    let fails = |&(failed, done): &(u64, u64)| failed as f64 > FAILED * (failed + done) as f64;
    if cells.is_empty() || !cells.values().all(fails) {
        return None;
    }
    let (failed, done) = cells.values().fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    let place = if cells.len() > 1 {
        "in every cell more than 5 % of the operations"
    } else {
        "more than 5 % of the operations"
    };
    let slices = measured(trials, PhaseKind::Measure);
    Some(format!("{place} failed, {failed} of {} in all{}", failed + done, first_error(&slices)))
}

/// The first error of a load, to be put behind what failed; empty if none was kept.
fn first_error(slices: &[&Slice]) -> String {
    let first = slices.iter().find_map(|slice| slice.result.first_error.as_ref());
    first.map_or_else(String::new, |error| format!("; the first error: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use plimsoll_model::observation::{BulkFacts, Fault, FaultKind, Latencies, LoadResult, Percentiles};

    fn trial(result: LoadResult) -> TrialRecord {
        TrialRecord { phases: vec![fixture::phase("baseline", result)], ..TrialRecord::default() }
    }

    fn result() -> LoadResult {
        LoadResult {
            elapsed_ns: 1_000_000_000,
            connections: 100,
            threads: 1,
            user_us: 300_000,
            ..LoadResult::default()
        }
    }

    fn objection_to(trial: &TrialRecord) -> Option<String> {
        objection(&[trial])
    }

    #[test]
    fn a_calm_generator_is_no_objection() {
        assert_eq!(objection_to(&trial(result())), None);
    }

    #[test]
    fn a_busy_generator_is_named() {
        let busy = LoadResult { system_us: 680_000, ..result() };
        assert!(objection_to(&trial(busy)).unwrap().contains("busy for 98 %"));
    }

    #[test]
    fn of_several_machines_the_one_that_lags_is_named() {
        let of = |generators: Vec<Generator>| objection_to(&trial(LoadResult { generators, ..result() }));
        let generator = |host: &str, after_ns, result| Generator {
            host: host.into(),
            after_ns,
            within_ns: 40_000,
            result,
        };
        let calm = || vec![generator("a", 0, result()), generator("b", 300_000, result())];
        assert_eq!(of(calm()), None);
        let mut late = calm();
        late[1].after_ns = 980_000;
        let why = of(late).unwrap();
        assert!(
            why.contains("the one on `b` started 0.98 ms after the first, give or take 0.04 ms"),
            "{why}"
        );
        let mut busy = calm();
        busy[0].result.user_us = 970_000;
        let why = of(busy).unwrap();
        assert!(
            why.starts_with("the generator on `a` was the bottleneck: its threads were busy for 97 %"),
            "{why}"
        );
        let mut behind = calm();
        behind[1].result.offer = Some(Offer { due: 1000, begun: 900, ..Offer::default() });
        behind[1].result.errors.insert(ErrorKind::GeneratorLate, 100);
        let why = of(behind).unwrap();
        assert!(why.contains("on `b` was the bottleneck: it could not send 100 of the 1000"), "{why}");
        let mut lagging = calm();
        lagging.push(generator("c", 0, LoadResult { elapsed_ns: 2_000_000_000, ..result() }));
        let why = of(lagging).unwrap();
        assert!(
            why.contains("the generator on `c` lagged: for 50 % of the time all others had finished"),
            "{why}"
        );
    }

    fn offering(offer: Offer, errors: &[(ErrorKind, u64)]) -> TrialRecord {
        let latency = Latencies {
            percentiles: Percentiles { p50: 3_000, ..Percentiles::default() },
            ..Latencies::default()
        };
        let errors = errors.iter().copied().collect();
        trial(LoadResult { requests: 1000, errors, latency, offer: Some(offer), ..result() })
    }

    #[test]
    fn a_rate_that_was_not_offered_is_the_generators_fault_and_not_the_systems() {
        let offer = Offer { due: 1000, begun: 980, ..Offer::default() };
        let late = offering(offer.clone(), &[(ErrorKind::GeneratorLate, 20)]);
        assert!(objection_to(&late).unwrap().contains("could not send 20 of the 1000"));
        assert_eq!(objection_to(&offering(offer, &[(ErrorKind::NoConnection, 20)])), None);
    }

    #[test]
    fn a_generator_that_is_late_by_a_good_part_of_what_it_measures_is_named() {
        let late_by =
            |p50| Offer { send_lag_us: Percentiles { p50, ..Percentiles::default() }, ..Offer::default() };
        assert!(objection_to(&offering(late_by(1_500), &[])).unwrap().contains("1.5 ms late"));
        assert_eq!(objection_to(&offering(late_by(200), &[])), None);
    }

    #[test]
    fn the_ends_of_a_bulk_load_may_be_busy() {
        let streams = vec![plimsoll_model::observation::Stream::default()];
        let facts = Some(BulkFacts { streams }.into());
        let busy = LoadResult { system_us: 680_000, facts, ..result() };
        assert_eq!(objection_to(&trial(busy)), None);
    }

    #[test]
    fn datagrams_that_were_not_sent_in_time_are_named() {
        let datagrams = |sent| {
            let counts =
                plimsoll_model::observation::Datagrams { intended: 1000, sent, ..Default::default() };
            LoadResult { facts: Some(counts.into()), ..result() }
        };
        assert_eq!(objection_to(&trial(datagrams(995))), None);
        assert!(objection_to(&trial(datagrams(900))).unwrap().contains("900 of the 1000 datagrams"));
    }

    #[test]
    fn failures_before_anything_was_done_are_named() {
        let failing = LoadResult { errors: [(ErrorKind::Refused, 10)].into(), ..result() };
        assert!(objection_to(&trial(failing)).unwrap().contains("10 of 110 connections failed"));
    }

    #[test]
    fn what_fails_in_one_of_two_cells_is_a_finding_whichever_was_measured_first() {
        let of_cell = |level: &str, failed| TrialRecord {
            cell: [("backlog".to_owned(), level.to_owned())].into(),
            ..trial(LoadResult { errors: [(ErrorKind::NoPort, failed)].into(), ..result() })
        };
        let (sound, failing) = (of_cell("511", 0), of_cell("1", 900));
        assert_eq!(objection_to_comparison(&[&sound, &failing]), None);
        assert_eq!(objection_to_comparison(&[&failing, &sound]), None);
        let both = objection_to_comparison(&[&failing, &of_cell("511", 10)]).unwrap();
        assert!(
            both.starts_with("in every cell more than 5 % of the operations failed, 910 of 1110"),
            "{both}"
        );
    }

    #[test]
    fn one_trial_without_a_fault_is_enough() {
        let fault =
            Fault { phase: "flood".into(), kind: FaultKind::ServiceDied, what: "the service ended".into() };
        let faulty = TrialRecord { faults: vec![fault], ..trial(result()) };
        assert!(objection_to(&faulty).unwrap().contains("the service ended"));
        assert_eq!(objection(&[&faulty, &trial(result())]), None);
    }

    #[test]
    fn a_machine_that_is_taken_away_is_named() {
        let mut stolen = trial(result());
        let counters = &mut stolen.phases[0].slices[0].counters;
        counters.insert(
            "machine".into(),
            [("machine.stat.cpu.steal", 600_000.0), ("machine.stat.cpu.user", 400_000.0)]
                .map(|(k, v)| (k.to_owned(), v))
                .into(),
        );
        assert!(objection_to(&stolen).unwrap().contains("took 60 %"));
        stolen.phases[0].slices[0]
            .counters
            .entry("machine".into())
            .or_default()
            .insert("machine.stat.cpu.user".into(), 5_400_000.0);
        assert_eq!(objection_to(&stolen), None);
        assert!(objection_to_queue(&[&stolen]).unwrap().contains("took 10 %"));
    }
}
