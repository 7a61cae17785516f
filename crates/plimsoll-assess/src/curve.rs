//! Cells that are points of one curve.

use std::collections::BTreeMap;

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;

/// Every combination of levels of the factors that do not make points, in the order of the plan.
pub(super) fn groups(plan: &Plan, over: &[String]) -> Vec<BTreeMap<String, String>> {
    let mut groups = Vec::new();
    for cell in &plan.cells {
        let mut group = cell.levels.clone();
        group.retain(|factor, _| !over.contains(factor));
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// The trials of one of them.
pub(super) fn of_group<'t>(
    group: &BTreeMap<String, String>,
    trials: &'t [TrialRecord],
) -> Vec<&'t TrialRecord> {
    trials
        .iter()
        .filter(|trial| group.iter().all(|(factor, level)| trial.cell.get(factor) == Some(level)))
        .collect()
}
