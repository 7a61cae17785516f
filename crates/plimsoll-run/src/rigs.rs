//! The rigs of a trial: fresh hosts, with their agents, services and background loads.

use std::time::Instant;

use plimsoll_model::experiment::{Experiment, cpus, sysctl};
use plimsoll_model::frame::Id;
use plimsoll_model::observation::Arm;

use crate::agent_pool::{AgentPool, Key};
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::host_provider::{Changed, HostProvider};

/// A running background load, on the hosts of every rig.
pub(crate) struct RunningBackground {
    pub(crate) name: String,
    pub(crate) loads: Vec<(Key, Id)>,
    /// Whether a step started it: then it stays until a step ends it.
    pub(crate) by_step: bool,
}

/// One rig, or two in an experiment with a control.
pub(crate) struct Rigs<'t> {
    pub(crate) agents: AgentPool<'t>,
    pub(crate) deployments: Vec<Deployment<'t>>,
    /// Background loads that run now.
    pub(crate) background: Vec<RunningBackground>,
    /// Settings of the whole machine, which end with the trial.
    settings: Option<Box<dyn Changed>>,
    /// Whether hooks have begun to prepare hosts.
    pub(crate) prepared: bool,
}

/// Samples of the counters per second; 0 for none.
pub(crate) fn sample_hz(experiment: &Experiment) -> u32 {
    if experiment.run.probes { experiment.run.sample_hz } else { 0 }
}

/// The rigs that an experiment has.
pub(crate) fn arms(experiment: &Experiment) -> impl Iterator<Item = Arm> + use<> {
    let both = [Arm::Treatment, Arm::Control];
    both.into_iter().take(if experiment.control.is_some() { 2 } else { 1 })
}

impl<'t> Rigs<'t> {
    pub(crate) fn new(agents: AgentPool<'t>) -> Self {
        Self { agents, deployments: Vec::new(), background: Vec::new(), settings: None, prepared: false }
    }

    /// Makes the hosts and greets their agents.
    pub(crate) fn build(
        &mut self,
        provider: &dyn HostProvider,
        experiment: &'t Experiment,
    ) -> Result<(), TrialStop> {
        let settings = sysctl::of_machine(experiment);
        if !settings.is_empty() {
            self.settings = Some(provider.change_machine(&settings)?);
        }
        let cpus = cpus::assign(&experiment.hosts, &provider.usable_cpus()?).map_err(RunError::from)?;
        for arm in arms(experiment) {
            let hosts = provider.build(experiment)?;
            self.deployments.push(Deployment::new(arm, experiment, hosts, cpus.clone())?);
        }
        for deployment in &mut self.deployments {
            deployment.join(&mut self.agents)?;
        }
        self.agents.welcome(&self.keys())?;
        self.prepared = true;
        Ok(())
    }

    /// Starts the services, and then the sampling of counters.
    pub(crate) fn start(&mut self, experiment: &Experiment) -> Result<(), TrialStop> {
        for deployment in &mut self.deployments {
            deployment.start_all(&mut self.agents)?;
        }
        let keys = self.keys();
        Ok(self.agents.sample(&keys, sample_hz(experiment))?)
    }

    /// All hosts of all rigs.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.deployments.iter().flat_map(Deployment::keys).collect()
    }

    pub(crate) fn deployment(&self, arm: Arm) -> &Deployment<'t> {
        self.deployments.iter().find(|deployment| deployment.arm == arm).expect("a deployment for each rig")
    }

    /// A rig that can be changed, and the agents to ask.
    pub(crate) fn deployment_and_agents(&mut self, arm: Arm) -> (&mut Deployment<'t>, &mut AgentPool<'t>) {
        let deployment = self
            .deployments
            .iter_mut()
            .find(|deployment| deployment.arm == arm)
            .expect("a deployment for each rig");
        (deployment, &mut self.agents)
    }

    /// How the lost agent ended, as the end of a sentence; empty if unknown.
    pub(crate) fn end_of_agent(&mut self) -> String {
        let Some(Key { arm, host }) = self.agents.lost.take() else { return String::new() };
        let rig = self.deployments.iter_mut().find(|deployment| deployment.arm == arm);
        let end = rig.map(|deployment| deployment.end_in_words(&host)).unwrap_or_default();
        if end.is_empty() { end } else { format!(": {end}") }
    }

    /// Last lines on the consoles of hosts that have ended by themselves, as the end of a sentence.
    pub(crate) fn last_lines(&mut self) -> String {
        self.deployments.iter_mut().map(Deployment::last_lines).collect()
    }

    /// Takes the hosts down and restores settings of the machine. Returns the elapsed microseconds.
    pub(crate) fn take_down(&mut self) -> u64 {
        let start = Instant::now();
        self.deployments.clear();
        self.settings = None;
        u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
