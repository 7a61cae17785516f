//! Hooks: programs around what is measured. What cleans up runs whatever became of that.

use std::time::Instant;

use plimsoll_model::experiment::{ActionKind, HookMoment, Phase, RunProgram};
use plimsoll_model::observation::Arm;

use crate::error::{RunError, TrialStop};
use crate::phase::PHASE_LIMIT;
use crate::trial::Trial;

impl<'t> Trial<'t> {
    /// Carries out a phase with the hooks around it.
    pub(crate) fn phase_with_hooks(&mut self, phase: &'t Phase) -> Result<(), TrialStop> {
        let runs_load = !phase.loads().is_empty();
        if runs_load {
            self.hooks_of_hosts(HookMoment::BeforeEach)?;
        }
        let prepared = self.hooks_of_phase(phase, HookMoment::Prepare, None);
        let done = prepared.and_then(|()| {
            let done = self.phase(phase);
            self.unless_skipped(done)
        });
        let cleaned = self.cleaning_up(|trial| trial.hooks_of_phase(phase, HookMoment::Cleanup, None));
        done.and(cleaned)?;
        if runs_load { self.hooks_of_hosts(HookMoment::AfterEach) } else { Ok(()) }
    }

    /// The hooks of all hosts of all rigs.
    pub(crate) fn hooks_of_hosts(&mut self, moment: HookMoment) -> Result<(), TrialStop> {
        let experiment = self.experiment;
        for (name, host) in &experiment.hosts {
            let programs = host.hooks(name, moment);
            for arm in self.arms().collect::<Vec<_>>() {
                self.run_hooks(arm, &programs, &format!("hosts.{name}.{}", moment.key()))?;
            }
        }
        Ok(())
    }

    /// The hooks of a phase, on one rig, or on all.
    pub(crate) fn hooks_of_phase(
        &mut self,
        phase: &Phase,
        moment: HookMoment,
        only: Option<Arm>,
    ) -> Result<(), TrialStop> {
        let programs = phase.hooks(moment);
        for arm in self.arms().filter(|arm| only.is_none_or(|only| only == *arm)).collect::<Vec<_>>() {
            self.run_hooks(arm, &programs, &format!("phases.{}.{}", phase.name, moment.key()))?;
        }
        Ok(())
    }

    fn run_hooks(&mut self, arm: Arm, programs: &[RunProgram], hook: &str) -> Result<(), TrialStop> {
        for program in programs {
            let limit = Instant::now() + PHASE_LIMIT.max(program.at_most.0 * 2);
            let done = self.done_by_agent(arm, &ActionKind::Run(program.clone()), limit);
            done.map_err(|stop| match stop {
                TrialStop::Error(RunError::Agent { host, why }) => {
                    RunError::Hook { hook: hook.to_owned(), host, why }.into()
                }
                other => other,
            })?;
        }
        Ok(())
    }

    /// Does what has to be done however the trial ends, a Ctrl-C included.
    pub(crate) fn cleaning_up<T>(&mut self, doing: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.agents.may_be_interrupted(false);
        let done = doing(self);
        self.agents.may_be_interrupted(before);
        done
    }
}
