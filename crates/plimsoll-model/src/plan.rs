//! From an experiment to the cells of which its trials are made.

pub mod audit;
pub mod effects;
pub mod intervention;

use std::collections::BTreeMap;

use intervention::Intervention;

use crate::experiment::{Experiment, FileError, Override, Phase, limits, parse};

/// An experiment that is ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The experiment's name.
    pub name: String,
    /// The experiment, with the settings that were given from outside.
    pub experiment: Experiment,
    /// The cells: those that the experiment names, or every combination of the factors' levels; one for an experiment without factors.
    pub cells: Vec<Cell>,
    /// The intervention whose effect is measured, in place of the experiment's claims.
    pub intervention: Option<Intervention>,
}

/// One choice of a level for each factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The level of each factor, as text.
    pub levels: BTreeMap<String, String>,
    /// The experiment with these levels set.
    pub experiment: Experiment,
}

/// Settings from outside of the file.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether the settings under `[quick]` apply.
    pub quick: bool,
    /// Settings that come after those, in order.
    pub overrides: Vec<Override>,
    /// Levels to keep for some factors, instead of those in the file.
    pub levels: BTreeMap<String, Vec<serde_json::Value>>,
    /// Whether to carry out every cell with probes and without, and to judge the difference.
    pub audit_probes: bool,
    /// The intervention whose effect is measured, on the cells that it is about alone.
    pub intervention: Option<Intervention>,
}

impl Plan {
    /// Reads an experiment file and works out its cells.
    ///
    /// # Errors
    /// When the file or one of the settings cannot be used.
    pub fn read(name: &str, text: &str, settings: &Settings) -> Result<Self, FileError> {
        let mut overrides = Vec::new();
        if settings.quick {
            let quick = parse(text, &[])?.quick;
            for (path, value) in &quick {
                overrides.push(Override::new(path, value)?);
            }
        }
        overrides.extend(settings.overrides.iter().cloned());
        for (factor, levels) in &settings.levels {
            overrides.push(Override::new(&format!("factors.{factor}.levels"), &levels.clone().into())?);
        }
        let mut experiment = parse(text, &overrides)?;
        if settings.audit_probes {
            audit::extend(&mut experiment);
        }
        limits::check_cells(count(&experiment), text)?;
        let mut cells = Vec::new();
        for levels in combinations(&experiment) {
            let mut overrides = overrides.clone();
            for (factor, level) in &levels {
                for path in experiment.factors[*factor].set.iter() {
                    overrides.push(Override::new(path, level)?);
                }
            }
            let levels =
                levels.into_iter().map(|(factor, level)| (factor.to_owned(), level_text(level))).collect();
            cells.push((Cell { levels, experiment: parse(text, &overrides)? }, overrides));
        }
        let cells = match &settings.intervention {
            Some(intervention) => {
                intervention.extend(&mut experiment);
                intervention.cells(&cells, |overrides| parse(text, overrides))?
            }
            None => cells.into_iter().map(|(cell, _)| cell).collect(),
        };
        Ok(Self { name: name.into(), experiment, cells, intervention: settings.intervention.clone() })
    }
}

