//! Waiting until the hosts have come to rest.

use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Phase, Settle};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::PhaseKind;

use crate::agent_pool::{Key, off_the_mark};
use crate::error::{RunError, TrialStop};
use crate::pending_steps::PHASE_LIMIT;
use crate::trial::Trial;
use crate::{mail, skip};

/// Waits until the hosts have come to rest.
pub(crate) fn settle(trial: &mut Trial<'_>, phase: &Phase, settle: &Settle) -> Result<(), TrialStop> {
    trial.begin(&phase.name, PhaseKind::Settle, None);
    skip::skippable(trial, |trial| trial.rigs.agents.idle(Instant::now() + settle.at_least.0))?;
    let limit = phase.at_most.map_or(PHASE_LIMIT, |most| most.0);
    if let Some(sink) = &settle.delivered {
        skip::skippable(trial, |trial| mail::wait_for_mail(trial, sink, limit))?;
    }
    if let Some(host) = &settle.drained {
        skip::skippable(trial, |trial| drain(trial, host, settle.time_wait, limit))?;
    }
    trial.end()
}

fn drain(trial: &mut Trial<'_>, host: &str, time_wait: bool, limit: Duration) -> Result<(), TrialStop> {
    let give_up_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let mut requests = Vec::new();
    for arm in trial.arms().collect::<Vec<_>>() {
        let id = trial.rigs.agents.id();
        requests.push((
            trial.rigs.deployment(arm).key(host),
            id,
            ToAgent::Drain { id, time_wait, give_up_ms },
        ));
    }
    let keys: Vec<Key> = requests.iter().map(|(key, ..)| key.clone()).collect();
    let answers = trial.rigs.agents.ask_all(&requests, Instant::now() + limit * 2, &mut |_, _| {})?;
    for (key, answer) in keys.iter().zip(answers) {
        let note = match answer {
            FromAgent::Drained { waited_ms, left: 0, .. } => {
                format!("no connection left on `{}` after {waited_ms} ms", key.label())
            }
            FromAgent::Drained { waited_ms, left, .. } => {
                format!("{left} connections left on `{}` after {waited_ms} ms", key.label())
            }
            FromAgent::Failed { why, .. } => {
                return Err(RunError::Agent { host: key.host.clone(), why }.into());
            }
            _ => return Err(off_the_mark(&key.host)),
        };
        trial.recorder.current().notes.push(note);
    }
    Ok(())
}
