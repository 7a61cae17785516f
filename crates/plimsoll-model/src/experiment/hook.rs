//! Hooks: programs that are run around what is measured, on a host or in a phase.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{Action, RunProgram};
use super::problem::{Checked, Part, problem};
use super::{Experiment, Host, Phase};
use crate::effect::Effect;
use crate::units::Span;

/// A program that is run once on the host whose hook it is. It is confined as a service that is a program of your own is; that it fails ends
/// the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The program and its arguments. `{scratch}` is replaced by a folder that it may write to, and that is gone afterwards.
    pub command: Vec<String>,
    /// Its environment, beside `PATH`, `HOME`, `TMPDIR`, `TZ` and the variables of the language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it keeps the rights of whoever runs Plimsoll. `run` asks before it starts such a file, or wants `--yes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// How long it may take; then it is killed.
    #[serde(default = "RunProgram::default_at_most")]
    pub at_most: Span,
}

impl Hook {
    /// It on a host.
    #[must_use]
    pub fn on(&self, host: &str) -> RunProgram {
        let Self { command, env, privileged, at_most } = self.clone();
        RunProgram { on: host.to_owned(), command, env, privileged, at_most }
    }
}

/// When a hook is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookMoment {
    /// Before all else: of a host, when it is there and before its services are started; of a phase, when it begins.
    Prepare,
    /// Before each phase that runs a load; of a phase, before each of its slices.
    BeforeEach,
    /// After each of these.
    AfterEach,
    /// At the end of the trial, or of the phase, also where that failed or was interrupted.
    Cleanup,
}

impl HookMoment {
    /// All of them, in order of time.
    pub const ALL: [Self; 4] = [Self::Prepare, Self::BeforeEach, Self::AfterEach, Self::Cleanup];

    /// Its key in the file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::BeforeEach => "before_each",
            Self::AfterEach => "after_each",
            Self::Cleanup => "cleanup",
        }
    }
}

impl Host {
    /// Its hooks of a moment.
    #[must_use]
    pub fn hooks(&self, moment: HookMoment) -> &[Hook] {
        match moment {
            HookMoment::Prepare => &self.prepare,
            HookMoment::BeforeEach => &self.before_each,
            HookMoment::AfterEach => &self.after_each,
            HookMoment::Cleanup => &self.cleanup,
        }
    }
}

impl Phase {
    /// Its hooks of a moment.
    #[must_use]
    pub fn hooks(&self, moment: HookMoment) -> &[RunProgram] {
        match moment {
            HookMoment::Prepare => &self.prepare,
            HookMoment::BeforeEach => &self.before_each,
            HookMoment::AfterEach => &self.after_each,
            HookMoment::Cleanup => &self.cleanup,
        }
    }
}

/// What the hooks of an experiment do to the machine.
pub(crate) fn effects(experiment: &Experiment) -> Vec<Effect> {
    let mut found = Vec::new();
    for moment in HookMoment::ALL {
        for (name, host) in experiment.declared_hosts() {
            let by = format!("hosts.{name}.{}", moment.key());
            found.extend(host.hooks(moment).iter().map(|hook| hook.on(name).effect(&by)));
        }
        for phase in experiment.all_phases() {
            let by = format!("phases.{}.{}", phase.name, moment.key());
            found.extend(phase.hooks(moment).iter().map(|hook| hook.effect(&by)));
        }
    }
    found
}

/// Whether the hooks of a host make sense.
pub(super) fn of_host(name: &String, host: &Host) -> Checked {
    for moment in HookMoment::ALL {
        for (place, hook) in host.hooks(moment).iter().enumerate() {
            if hook.command.is_empty() {
                let here = path!["hosts", name, moment.key(), place, "command"];
                return Err(problem(here, "the command is empty", "a program and its arguments"));
            }
        }
    }
    Ok(())
}

/// Whether the hooks of the phase at this path make sense.
pub(super) fn of_phase(experiment: &Experiment, phase: &Phase, at: &[Part]) -> Checked {
    for moment in HookMoment::ALL {
        for (place, hook) in phase.hooks(moment).iter().enumerate() {
            let here = [at, &path![moment.key(), place]].concat();
            // What is asked of a program in the middle of a trial is asked of a hook: the path lacks its kind alone.
            Action::of(hook.clone()).check(experiment, &here).map_err(|mut wrong| {
                wrong.path.retain(|part| *part != Part::from("run"));
                wrong
            })?;
        }
    }
    Ok(())
}
