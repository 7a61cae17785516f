//! The plain figures of a trial: rates, latencies, errors, and where the CPU time went.

use std::collections::BTreeMap;

use plimsoll_model::observation::{
    Arm, Datagrams, MessagingFacts, Offer, Percentiles, PhaseKind, PhaseRecord, Slice, Step, StorageFacts,
    TrialRecord,
};
use plimsoll_model::report::{OfferReport, PhaseReport, StepReport, TrialReport};

use super::pooled;

pub(super) fn trial(trial: &TrialRecord) -> TrialReport {
    let single =
        |kind| !matches!(kind, PhaseKind::Act | PhaseKind::Settle | PhaseKind::Watch | PhaseKind::Search);
    let measured = trial.phases.iter().filter(|phase| single(phase.kind));
    TrialReport {
        number: trial.number,
        block: trial.block,
        cell: trial.cell.clone(),
        phases: measured
            .flat_map(|phase| [Arm::Treatment, Arm::Control].map(|arm| of_phase(phase, arm)))
            .flatten()
            .collect(),
        mail: trial.mail.clone(),
        mail_minutes: super::mail::minutes(trial),
        vmstat: super::vmstat::rows(trial),
        faults: trial.faults.clone(),
        setup_ms: trial.setup_us as f64 / 1e3,
        teardown_ms: trial.teardown_us as f64 / 1e3,
    }
}

/// What a phase measured on one rig; nothing where it ran no load there.
fn of_phase(phase: &PhaseRecord, arm: Arm) -> Option<PhaseReport> {
    let slices: Vec<&Slice> = phase.slices.iter().filter(|slice| slice.arm == arm).collect();
    if slices.is_empty() {
        return None;
    }
    let sum = |of: fn(&Slice) -> u64| slices.iter().map(|slice| of(slice)).sum::<u64>();
    let seconds = sum(|slice| slice.result.elapsed_ns) as f64 / 1e9;
    let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let (connections, requests) = (sum(|slice| slice.result.connections), sum(|slice| slice.result.requests));
    let datagrams = datagrams(&slices);
    let mut errors = BTreeMap::new();
    for (kind, count) in slices.iter().flat_map(|slice| &slice.result.errors) {
        *errors.entry(*kind).or_insert(0) += count;
    }
    Some(PhaseReport {
        name: phase.name.clone(),
        kind: phase.kind,
        cycle: phase.cycle,
        arm,
        rung: phase.rung,
        connections,
        connections_per_second: per_second(connections),
        requests_per_second: per_second(requests),
        bits_per_second: if is_bulk(&slices) { per_second(8 * sum(|slice| slice.result.bytes)) } else { 0.0 },
        packets_per_second: datagrams.map(|datagrams| per_second(datagrams.received)),
        loss_share: datagrams
            .filter(|datagrams| datagrams.sent > 0)
            .map(|datagrams| datagrams.lost() as f64 / datagrams.sent as f64),
        megabytes_per_second: per_second(sum(|slice| slice.result.bytes)) / 1e6,
        storage: storage(&slices),
        messaging: messaging(&slices),
        latency_us: pooled::percentiles(slices.iter().map(|slice| &slice.result.latency.total)),
        commands_us: super::mail::commands(&slices),
        disks: super::mail::disks(&slices),
        io_pressure_us: super::mail::io_pressure(&slices),
        written_back_bytes: super::mail::written_back(&slices),
        flushes: super::mail::flushes(&slices),
        errors,
        offer: offer(&slices),
        cpu: pooled::cpu(&slices),
        start_s: phase.start_ns as f64 / 1e9,
        end_s: phase.end_ns as f64 / 1e9,
    })
}

/// Whether bytes are what the load is about.
fn is_bulk(slices: &[&Slice]) -> bool {
    slices.iter().any(|slice| !slice.result.streams.is_empty() || slice.result.datagrams.is_some())
}

/// What became of datagrams, over all slices; nothing where none were sent.
fn datagrams(slices: &[&Slice]) -> Option<Datagrams> {
    let all = slices.iter().filter_map(|slice| slice.result.datagrams);
    all.reduce(|sum, next| Datagrams {
        sent: sum.sent + next.sent,
        received: sum.received + next.received,
        ..sum
    })
}

/// What storage loads did, over all slices.
fn storage(slices: &[&Slice]) -> Option<StorageFacts> {
    let all = slices.iter().filter_map(|slice| Some((slice.result.storage?, slice.result.requests)));
    let (sum, requests) = all.fold((None::<StorageFacts>, 0), |(sum, requests), (next, of)| {
        let Some(sum) = sum else { return (Some(next), of) };
        let weighed = sum.mean_us * requests as f64 + next.mean_us * of as f64;
        let facts = StorageFacts {
            reads: sum.reads + next.reads,
            writes: sum.writes + next.writes,
            read_bytes: sum.read_bytes + next.read_bytes,
            written_bytes: sum.written_bytes + next.written_bytes,
            syncs: sum.syncs + next.syncs,
            mean_us: weighed / (requests + of).max(1) as f64,
            over_2s: sum.over_2s + next.over_2s,
            over_10s: sum.over_10s + next.over_10s,
            device_read_bytes: sum.device_read_bytes.zip(next.device_read_bytes).map(|(a, b)| a + b),
        };
        (Some(facts), requests + of)
    });
    sum.filter(|_| requests > 0)
}

/// What messaging loads did, over all slices: the rounds of all, and the memory of the first.
fn messaging(slices: &[&Slice]) -> Option<MessagingFacts> {
    let all = slices.iter().filter_map(|slice| slice.result.messaging);
    all.reduce(|sum, next| MessagingFacts {
        rounds: sum.rounds + next.rounds,
        memory: sum.memory.or(next.memory),
        ..sum
    })
}

/// What open loops offered, over all slices.
fn offer(slices: &[&Slice]) -> Option<OfferReport> {
    let offers: Vec<&Offer> = slices.iter().filter_map(|slice| slice.result.offer.as_ref()).collect();
    let sum = |of: fn(&Offer) -> u64| offers.iter().map(|offer| of(offer)).sum::<u64>();
    let per_second = |n: u64, ns: u64| if ns > 0 { n as f64 * 1e9 / ns as f64 } else { 0.0 };
    let most =
        |of: fn(&Percentiles) -> u64| offers.iter().map(|offer| of(&offer.send_lag_us)).max().unwrap_or(0);
    let send_lag_us = Percentiles {
        p50: most(|p| p.p50),
        p90: most(|p| p.p90),
        p95: most(|p| p.p95),
        p99: most(|p| p.p99),
        p99_9: most(|p| p.p99_9),
        max: most(|p| p.max),
    };
    (!offers.is_empty()).then(|| OfferReport {
        offered_per_second: per_second(sum(|offer| offer.due), sum(|offer| offer.length_ns)),
        sent_per_second: per_second(
            sum(|offer| offer.begun),
            sum(|offer| offer.length_ns.max(offer.last_begun_ns)),
        ),
        queued: sum(|offer| offer.queued),
        send_lag_us,
        // Slices repeat the same steps, each for a shorter time: one stands for all.
        steps: offers[0].steps.iter().map(step).collect(),
    })
}

fn step(step: &Step) -> StepReport {
    StepReport {
        offered_per_second: step.rate,
        answered_per_second: step.answered().unwrap_or(0.0),
        errors: step.errors,
        latency_us: step.latency_us,
    }
}
