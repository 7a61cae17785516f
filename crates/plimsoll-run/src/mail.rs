//! Mail: messages acknowledged to the sources, against those in the sinks.

use std::time::{Duration, Instant};

use plimsoll_model::experiment::Experiment;
use plimsoll_model::ids::IdSet;
use plimsoll_model::observation::{Arm, Fault, FaultKind, LoadResult, MailBalance, MailFacts, MailLedger};

use crate::error::TrialStop;
use crate::trial::Trial;

/// Time between two looks at the arrived mail.
const POLL: Duration = Duration::from_millis(50);
/// Longest wait for mail at the end of a trial without a claim on it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest number of reported ids of lost messages.
const MOST_IDS: usize = 10;

/// Arrived and missing mail after a wait.
struct Arrival {
    acknowledged: IdSet,
    ledger: MailLedger,
    waited: Duration,
}

impl Arrival {
    fn missing(&self) -> u64 {
        self.acknowledged.len() - self.acknowledged.common(&self.ledger.arrived)
    }
}

/// Waits until all acknowledged mail has arrived at a sink, on every rig, and notes the time.
pub(crate) fn wait_for_mail(trial: &mut Trial<'_>, sink: &str, limit: Duration) -> Result<(), TrialStop> {
    for arm in trial.arms().collect::<Vec<_>>() {
        let arrival = arrival(trial, acknowledged(trial, arm, sink), arm, sink, limit)?;
        let (all, seconds) = (arrival.acknowledged.len(), arrival.waited.as_secs_f64());
        let note = match arrival.missing() {
            0 => format!("all {all} acknowledged messages had arrived at `{sink}` after {seconds:.2} s"),
            missing => {
                format!(
                    "{missing} of {all} acknowledged messages had not arrived at `{sink}` after {seconds:.2} s"
                )
            }
        };
        trial.recorder.current().notes.push(note);
    }
    Ok(())
}

/// Balances the mail of every rig, once all loads have ended.
pub(crate) fn balance_mail(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let experiment = trial.experiment;
    let sinks = experiment.services.iter().filter(|(_, service)| service.kind.smtp_sink().is_some());
    for (sink, _) in sinks {
        let claims = experiment.claims.iter().filter_map(|claim| claim.delivery());
        let within = claims.filter(|claim| claim.sink == *sink).map(|claim| claim.within.0).max();
        for arm in trial.arms().collect::<Vec<_>>() {
            let acknowledged = acknowledged(trial, arm, sink);
            let arrival = arrival(trial, acknowledged, arm, sink, within.unwrap_or(PATIENCE))?;
            if !arrival.acknowledged.is_empty() || !arrival.ledger.arrived.is_empty() {
                trial.recorder.record.mail.push(balance(sink, arm, &arrival));
            }
        }
    }
    Ok(())
}

/// Adds to the time of a measured load the wait until all mail acknowledged in the trial has arrived.
pub(crate) fn deliver(
    trial: &mut Trial<'_>,
    arm: Arm,
    sink: &str,
    result: &mut LoadResult,
    deadline: Instant,
) -> Result<(), TrialStop> {
    let mut acknowledged = acknowledged(trial, arm, sink);
    if let Some(mail) = result.found::<MailFacts>() {
        acknowledged.extend(&mail.acknowledged);
    }
    let arrival =
        arrival(trial, acknowledged, arm, sink, deadline.saturating_duration_since(Instant::now()))?;
    if arrival.missing() > 0 {
        let what =
            format!("{} messages had not arrived at `{sink}` when the time was over", arrival.missing());
        return Err(TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::Deadline, what }));
    }
    result.elapsed_ns += u64::try_from(arrival.waited.as_nanos()).unwrap_or(u64::MAX);
    Ok(())
}

fn arrival(
    trial: &mut Trial<'_>,
    acknowledged: IdSet,
    arm: Arm,
    sink: &str,
    limit: Duration,
) -> Result<Arrival, TrialStop> {
    let start = Instant::now();
    loop {
        let (deployment, agents) = trial.rigs.deployment_and_agents(arm);
        let ledger = deployment.ledger(agents, sink)?;
        let arrived = acknowledged.common(&ledger.arrived) == acknowledged.len();
        let waited = start.elapsed();
        if arrived || waited >= limit {
            return Ok(Arrival { acknowledged, ledger, waited });
        }
        trial.rigs.agents.idle(Instant::now() + POLL)?;
    }
}

/// The ids of messages that a sink accepted for delivery from loads of this trial.
fn acknowledged(trial: &Trial<'_>, arm: Arm, sink: &str) -> IdSet {
    let mut all = IdSet::default();
    for slice in trial.recorder.record.phases.iter().flat_map(|phase| &phase.slices) {
        let mail = slice.result.found::<MailFacts>().filter(|_| slice.arm == arm);
        if let Some(mail) = mail.filter(|mail| leads_to(trial.experiment, &mail.load, sink)) {
            all.extend(&mail.acknowledged);
        }
    }
    all
}

/// Whether the messages of a load end at a sink.
fn leads_to(experiment: &Experiment, load: &str, sink: &str) -> bool {
    let Some(load) = experiment.loads.get(load) else { return false };
    let onward = |name: &&str| experiment.services[*name].onward();
    std::iter::successors(Some(load.to.as_str()), onward).any(|name| name == sink)
}

fn balance(sink: &str, arm: Arm, arrival: &Arrival) -> MailBalance {
    let Arrival { acknowledged, ledger, waited } = arrival;
    let (all, lost) = (acknowledged.len(), arrival.missing());
    let lost_ids = acknowledged.missing_from(&ledger.arrived).take(MOST_IDS);
    MailBalance {
        sink: sink.to_owned(),
        arm,
        acknowledged: all,
        arrived: all - lost,
        lost,
        doubled: ledger.doubled,
        corrupted: ledger.corrupted,
        unacknowledged: ledger.arrived.len() - (all - lost),
        waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        lost_ids: lost_ids.map(|id| format!("{id:016x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_messages_are_lost_and_unacknowledged_ones_are_counted_apart() {
        let arrived = [1, 2, 3, 9].into_iter().collect();
        let ledger = MailLedger { arrived, doubled: 1, corrupted: 0, unknown: 0 };
        let acknowledged = [1, 2, 3, 0xa].into_iter().collect();
        let arrival = Arrival { acknowledged, ledger, waited: Duration::from_millis(7) };
        let found = balance("sink", Arm::Treatment, &arrival);
        assert_eq!((found.acknowledged, found.arrived, found.lost, found.doubled), (4, 3, 1, 1));
        assert_eq!((found.unacknowledged, found.lost_ids), (1, vec!["000000000000000a".to_owned()]));
    }
}
