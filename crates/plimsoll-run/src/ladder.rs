//! The remedies ladder: what brings the figure back says where the state lives.

use std::time::Instant;

use plimsoll_model::experiment::{Experiment, Remedies, Rung};
use plimsoll_model::frame::{FromAgent, ToAgent};
use plimsoll_model::observation::PhaseKind;

use crate::error::TrialStop;
use crate::event::Event;
use crate::host_provider::ProviderError;
use crate::phase::{Extent, PHASE_LIMIT};
use crate::trial::{Trial, sample_hz};

impl<'t> Trial<'t> {
    /// Tries one rung after the other and measures after each, until the figure is back.
    ///
    /// Each is applied to the control as well: what it has grown by being measured would otherwise stay in the control alone, and
    /// make the restored rig look better than its baseline.
    pub(crate) fn climb(&mut self) -> Result<(), TrialStop> {
        let experiment = self.experiment;
        let Some(remedies) = &experiment.remedies else { return Ok(()) };
        let claim = experiment.claims.iter().find_map(|claim| claim.recovery());
        let Some((load, extent)) = claim.and_then(|claim| find(experiment, &claim.after)) else {
            return Ok(());
        };
        let loads = [load.clone()];
        for &rung in &remedies.ladder {
            self.observer.on(&Event::Remedy { rung });
            self.begin(rung.name(), PhaseKind::Remedy, Some(rung));
            let climbed = self.rung(rung, remedies, &loads, &extent);
            self.unless_skipped(climbed)?;
            let counts = self.record.faults.is_empty();
            if !counts || self.judge.last_rung_restored(self.plan, &self.record) {
                break;
            }
        }
        Ok(())
    }

    fn rung(
        &mut self,
        rung: Rung,
        remedies: &Remedies,
        loads: &[String],
        extent: &Extent,
    ) -> Result<(), TrialStop> {
        if let Some(note) = self.apply(rung, remedies)? {
            self.current().notes.push(note);
            return self.end();
        }
        let limit = Instant::now() + PHASE_LIMIT;
        // What was just started or made anew warms up first, in a slice that is not kept.
        self.slices(loads, &Extent::just(1), limit)?;
        self.current().slices.clear();
        self.slices(loads, extent, limit)?;
        self.end()
    }

    /// Does what a rung says; a note where it cannot be done here.
    fn apply(&mut self, rung: Rung, remedies: &Remedies) -> Result<Option<String>, TrialStop> {
        let experiment = self.experiment;
        let host = &experiment.services[&remedies.service].on;
        match rung {
            Rung::WaitLonger => {
                self.skippable(|trial| trial.agents.idle(Instant::now() + remedies.wait.0))?;
            }
            Rung::RestartService => {
                for arm in self.arms() {
                    let (deployment, agents) = self.deployment_and_agents(arm);
                    deployment.restart(agents, &remedies.service)?;
                }
            }
            Rung::DropCaches => return self.drop_caches(host),
            Rung::RebuildHost => {
                let hz = sample_hz(experiment);
                for arm in self.arms() {
                    let (deployment, agents) = self.deployment_and_agents(arm);
                    match deployment.rebuild(agents, host, hz) {
                        Err(TrialStop::Error(crate::RunError::Host(
                            error @ ProviderError::NotRebuildable(_),
                        ))) => {
                            return Ok(Some(format!("not tried: {error}")));
                        }
                        other => other?,
                    }
                }
            }
        }
        Ok(None)
    }

    fn drop_caches(&mut self, host: &str) -> Result<Option<String>, TrialStop> {
        if let Err(error) = self.provider.drop_caches() {
            return Ok(Some(format!("not tried: {error}")));
        }
        for arm in self.arms() {
            let key = self.deployment(arm).key(host);
            if let FromAgent::Failed { why, .. } = self.agents.ask(&key, |id| ToAgent::FlushCaches { id })? {
                return Ok(Some(format!("not tried: {why}")));
            }
        }
        Ok(None)
    }
}

/// The load that a phase measures, and in how many slices.
fn find<'e>(experiment: &'e Experiment, name: &str) -> Option<(&'e String, Extent)> {
    let phase = experiment.phase_recorded_as(name)?;
    Some((experiment.measured_load(name)?, Extent::of(phase, experiment)))
}
