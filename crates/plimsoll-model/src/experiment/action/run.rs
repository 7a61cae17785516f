//! Running a program once.

use super::{ActionPlace, ActionType};
use crate::effect::word;
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A program that is run once. It is confined as a service that is a program of your own is; that it fails ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunProgram {
    /// The host.
    pub on: String,
    /// The program and its arguments. `{scratch}` is replaced by a folder that it may write to, and that is gone afterwards.
    pub command: Vec<String>,
    /// Its environment, beside `PATH`, `HOME`, `TMPDIR`, `TZ` and the variables of the language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it keeps the caller's rights. `run` asks before it starts such a file, or wants `--allow privileged`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// How long it may take; then it is killed.
    #[serde(default = "Span::of_secs::<60>")]
    pub at_most: Span,
}

impl RunProgram {
    /// The command line, as a shell would take it.
    pub fn line(&self) -> String {
        self.command.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ")
    }

    /// Effects on the machine, where `by` asks for them.
    pub(in crate::experiment) fn effect(&self, by: &str) -> Effect {
        let whom = if self.privileged { RunAs::Caller } else { RunAs::Nobody };
        let variables: String =
            self.env.iter().map(|(name, value)| format!("{}={} ", word(name), word(value))).collect();
        Effect::new(EffectKind::Program, by.to_owned(), variables + &self.line()).on(&self.on).run_as(whom)
    }
}

impl ActionType for RunProgram {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        declared(&self.on, &at.experiment.hosts, "host", at.key("run", "on"))?;
        if self.command.is_empty() {
            let here = at.key("run", "command");
            return Err(problem(here, "the command is empty", "a program and its arguments"));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("run {}", self.line())
    }

    fn host<'e>(&'e self, _experiment: &'e Experiment) -> Option<&'e str> {
        Some(&self.on)
    }

    fn effects(&self, by: &str) -> Vec<Effect> {
        vec![self.effect(by)]
    }
}
