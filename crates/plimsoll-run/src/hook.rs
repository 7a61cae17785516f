//! Hooks: programs around measurements. Clean-up hooks run also after a failure.

use std::time::Instant;

use plimsoll_model::experiment::{ActionKind, HookMoment, Phase, RunProgram};
use plimsoll_model::observation::Arm;

use crate::error::{RunError, TrialStop};
use crate::pending_steps::PHASE_LIMIT;
use crate::step;
use crate::trial::Trial;

/// The hooks of all hosts of all rigs.
pub(crate) fn hooks_of_hosts(trial: &mut Trial<'_>, moment: HookMoment) -> Result<(), TrialStop> {
    let experiment = trial.experiment;
    for (name, host) in &experiment.hosts {
        let programs = host.hooks(name, moment);
        for arm in trial.arms().collect::<Vec<_>>() {
            run_hooks(trial, arm, &programs, &format!("hosts.{name}.{}", moment.key()))?;
        }
    }
    Ok(())
}

/// The hooks of a phase, on one rig, or on all.
pub(crate) fn hooks_of_phase(
    trial: &mut Trial<'_>,
    phase: &Phase,
    moment: HookMoment,
    only: Option<Arm>,
) -> Result<(), TrialStop> {
    let programs = phase.hooks(moment);
    for arm in trial.arms().filter(|arm| only.is_none_or(|only| only == *arm)).collect::<Vec<_>>() {
        run_hooks(trial, arm, &programs, &format!("phases.{}.{}", phase.name, moment.key()))?;
    }
    Ok(())
}

fn run_hooks(trial: &mut Trial<'_>, arm: Arm, programs: &[RunProgram], hook: &str) -> Result<(), TrialStop> {
    for program in programs {
        let limit = Instant::now() + PHASE_LIMIT.max(program.at_most.0 * 2);
        let done = step::done_by_agent(trial, arm, &ActionKind::Run(program.clone()), limit);
        done.map_err(|stop| match stop {
            TrialStop::Error(RunError::Agent { host, why }) => {
                RunError::Hook { hook: hook.to_owned(), host, why }.into()
            }
            other => other,
        })?;
    }
    Ok(())
}

/// Runs `doing` to its end, also after a Ctrl-C.
pub(crate) fn cleaning_up<T>(trial: &mut Trial<'_>, doing: impl FnOnce(&mut Trial<'_>) -> T) -> T {
    let before = trial.rigs.agents.may_be_interrupted(false);
    let done = doing(trial);
    trial.rigs.agents.may_be_interrupted(before);
    done
}
