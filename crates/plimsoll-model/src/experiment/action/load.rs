//! Starting and ending a load in the background.

use super::{ActionPlace, ActionType};
use crate::experiment::prelude::*;

/// A load to start beside what is measured. It goes on until a later step ends it, or the trial is over, whatever it says of its own
/// length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartLoad {
    /// The load.
    pub load: String,
}

impl ActionType for StartLoad {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        declared(&self.load, &at.experiment.loads, "load", at.key("start_load", "load"))
    }

    fn describe(&self) -> String {
        format!("start the load {}", self.load)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }
}

/// A load that an earlier step started, to be ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopLoad {
    /// The load.
    pub load: String,
}

impl ActionType for StopLoad {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        let here = || at.key("stop_load", "load");
        declared(&self.load, &at.experiment.loads, "load", here())?;
        let starts = |load: &StartLoad| load.load == self.load;
        if at.experiment.all_actions().any(|action| action.kind.start_load().is_some_and(starts)) {
            return Ok(());
        }
        let message = format!("no step starts the load `{}`", self.load);
        Err(problem(here(), message, "a load that a step with `start_load` starts"))
    }

    fn describe(&self) -> String {
        format!("end the load {}", self.load)
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }
}
