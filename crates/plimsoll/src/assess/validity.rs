//! What makes a measurement unable to carry any answer.

use plimsoll_model::observation::{PhaseKind, Slice, TrialRecord};

use super::figures;

/// A generator whose threads are busy for this share of the time is the bottleneck itself.
const SATURATED: f64 = 0.95;
/// A hypervisor that takes more than this share of the CPUs' time decides the figures. Both rigs lose alike, so less is borne.
const STOLEN: f64 = 0.25;
/// More failed connections than this share, in a measured phase, and the rate is not that of the service any more.
const FAILED: f64 = 0.05;

/// Why trials cannot be judged; nothing when they can.
pub(super) fn objection(trials: &[&TrialRecord]) -> Option<String> {
    if !trials.is_empty() && trials.iter().all(|trial| !trial.faults.is_empty()) {
        let fault = &trials[0].faults[0];
        return Some(format!("no trial came to its end: in `{}`, {}", fault.phase, fault.what));
    }
    let measured: Vec<&Slice> = trials
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| &trial.phases)
        .filter(|phase| phase.kind == PhaseKind::Measure)
        .flat_map(|phase| &phase.slices)
        .collect();
    saturated(&measured).or_else(|| stolen(&measured)).or_else(|| failing(&measured))
}

fn saturated(slices: &[&Slice]) -> Option<String> {
    let busy: u64 = slices.iter().map(|slice| slice.result.user_us + slice.result.system_us).sum();
    let had: f64 = slices
        .iter()
        .map(|slice| slice.result.elapsed_ns as f64 / 1e3 * f64::from(slice.result.threads))
        .sum();
    let share = busy as f64 / had;
    (share >= SATURATED).then(|| {
        format!(
            "the generator was the bottleneck: its threads were busy for {:.0} % of the measured time",
            share * 100.0
        )
    })
}

fn stolen(slices: &[&Slice]) -> Option<String> {
    let steal = figures::cpu(slices)?.steal;
    (steal >= STOLEN)
        .then(|| format!("the hypervisor took {:.0} % of the CPU time while it was measured", steal * 100.0))
}

/// Only the baseline tells here: that connections fail after a flood is a finding, and no fault of the measurement.
fn failing(slices: &[&Slice]) -> Option<String> {
    let failed: u64 = slices.iter().map(|slice| slice.result.failed()).sum();
    let all: u64 = failed + slices.iter().map(|slice| slice.result.connections).sum::<u64>();
    (all > 0 && failed == all).then(|| "every connection failed in every measured phase".to_owned()).or_else(
        || {
            let first = slices.first()?;
            let (failed, done) = (first.result.failed() as f64, first.result.connections as f64);
            (failed > FAILED * (failed + done)).then(|| {
                let kinds: Vec<&str> = first.result.errors.keys().map(|kind| kind.title()).collect();
                format!(
                    "{failed} of {} connections failed before anything was done to the system ({})",
                    failed + done,
                    kinds.join(", ")
                )
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::observation::{ErrorKind, Fault, FaultKind, LoadResult, PhaseRecord, Twin};

    fn trial(result: LoadResult) -> TrialRecord {
        let slice = Slice { twin: Twin::Main, number: 0, at_ns: 0, result, counters: Default::default() };
        let phase = PhaseRecord {
            name: "baseline".into(),
            kind: PhaseKind::Measure,
            cycle: 0,
            rung: None,
            start_ns: 0,
            end_ns: 0,
            slices: vec![slice],
            notes: Vec::new(),
        };
        TrialRecord { phases: vec![phase], ..TrialRecord::default() }
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
    fn failures_before_anything_was_done_are_named() {
        let failing = LoadResult { errors: [(ErrorKind::Refused, 10)].into(), ..result() };
        assert!(objection_to(&trial(failing)).unwrap().contains("10 of 110 connections failed"));
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
    }
}
