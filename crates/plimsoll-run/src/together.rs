//! Loads that several machines run as one: they begin at one moment, by the clock of each.

use std::thread;
use std::time::{Duration, Instant};

use plimsoll_host::remote::{self, Offset};
use plimsoll_model::frame::ToAgent;
use plimsoll_model::observation::{ClockFacts, Fault, FaultKind, LoadResult, TOGETHER_NS};

use crate::agent_pool::{Key, Request};
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::trial::Trial;

/// Time between order and start, besides the path's delay: agents pass a load to a thread of its own.
const AHEAD: Duration = Duration::from_millis(20);

/// Longest wait for clocks that are known well enough.
const KNOWN_WITHIN: Duration = Duration::from_secs(3);
/// Time between two looks at the clocks.
const LOOK: Duration = Duration::from_millis(20);

/// Gives the loads of several machines a common start. A load of one machine begins at once.
pub(crate) fn begin_together(trial: &mut Trial<'_>, requests: &mut [Request]) -> Result<(), TrialStop> {
    trial.rigs.agents.forget_starts();
    let several = requests.iter().any(|(key, ..)| *key != requests[0].0);
    if !trial.experiment.is_remote() || !several {
        return Ok(());
    }
    let ways = clocks_of(trial, requests)?;
    let longest = ways.iter().map(|offset| offset.round_trip_ns).max().unwrap_or(0);
    let ahead = u64::try_from(AHEAD.as_nanos()).unwrap_or(u64::MAX).saturating_add(longest);
    let start_ns = remote::now_ns().saturating_add(ahead);
    for ((key, _, request), offset) in requests.iter_mut().zip(ways) {
        if let ToAgent::Run { at_ns, .. } = request {
            *at_ns = Some(start_ns.saturating_add_signed(offset.ahead_ns));
        }
        trial.rigs.agents.note_start(key, offset);
    }
    Ok(())
}

/// Offsets of the clocks of these hosts, once all are known well enough.
fn clocks_of(trial: &Trial<'_>, requests: &[Request]) -> Result<Vec<Offset>, TrialStop> {
    let good = |offset: &Offset| offset.within_ns.saturating_mul(2) <= TOGETHER_NS;
    let give_up = Instant::now() + KNOWN_WITHIN;
    loop {
        let known = |key: &Key| trial.rigs.agents.offset(key);
        let Some((key, ..)) = requests.iter().find(|(key, ..)| !known(key).as_ref().is_some_and(good)) else {
            return Ok(requests.iter().filter_map(|(key, ..)| known(key)).collect());
        };
        if Instant::now() >= give_up {
            let known = known(key).map(|offset| (offset.within_ns, offset.round_trip_ns));
            return Err(RunError::Clock { host: key.host.clone(), known }.into());
        }
        // The next answer may have a shorter round trip.
        thread::sleep(LOOK);
    }
}

/// Merges the results of several hosts that ran a load together.
pub(crate) fn of_all(trial: &Trial<'_>, each: Vec<(Key, LoadResult)>) -> LoadResult {
    if !trial.experiment.is_remote() || each.len() < 2 {
        return LoadResult::of_group(each.into_iter().map(|(_, result)| result).collect());
    }
    let known = each.into_iter().map(|(key, result)| {
        let within_ns = trial.rigs.agents.start(&key).map_or(u64::MAX / 4, |offset| offset.within_ns);
        (key.host, result, within_ns)
    });
    LoadResult::of_machines(known.collect())
}

/// Notes the offsets of other machines' clocks. Times of a clock that jumped are worthless.
pub(crate) fn ask_clocks(trial: &mut Trial<'_>) -> Result<(), TrialStop> {
    let keys: Vec<Key> = trial.rigs.deployments.iter().flat_map(Deployment::keys).collect();
    for key in keys {
        let Some(offset) = trial.rigs.agents.offset(&key) else { continue };
        let facts = ClockFacts {
            ahead_ns: offset.ahead_ns,
            within_ns: offset.within_ns,
            round_trip_ns: offset.round_trip_ns,
        };
        trial.recorder.record.clocks.insert(key.label(), facts);
        if offset.jumped {
            let what =
                format!("the clock of `{}` jumped (CLOCK_MONOTONIC_RAW against this machine's)", key.label());
            let (kind, phase) = (FaultKind::ClockJumped, String::new());
            return Err(TrialStop::Fault(Fault { phase, kind, what }));
        }
    }
    Ok(())
}
