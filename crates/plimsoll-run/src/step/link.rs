//! Steps that change a link.

use plimsoll_model::experiment::ChangeLink;
use plimsoll_model::observation::Arm;

use crate::error::TrialStop;
use crate::trial::Trial;

impl Trial<'_> {
    pub(super) fn change_link(&mut self, arm: Arm, change: &ChangeLink) -> Result<(), TrialStop> {
        let (deployment, _) = self.deployment_and_agents(arm);
        deployment.change_link(change)
    }
}
