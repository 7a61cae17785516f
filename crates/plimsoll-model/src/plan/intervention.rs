//! Interventions as an experiment: the sides that a verdict compared, the worse of them once more with the change for each cause, and with all
//! changes together.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cell, is_of};
use crate::cause::CauseId;
use crate::experiment::{Action, Experiment, Factor, FileError, Metric, Override, Paths, Phase};

/// Name of the factor.
pub const FACTOR: &str = "intervention";
/// Its level where nothing is done.
pub const NONE: &str = "none";
/// Its level with the only change.
const APPLIED: &str = "applied";
/// Its level with all of several changes. A single one has the id of its cause for a level.
const ALL: &str = "all";
/// The phase in which actions are carried out.
const PHASE: &str = "intervention";
/// The blocks that estimate a share of a loss well enough.
const BLOCKS_OF_SIDES: u32 = 8;
/// Blocks where the phase is a flood, each of which is measured in many slices.
const BLOCKS_OF_FLOODS: u32 = 3;

/// A change of an experiment that would bring back what was lost, if the cause is the cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The change in words: "with a listen queue for 4096 connections".
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
}

impl Change {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.actions.is_empty() && !self.without_background
    }
}

/// The change that tests a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseChange {
    /// The cause.
    pub cause: CauseId,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

/// Changes that test the causes of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// The run whose verdict the causes explain.
    pub run: String,
    /// Compared sides.
    pub compared: Compared,
    /// The first change.
    #[serde(flatten)]
    pub first: CauseChange,
    /// The others, each of another cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<CauseChange>,
}

/// A side of the experiment with changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedSide<'i> {
    /// Its level of the factor.
    pub level: &'static str,
    /// Its changes.
    pub changes: Vec<&'i CauseChange>,
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
    /// All changes, in the order of their causes.
    pub fn changes(&self) -> impl Iterator<Item = &CauseChange> {
        iter::once(&self.first).chain(&self.others)
    }

    /// The sides with changes: all of them together, and each alone where there are several.
    pub fn sides(&self) -> Vec<ChangedSide<'_>> {
        let all = |level| ChangedSide { level, changes: self.changes().collect() };
        if self.others.is_empty() {
            return vec![all(APPLIED)];
        }
        let alone = self.changes().map(|one| ChangedSide { level: one.cause.id(), changes: vec![one] });
        iter::once(all(ALL)).chain(alone).collect()
    }

    /// The phase before which things are done.
    fn phase(&self) -> &str {
        match &self.compared {
            Compared::Recovery { after } => after,
            Compared::Sides { phase, .. } => phase,
        }
    }

    /// Parts of the whole experiment that follow from it: the factor, and how often all cells are carried out.
    pub(super) fn extend(&self, experiment: &mut Experiment) {
        let changed = self.sides().into_iter().map(|side| side.level);
        let levels = iter::once(NONE).chain(changed).map(Value::from).collect();
        experiment.factors.insert(FACTOR.to_owned(), Factor { set: Paths::Several(Vec::new()), levels });
        experiment.remedies = None;
        let blocks = match self.compared {
            Compared::Recovery { .. } => BLOCKS_OF_FLOODS,
            Compared::Sides { .. } => BLOCKS_OF_SIDES,
        };
        (experiment.run.min_trials, experiment.run.max_trials) = (blocks, blocks);
    }

    /// The cells of the experiment that it needs, and the worse one once more for each side with changes. `read` reads the experiment with more
    /// settings than a cell has.
    pub(super) fn cells(
        &self,
        cells: &[(Cell, Vec<Override>)],
        read: impl Fn(&[Override]) -> Result<Experiment, FileError>,
    ) -> Result<Vec<Cell>, FileError> {
        let (better, worse) = match &self.compared {
            Compared::Recovery { .. } => (None, cells.first()),
            Compared::Sides { better, worse, .. } => {
                let of = |side| cells.iter().find(|(cell, _)| is_of(side, &cell.levels));
                (of(better), of(worse))
            }
        };
        let mut all: Vec<Cell> =
            better.into_iter().chain(worse).map(|(cell, _)| with_level(cell.clone(), NONE)).collect();
        if let Some((cell, overrides)) = worse {
            for ChangedSide { level, changes } in self.sides() {
                let experiment = self.changed(&changes, overrides.clone(), &read)?;
                all.push(with_level(Cell { levels: cell.levels.clone(), experiment }, level));
            }
        }
        Ok(all)
    }

    /// The experiment with these changes.
    fn changed(
        &self,
        changes: &[&CauseChange],
        mut overrides: Vec<Override>,
        read: impl Fn(&[Override]) -> Result<Experiment, FileError>,
    ) -> Result<Experiment, FileError> {
        let changes = || changes.iter().map(|one| &one.change);
        for (path, value) in changes().flat_map(|change| &change.set) {
            overrides.push(Override::new(path, value)?);
        }
        let mut experiment = read(&overrides)?;
        if changes().any(|change| change.without_background) {
            experiment.background.clear();
        }
        let actions: Vec<Action> = changes().flat_map(|change| &change.actions).cloned().collect();
        // They may come from a store, and are as strange as those of a file.
        actions.iter().try_for_each(|action| action.check_outside_of_file(&experiment))?;
        if !actions.is_empty() {
            insert(&mut experiment.phases, self.phase(), &actions);
        }
        Ok(experiment)
    }
}