impl Plan {
    /// The plan with the text of the configuration files that services name; `read` returns the text of one, or why it cannot be read.
    ///
    /// # Errors
    /// When a file cannot be read, or a name in it stands for nothing: the service, and what is wrong.
    pub fn with_templates(
        mut self,
        mut read: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, FileError> {
        for experiment in self.cells.iter_mut().map(|cell| &mut cell.experiment).chain([&mut self.experiment])
        {
            for (name, service) in &mut experiment.services {
                let Some(config) = &service.config else { continue };
                let text = read(config);
                let wrong = match &text {
                    Ok(text) => service.objection_to_template(text),
                    Err(why) => Some(why.clone()),
                };
                if let Some(wrong) = wrong {
                    let message = format!("the configuration file {config} of the service `{name}`: {wrong}");
                    return Err(FileError::plain(
                        message,
                        "a file, in which only names stand that are known",
                    ));
                }
                service.template = text.ok();
            }
        }
        Ok(self)
    }

    /// The texts of the configuration files that services name, by the names that they have for them.
    pub fn templates(&self) -> BTreeMap<String, String> {
        let experiments = self.cells.iter().map(|cell| &cell.experiment).chain([&self.experiment]);
        let services = experiments.flat_map(|experiment| experiment.services.values());
        services.filter_map(|service| Some((service.config.clone()?, service.template.clone()?))).collect()
    }

    /// The plan with every host a local one, for machines on which namespaces are forbidden: without links, and without waiting for
    /// connections to go, since those of the whole machine would be counted.
    #[must_use]
    pub fn on_loopback(mut self) -> Self {
        for experiment in self.cells.iter_mut().map(|cell| &mut cell.experiment).chain([&mut self.experiment])
        {
            experiment.links.clear();
            for host in experiment.hosts.values_mut() {
                host.move_to_loopback();
            }
            // The loopback of the machine is not the experiment's own, and who may not make namespaces may not listen there either.
            experiment.capture = None;
            let phases = std::mem::take(&mut experiment.phases);
            experiment.phases = phases.into_iter().map(Phase::without_namespaces).collect();
        }
        self
    }
}

/// Number of [`combinations`], or the largest number where there are more.
fn count(experiment: &Experiment) -> usize {
    match experiment.cells.len() {
        0 => experiment.factors.values().fold(1, |all, factor| all.saturating_mul(factor.levels.len())),
        named => named,
    }
}

/// The cells that are named, or every combination of one level per factor; one empty combination where there is no factor.
fn combinations(experiment: &Experiment) -> Vec<Vec<(&str, &serde_json::Value)>> {
    if !experiment.cells.is_empty() {
        let named = experiment.cells.iter();
        return named
            .map(|cell| cell.iter().map(|(factor, level)| (factor.as_str(), level)).collect())
            .collect();
    }
    let mut all = vec![Vec::new()];
    for (name, factor) in &experiment.factors {
        let extended = |chosen: &Vec<(_, _)>, level| {
            let mut chosen = chosen.clone();
            chosen.push((name.as_str(), level));
            chosen
        };
        all = all
            .iter()
            .flat_map(|chosen| factor.levels.iter().map(move |level| extended(chosen, level)))
            .collect();
    }
    all
}

/// A cell in words: `kernel = 6.12, clients = 250`; empty without factors.
pub fn cell_text(levels: &BTreeMap<String, String>) -> String {
    let levels: Vec<String> = levels.iter().map(|(factor, level)| format!("{factor} = {level}")).collect();
    levels.join(", ")
}

/// Whether a cell has all of these levels.
pub fn is_of(levels: &BTreeMap<String, String>, cell: &BTreeMap<String, String>) -> bool {
    levels.iter().all(|(factor, level)| cell.get(factor) == Some(level))
}

/// A level of a factor as text, as it stands in [`Cell::levels`]: a text without its quotes, anything else as JSON.
pub fn level_text(level: &serde_json::Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

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
[factors.clients]
set = "services.web.web.clients"
levels = [1, 2]
[factors.path]
set = "loads.some.http.path"
levels = ["/", "/?s=64k", "/?s=1M"]
[quick]
"loads.some.http.connections" = 10
"#;

    #[test]
    fn every_combination_of_levels_is_a_cell() {
        let plan = Plan::read("test", TEXT, &Settings::default()).unwrap();
        assert_eq!(plan.cells.len(), 6);
        let cell = plan
            .cells
            .iter()
            .find(|cell| cell.levels["clients"] == "2" && cell.levels["path"] == "/?s=1M")
            .unwrap();
        assert_eq!(cell.experiment.services["web"].kind.web().unwrap().clients, 2);
        assert_eq!(cell.experiment.loads["some"].kind.http().unwrap().path, "/?s=1M");
    }

    #[test]
    fn cells_that_are_named_are_the_only_ones() {
        let text = TEXT.replace(
            "[quick]",
            "[[cells]]\nclients = 1\npath = \"/\"\n[[cells]]\nclients = 2\npath = \"/?s=1M\"\n[quick]",
        );
        let plan = Plan::read("test", &text, &Settings::default()).unwrap();
        let clients: Vec<&str> = plan.cells.iter().map(|cell| cell.levels["clients"].as_str()).collect();
        assert_eq!(clients, ["1", "2"]);
        let strange = text.replace("clients = 2", "clients = 3");
        let error = Plan::read("test", &strange, &Settings::default()).unwrap_err();
        assert_eq!(error.to_string(), "`clients` has no level 3");
        let short = text.replace("clients = 2\n", "");
        let error = Plan::read("test", &short, &Settings::default()).unwrap_err();
        assert!(error.to_string().contains("does not say the level of `clients`"), "{error}");
    }

    #[test]
    fn a_factor_may_set_several_things_alike() {
        let both = "set = [\"services.web.web.clients\", \"services.web.web.backlog\"]";
        let text = TEXT.replace("set = \"services.web.web.clients\"", both);
        let plan = Plan::read("test", &text, &Settings::default()).unwrap();
        for cell in &plan.cells {
            let web = cell.experiment.services["web"].kind.web().unwrap();
            assert_eq!(web.clients, web.backlog);
        }
    }

    #[test]
    fn an_experiment_without_factors_has_one_cell() {
        let text = TEXT.split("[factors.clients]").next().unwrap();
        let plan = Plan::read("test", text, &Settings::default()).unwrap();
        assert_eq!(plan.cells.len(), 1);
        assert!(plan.cells[0].levels.is_empty());
    }

    #[test]
    fn quick_settings_come_first_and_those_from_the_command_line_win() {
        let quick = Settings { quick: true, ..Settings::default() };
        let connections = |settings: &Settings| {
            Plan::read("test", TEXT, settings).unwrap().experiment.loads["some"]
                .kind
                .http()
                .unwrap()
                .connections
        };
        assert_eq!(connections(&quick), Some(10));
        let own = Override::new("loads.some.http.connections", &20.into()).unwrap();
        assert_eq!(connections(&Settings { overrides: vec![own], ..quick }), Some(20));
    }

    #[test]
    fn levels_from_the_command_line_replace_those_of_the_file() {
        let levels = BTreeMap::from([("clients".to_owned(), vec![3.into(), 4.into(), 5.into()])]);
        let plan = Plan::read("test", TEXT, &Settings { levels, ..Settings::default() }).unwrap();
        assert_eq!(plan.cells.len(), 9);
    }

    #[test]
    fn a_level_that_the_setting_cannot_take_is_an_error() {
        let text = TEXT.replace("levels = [1, 2]", "levels = [1, \"many\"]");
        let error = Plan::read("test", &text, &Settings::default()).unwrap_err();
        assert!(error.to_string().contains("invalid type"), "{error}");
    }
}
