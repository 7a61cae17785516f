//! Questions of a run in progress, answered by the reading wing, of which the control wing knows nothing.

use std::path::Path;

use plimsoll_assess::{capture, interim};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::observation::{Slice, Traffic, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::verdict::Verdict;

pub(crate) struct Judge;

impl plimsoll_run::Judge for Judge {
    fn sure_enough(&self, plan: &Plan, phase: &str, slices: &[Slice]) -> bool {
        interim::sure_enough(plan, phase, slices)
    }

    fn so_far(&self, plan: &Plan, phase: &str, slices: &[Slice]) -> Option<String> {
        interim::so_far(plan, phase, slices)
    }

    fn window_passes(
        &self,
        plan: &Plan,
        baseline: &[Slice],
        window: &Slice,
        control: Option<&Slice>,
    ) -> bool {
        interim::window_passes(plan, baseline, window, control)
    }

    fn next_rate(&self, experiment: &Experiment, phase: &str, probes: &[Slice]) -> Option<f64> {
        interim::next_rate(experiment, phase, probes)
    }

    fn calls_for_remedies(&self, plan: &Plan, trial: &TrialRecord) -> bool {
        interim::calls_for_remedies(plan, trial)
    }

    fn last_rung_restored(&self, plan: &Plan, trial: &TrialRecord) -> bool {
        interim::last_rung_restored(plan, trial)
    }

    fn unfit(&self, plan: &Plan, trials: &[TrialRecord]) -> bool {
        interim::unfit(plan, trials)
    }

    fn read_packets(&self, file: &Path) -> Result<Traffic, String> {
        capture::traffic(file)
    }

    fn so_far_of_run(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Verdict> {
        interim::verdicts(plan, trials)
    }

    fn decided(&self, plan: &Plan, trials: &[TrialRecord]) -> bool {
        interim::decided(plan, trials)
    }
}
