//! Steps that concern a service.

use plimsoll_model::observation::Arm;

use crate::error::TrialStop;
use crate::trial::Trial;

impl Trial<'_> {
    pub(super) fn stop_service(&mut self, arm: Arm, service: &str) -> Result<(), TrialStop> {
        let (deployment, agents) = self.deployment_and_agents(arm);
        deployment.stop(agents, service)
    }

    /// All of its processes get SIGKILL.
    pub(super) fn kill_service(&mut self, arm: Arm, service: &str) -> Result<(), TrialStop> {
        let (deployment, agents) = self.deployment_and_agents(arm);
        deployment.kill(agents, service)
    }

    /// Starts it where it was, and waits until it is ready; one that runs is stopped before.
    pub(super) fn restart_service(&mut self, arm: Arm, service: &str) -> Result<(), TrialStop> {
        let (deployment, agents) = self.deployment_and_agents(arm);
        deployment.restart(agents, service)
    }
}