fn with_level(mut cell: Cell, level: &str) -> Cell {
    cell.levels.insert(FACTOR.to_owned(), level.to_owned());
    cell.experiment.remedies = None;
    cell
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

    fn intervention(compared: Compared, mut changes: Vec<(CauseId, Change)>) -> Intervention {
        let of = |(cause, change)| CauseChange { cause, change };
        let first = of(changes.remove(0));
        Intervention { run: "r".to_owned(), compared, first, others: changes.into_iter().map(of).collect() }
    }

    fn longer_queue() -> (CauseId, Change) {
        let set = vec![("services.web.web.backlog".to_owned(), 4096.into())];
        (CauseId::NetListenOverflow, Change { what: "a longer queue".to_owned(), set, ..Change::default() })
    }

    fn without_rules(host: &str) -> (CauseId, Change) {
        let actions = vec![Action::of(FlushRules { on: host.to_owned() })];
        (CauseId::NetRuleChain, Change { what: "without rules".to_owned(), actions, ..Change::default() })
    }

    /// The cells with an intervention on sides that differ in the backlog: their level, their backlog, and their phases.
    fn cells(changes: Vec<(CauseId, Change)>) -> Vec<(String, u32, Vec<String>)> {
        let side = |level: &str| BTreeMap::from([("backlog".to_owned(), level.to_owned())]);
        let (phase, metric) = ("all".to_owned(), Metric::ConnectionsPerSecond);
        let compared = Compared::Sides { phase, metric, better: side("511"), worse: side("1") };
        let settings =
            Settings { intervention: Some(intervention(compared, changes)), ..Settings::default() };
        let plan = Plan::read("test", TEXT, &settings).unwrap();
        assert_eq!(plan.experiment.run.max_trials, BLOCKS_OF_SIDES);
        let of = |cell: Cell| {
            assert_eq!(cell.levels["clients"], "1");
            let backlog = cell.experiment.services["web"].kind.web().unwrap().backlog;
            let phases = cell.experiment.phases.into_iter().map(|phase| phase.name).collect();
            (cell.levels["intervention"].clone(), backlog, phases)
        };
        plan.cells.into_iter().map(of).collect()
    }

    fn cell(level: &str, backlog: u32, phases: &[&str]) -> (String, u32, Vec<String>) {
        (level.to_owned(), backlog, phases.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_sides_and_the_worse_one_with_the_intervention_are_the_cells() {
        let (cause, queue) = longer_queue();
        let change = Change { actions: without_rules("a").1.actions, ..queue };
        let expected = [
            cell("none", 511, &["all"]),
            cell("none", 1, &["all"]),
            cell("applied", 4096, &["intervention", "all"]),
        ];
        assert_eq!(cells(vec![(cause, change)]), expected);
    }

    #[test]
    fn of_several_changes_each_has_a_cell_beside_the_one_with_all() {
        let expected = [
            cell("none", 511, &["all"]),
            cell("none", 1, &["all"]),
            cell("all", 4096, &["intervention", "all"]),
            cell("net.listen_overflow", 4096, &["all"]),
            cell("net.rule_chain", 1, &["intervention", "all"]),
        ];
        assert_eq!(cells(vec![longer_queue(), without_rules("a")]), expected);
    }

    #[test]
    fn an_intervention_of_one_cause_is_stored_as_before_there_were_several() {
        let compared = || Compared::Recovery { after: "all".to_owned() };
        let stored = serde_json::json!({
            "cause": "net.rule_chain", "run": "r", "what": "without rules", "actions": [{ "flush_rules": { "on": "a" } }],
            "without_background": false, "compared": { "recovery": { "after": "all" } },
        });
        let one = intervention(compared(), vec![without_rules("a")]);
        assert_eq!(serde_json::to_value(&one).unwrap(), stored);
        let two = intervention(compared(), vec![without_rules("a"), longer_queue()]);
        for one in [one, two] {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<Intervention>(&text).unwrap(), one);
        }
    }

    #[test]
    fn an_action_from_a_strangers_store_is_checked_as_one_of_a_file() {
        let result = |text: &str, host: &str| {
            let compared = Compared::Recovery { after: "all".to_owned() };
            let intervention = Some(intervention(compared, vec![without_rules(host)]));
            let settings = Settings { intervention, ..Settings::default() };
            Plan::read("test", text, &settings).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(result(TEXT, "a"), Ok(()));
        let local = TEXT.replace("[hosts.a]", "[hosts.a]\nkind = \"local\"");
        assert!(result(&local, "a").unwrap_err().contains("it would be changed for everybody"));
        assert!(result(TEXT, "nowhere").unwrap_err().contains("there is no host `nowhere`"));
    }
}
