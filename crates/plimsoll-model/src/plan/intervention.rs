//! An intervention as an experiment: the sides that a verdict compared, and the worse of them with what a cause says would mend it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cell, is_of};
use crate::cause::CauseId;
use crate::experiment::{Action, Experiment, Factor, FileError, Metric, Override, Paths, Phase};

/// Name of the factor.
pub const FACTOR: &str = "intervention";
/// Its level where nothing is done.
pub const NONE: &str = "none";
/// Its level where it is done.
pub const APPLIED: &str = "applied";
/// The phase in which actions are carried out.
const PHASE: &str = "intervention";
/// The blocks that estimate a share of a loss well enough.
const BLOCKS_OF_SIDES: u32 = 8;
/// Blocks where the phase is a flood, each of which is measured in many slices.
const BLOCKS_OF_FLOODS: u32 = 3;

/// Change that tests whether a cause is the cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// The cause.
    pub cause: CauseId,
    /// The run whose verdict it explains.
    pub run: String,
    /// The change in words.
    pub what: String,
    /// Settings of the experiment, each a path and its value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, Value)>,
    /// Actions right before the figure is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// Whether background loads stay away.
    #[serde(default)]
    pub without_background: bool,
    /// Compared sides.
    pub compared: Compared,
}

/// Subject of an intervention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// A figure that did not come back: it is measured once more in this phase.
    Recovery {
        /// The phase.
        after: String,
    },
    /// The better and the worse side of a difference.
    Sides {
        /// The measured phase.
        phase: String,
        /// The figure.
        metric: Metric,
        /// The levels of the better side.
        better: BTreeMap<String, String>,
        /// The levels of the worse side.
        worse: BTreeMap<String, String>,
    },
}

impl Intervention {
    /// The phase before which things are done.
    fn phase(&self) -> &str {
        match &self.compared {
            Compared::Recovery { after } => after,
            Compared::Sides { phase, .. } => phase,
        }
    }

    /// Parts of the whole experiment that follow from it: the factor, and how often all cells are carried out.
    pub(super) fn extend(&self, experiment: &mut Experiment) {
        let levels = [NONE, APPLIED].map(Value::from).to_vec();
        experiment.factors.insert(FACTOR.to_owned(), Factor { set: Paths::Several(Vec::new()), levels });
        experiment.remedies = None;
        let blocks = match self.compared {
            Compared::Recovery { .. } => BLOCKS_OF_FLOODS,
            Compared::Sides { .. } => BLOCKS_OF_SIDES,
        };
        (experiment.run.min_trials, experiment.run.max_trials) = (blocks, blocks);
    }

    /// The cells of the experiment that it needs, and the worse one once more with it applied. `read` reads the experiment with more settings
    /// than a cell has.
    pub(super) fn cells(
        &self,
        cells: Vec<(Cell, Vec<Override>)>,
        read: impl Fn(&[Override]) -> Result<Experiment, FileError>,
    ) -> Result<Vec<Cell>, FileError> {
        let (kept, worse) = match &self.compared {
            Compared::Recovery { .. } => (Vec::new(), cells.into_iter().next()),
            Compared::Sides { better, worse, .. } => {
                let kept = cells.iter().find(|(cell, _)| is_of(better, &cell.levels));
                let kept = kept.map(|(cell, _)| cell.clone()).into_iter().collect();
                (kept, cells.into_iter().find(|(cell, _)| is_of(worse, &cell.levels)))
            }
        };
        let mut all = kept;
        if let Some((cell, mut overrides)) = worse {
            for (path, value) in &self.set {
                overrides.push(Override::new(path, value)?);
            }
            let mut experiment = read(&overrides)?;
            if self.without_background {
                experiment.background.clear();
            }
            // They may come from a store, and are as strange as those of a file.
            for action in &self.actions {
                action.check_outside_of_file(&experiment)?;
            }
            if !self.actions.is_empty() {
                insert(&mut experiment.phases, self.phase(), &self.actions);
            }
            let applied = Cell { levels: cell.levels.clone(), experiment };
            all.push(cell);
            all.push(applied);
        }
        let last = all.len().saturating_sub(1);
        for (place, cell) in all.iter_mut().enumerate() {
            let level = if place == last { APPLIED } else { NONE };
            cell.levels.insert(FACTOR.to_owned(), level.to_owned());
            cell.experiment.remedies = None;
        }
        Ok(all)
    }
}

