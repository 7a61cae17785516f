//! Doing things, one after the other.

use std::time::Duration;

use super::{Phase, PhasePlace, PhaseType, PhaseWork};
use crate::experiment::Action;
use crate::experiment::prelude::*;

/// Things to do, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DoActions {
    /// The steps.
    pub actions: Vec<Action>,
}

impl PhaseType for DoActions {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        if self.actions.is_empty() {
            return Err(problem(at.key("do"), "there is nothing to do", "at least one step"));
        }
        for (index, action) in self.actions.iter().enumerate() {
            let here = [at.key("do"), path![index].to_vec()].concat();
            if action.at.is_some() {
                let message = "actions in `do` run one after the other, without a time";
                let expected = "`at` only in `during`, beside `measure` or `drive`";
                return Err(problem([here, path!["at"].to_vec()].concat(), message, expected));
            }
            action.check(at.experiment, &here)?;
        }
        Ok(())
    }

    fn describe(&self, phase: &Phase) -> String {
        let done: Vec<String> = self.actions.iter().map(Action::describe).collect();
        format!("{}{}", if phase.skip { "left out: " } else { "" }, done.join("; "))
    }

    fn settings(&self) -> &'static [&'static str] {
        &["skip"]
    }

    fn takes(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn records(&self, phase: &Phase) -> Vec<PhaseKind> {
        if phase.skip { Vec::new() } else { vec![PhaseKind::Act] }
    }

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn effects(&self, phase: &Phase) -> Vec<Effect> {
        if phase.skip {
            return Vec::new();
        }
        let by = format!("phases.{}.do", phase.name);
        self.actions.iter().flat_map(|action| action.effects(&by)).collect()
    }

    fn without_namespaces(&self) -> Option<PhaseWork> {
        let mut rest = self.clone();
        rest.actions.retain(|action| !action.needs_namespaces());
        Some(rest.into())
    }
}
