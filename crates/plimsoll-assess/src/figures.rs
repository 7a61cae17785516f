//! The plain figures of a trial: rates, latencies, errors, and where the CPU time went.

use std::collections::BTreeMap;

use plimsoll_model::experiment::{Experiment, LoadKind};
use plimsoll_model::observation::{
    self, Arm, Generator, LoadResult, Offer, PhaseRecord, Slice, Step, TrialRecord,
};
use plimsoll_model::report::{GeneratorReport, OfferReport, PhaseReport, StepReport, TrialReport};

use super::pooled;

pub(super) fn trial(experiment: &Experiment, trial: &TrialRecord) -> TrialReport {
    let measured = trial.phases.iter().filter(|phase| phase.kind.has_figures());
    TrialReport {
        number: trial.number,
        block: trial.block,
        cell: trial.cell.clone(),
        phases: measured
            .flat_map(|phase| [Arm::Treatment, Arm::Control].map(|arm| of_phase(experiment, phase, arm)))
            .flatten()
            .collect(),
        events: super::events::of_trial(trial),
        mail: trial.mail.clone(),
        mail_minutes: super::mail::minutes(trial),
        vmstat: super::vmstat::rows(trial),
        clocks: trial.clocks.clone(),
        faults: trial.faults.clone(),
        setup_ms: trial.setup_us as f64 / 1e3,
        teardown_ms: trial.teardown_us as f64 / 1e3,
    }
}

/// Figures that a phase measured on one rig; absent where the rig ran no load.
fn of_phase(experiment: &Experiment, phase: &PhaseRecord, arm: Arm) -> Option<PhaseReport> {
    let slices: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == arm).collect();
    let load = &experiment.recorded_load(&phase.name)?.kind;
    let all = observation::pooled(slices.iter().map(|slice| &slice.result))?;
    Some(PhaseReport {
        name: phase.name.clone(),
        kind: phase.kind,
        cycle: phase.cycle,
        arm,
        rung: phase.rung,
        connections: all.connections,
        figures: load.figures(&all),
        rate: all.facts.as_ref().and_then(|facts| facts.rate()),
        commands_us: super::mail::commands(&slices),
        disks: super::mail::disks(&slices),
        io_pressure_us: super::mail::io_pressure(&slices),
        written_back_bytes: super::mail::written_back(&slices),
        flushes: super::mail::flushes(&slices),
        offer: all.offer.as_ref().and_then(offer),
        errors: all.errors,
        facts: all.facts,
        generators: generators(load, &slices),
        cpu: pooled::cpu(&slices),
        start_s: phase.start_ns as f64 / 1e9,
        end_s: phase.end_ns as f64 / 1e9,
    })
}

/// Figures of each of several machines, over all slices.
fn generators(load: &LoadKind, slices: &[&Slice]) -> Vec<GeneratorReport> {
    let mut hosts: BTreeMap<&str, Vec<&Generator>> = BTreeMap::new();
    for generator in slices.iter().flat_map(|slice| &slice.result.generators) {
        hosts.entry(&generator.host).or_default().push(generator);
    }
    let report = |(host, each): (&str, Vec<&Generator>)| {
        let all = observation::pooled(each.iter().map(|it| &it.result))?;
        let latest = each.iter().max_by_key(|it| it.after_ns)?;
        Some(GeneratorReport {
            host: host.to_owned(),
            figures: load.figures(&all),
            errors: all.failed(),
            busy_share: LoadResult::busy_share([&all]),
            after_ms: latest.after_ns as f64 / 1e6,
            within_ms: latest.within_ns as f64 / 1e6,
        })
    };
    hosts.into_iter().filter_map(report).collect()
}

/// Requests of open loops, over all slices; absent where these took no time.
fn offer(all: &Offer) -> Option<OfferReport> {
    Some(OfferReport {
        offered_per_second: all.offered()?,
        sent_per_second: all.achieved()?,
        queued: all.queued,
        send_lag_us: (all.begun > all.queued).then_some(all.send_lag_us),
        steps: all.steps.iter().filter_map(step).collect(),
    })
}

fn step(step: &Step) -> Option<StepReport> {
    Some(StepReport {
        offered_per_second: step.rate,
        answered_per_second: step.answered()?,
        errors: step.errors,
        latency_us: (step.requests > 0).then_some(step.latency_us),
    })
}