/// Puts a phase that does these things before the one of that name, wherever it stands.
fn insert(phases: &mut Vec<Phase>, before: &str, actions: &[Action]) {
    if let Some(place) = phases.iter().position(|phase| phase.name == before) {
        phases.insert(place, Phase::doing(PHASE, actions.to_vec()));
        return;
    }
    for phase in phases {
        if let Some(inside) = phase.inside_mut() {
            insert(inside, before, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, Settings};
    use super::*;
    use crate::experiment::FlushRules;

    const TEXT: &str = r#"
question = "which?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 1000 }
[[phases]]
name = "all"
measure = "some"
[factors.backlog]
set = "services.web.web.backlog"
levels = [511, 64, 1]
[factors.clients]
set = "services.web.web.clients"
levels = [1, 2]
"#;

    #[test]
    fn both_sides_and_the_worse_one_with_the_intervention_are_the_cells() {
        let side = |level: &str| BTreeMap::from([("backlog".to_owned(), level.to_owned())]);
        let intervention = Intervention {
            cause: CauseId::NetListenOverflow,
            run: "r".to_owned(),
            what: "a longer queue".to_owned(),
            set: vec![("services.web.web.backlog".to_owned(), 4096.into())],
            actions: vec![Action::of(FlushRules { on: "a".to_owned() })],
            without_background: false,
            compared: Compared::Sides {
                phase: "all".to_owned(),
                metric: Metric::ConnectionsPerSecond,
                better: side("511"),
                worse: side("1"),
            },
        };
        let settings = Settings { intervention: Some(intervention), ..Settings::default() };
        let plan = Plan::read("test", TEXT, &settings).unwrap();
        let cells: Vec<_> = plan
            .cells
            .iter()
            .map(|cell| {
                let backlog = cell.experiment.services["web"].kind.web().unwrap().backlog;
                let phases: Vec<_> = cell.experiment.phases.iter().map(|phase| phase.name.as_str()).collect();
                (cell.levels["intervention"].as_str(), cell.levels["clients"].as_str(), backlog, phases)
            })
            .collect();
        let expected = [
            ("none", "1", 511, vec!["all"]),
            ("none", "1", 1, vec!["all"]),
            ("applied", "1", 4096, vec!["intervention", "all"]),
        ];
        assert_eq!(cells, expected);
        assert_eq!(plan.experiment.run.max_trials, BLOCKS_OF_SIDES);
    }

    #[test]
    fn an_action_from_a_strangers_store_is_checked_as_one_of_a_file() {
        let result = |text: &str, host: &str| {
            let intervention = Intervention {
                cause: CauseId::NetRuleChain,
                run: "r".to_owned(),
                what: "without rules".to_owned(),
                set: Vec::new(),
                actions: vec![Action::of(FlushRules { on: host.to_owned() })],
                without_background: false,
                compared: Compared::Recovery { after: "all".to_owned() },
            };
            let settings = Settings { intervention: Some(intervention), ..Settings::default() };
            Plan::read("test", text, &settings).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(result(TEXT, "a"), Ok(()));
        let local = TEXT.replace("[hosts.a]", "[hosts.a]\nkind = \"local\"");
        assert!(result(&local, "a").unwrap_err().contains("it would be changed for everybody"));
        assert!(result(TEXT, "nowhere").unwrap_err().contains("there is no host `nowhere`"));
    }
}
