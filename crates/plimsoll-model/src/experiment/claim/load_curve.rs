//! The claim that the processors of a host behave as a queue that theory knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimKind, ClaimPlace, random_steps};
use crate::experiment::problem::{Checked, declared, problem};

/// The load of a host, over the share of its CPU time that is used, follows a queueing model: M/M/1, M/M/c, or c separate M/M/1. The
/// measured load has at least five different `open.steps` and `arrivals = "poisson"`; each step becomes a point. The load is the number of
/// tasks that run or wait for a CPU, sampled `run.sample_hz` times a second over the whole machine, less the one that samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadCurveClaim {
    /// The measured phase.
    pub phase: String,
    /// The host whose CPUs are looked at: those that it may use.
    pub host: String,
}

impl LoadCurveClaim {
    /// The fewest different steps that tell models apart.
    pub const LEAST_STEPS: usize = 5;
}

impl ClaimKind for LoadCurveClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        let load = at.load(&self.phase)?;
        declared(&self.host, &at.experiment.hosts, "host", at.key("host"))?;
        if random_steps(load) < Self::LEAST_STEPS {
            return Err(problem(
                at.key("phase"),
                "the load of this phase does not show how a queue grows",
                "a load with at least five different `open.steps` and `open.arrivals = \"poisson\"`",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("the CPUs of {} behave in {} as a queue that theory knows", self.host, self.phase)
    }
}
