//! The claim that the processors of a host behave as a queue that theory knows.

use super::{ClaimKind, ClaimPlace, random_steps};
use crate::experiment::prelude::*;

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
    /// The fewest different steps that distinguish models.
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

    follows_from!(phase);
}

/// The load of a host's CPUs over the share of their time that was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCurveDetails {
    /// The level of each factor.
    pub cell: BTreeMap<String, String>,
    /// The measured phase.
    pub phase: String,
    /// How many CPUs there were.
    pub cpus: usize,
    /// The steps of the load, by rising rate; over several trials their means.
    pub points: Vec<LoadPointReport>,
    /// The models, the best first.
    pub fits: Vec<LoadFit>,
}

/// One step of a load, as the CPUs saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPointReport {
    /// Requested rate, in requests per second.
    pub offered_per_second: f64,
    /// The share of the CPUs' time that was used, 0 to 1.
    pub utilisation: f64,
    /// The mean number of tasks that ran or waited for a CPU.
    pub load: f64,
}

/// A queueing model fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFit {
    /// Its usual name, such as `M/M/2`.
    pub model: String,
    /// Load that it assumes to be there without any work.
    pub background: f64,
    /// Its error at points that it was not fitted to: a root mean square on ln(1 + load).
    pub left_out_error: f64,
    /// Measured less modelled ln(1 + load), in the order of the points.
    pub residuals: Vec<f64>,
    /// Pairs of utilisation and load, to be drawn.
    pub curve: Vec<[f64; 2]>,
}
