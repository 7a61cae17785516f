//! Hooks: programs that are run around what is measured, on a host or in a phase.

use super::action::{Action, RunProgram};
use super::{Experiment, Host, Phase};
use crate::experiment::prelude::*;

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
    /// Whether it keeps the caller's rights. `run` asks before it starts such a file, or wants `--allow privileged`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// How long it may take; then it is killed.
    #[serde(default = "Span::of_secs::<60>")]
    pub at_most: Span,
    /// Its name, by which `skip` finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Leave it out: as a factor (`hosts.HOST.prepare.NAME.skip`, or its place from 0 in place of the name), a trial with it and one without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
}

/// A program that is run around a phase, or around the slices of its load. It is confined as a service that is a program of your own is; that it
/// fails ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseHook {
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
    /// Its name, by which `skip` finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Leave it out: as a factor (`phases.PHASE.prepare.NAME.skip`, or its place from 0 in place of the name), a trial with it and one without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
}

impl PhaseHook {
    /// The program that the hook runs.
    fn program(&self) -> RunProgram {
        let Self { on, command, env, privileged, at_most, .. } = self.clone();
        RunProgram { on, command, env, privileged, at_most }
    }
}

impl Hook {
    /// The program on a host.
    pub fn on(&self, host: &str) -> RunProgram {
        let Self { command, env, privileged, at_most, .. } = self.clone();
        RunProgram { on: host.to_owned(), command, env, privileged, at_most }
    }
}

/// When a hook is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
    pub fn key(self) -> &'static str {
        self.into()
    }
}

impl Host {
    /// Programs that run on the host of this name at a moment: its hooks without those that are left out.
    pub fn hooks(&self, name: &str, moment: HookMoment) -> Vec<RunProgram> {
        self.written(moment).iter().filter(|hook| !hook.skip).map(|hook| hook.on(name)).collect()
    }

    /// Its hooks of a moment, as the file has them.
    pub(super) fn written(&self, moment: HookMoment) -> &[Hook] {
        match moment {
            HookMoment::Prepare => &self.prepare,
            HookMoment::BeforeEach => &self.before_each,
            HookMoment::AfterEach => &self.after_each,
            HookMoment::Cleanup => &self.cleanup,
        }
    }
}

impl Phase {
    /// Programs that run at a moment: the hooks without those that are left out.
    pub fn hooks(&self, moment: HookMoment) -> Vec<RunProgram> {
        self.written(moment).iter().filter(|hook| !hook.skip).map(PhaseHook::program).collect()
    }

    fn written(&self, moment: HookMoment) -> &[PhaseHook] {
        match moment {
            HookMoment::Prepare => &self.prepare,
            HookMoment::BeforeEach => &self.before_each,
            HookMoment::AfterEach => &self.after_each,
            HookMoment::Cleanup => &self.cleanup,
        }
    }
}

/// Effects of an experiment's hooks on the machine.
pub(crate) fn effects(experiment: &Experiment) -> Vec<Effect> {
    let mut found = Vec::new();
    for moment in HookMoment::ALL {
        for (name, host) in experiment.declared_hosts() {
            let by = format!("hosts.{name}.{}", moment.key());
            found.extend(host.hooks(name, moment).iter().map(|hook| hook.effect(&by)));
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
        for (place, hook) in host.written(moment).iter().enumerate() {
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
        for (place, hook) in phase.written(moment).iter().enumerate() {
            let here = [at, &path![moment.key(), place]].concat();
            // A hook must meet the same conditions as a program in the middle of a trial: the path lacks its kind alone.
            Action::of(hook.program()).check(experiment, &here).map_err(|mut wrong| {
                wrong.path.retain(|part| *part != Part::from("run"));
                wrong
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Override, parse};

    const TEXT: &str = r#"
question = "What does warming up bring?"
[hosts.client]
[hosts.server]
prepare = [{ name = "warm", command = ["cat", "/etc/hosts"] }]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = {}
[loads.some]
from = "client"
to = "web"
http = { connections = 10 }
[[phases]]
name = "all"
measure = "some"
before_each = [{ on = "server", command = ["true"] }, { on = "server", name = "last", command = ["false"] }]
"#;

    #[test]
    fn a_hook_is_left_out_by_its_name_or_its_place() {
        let skipped = |path: &str| parse(TEXT, &[Override::new(path, &true.into()).unwrap()]).unwrap();
        let of_host =
            |experiment: &Experiment| experiment.hosts["server"].hooks("server", HookMoment::Prepare).len();
        let of_phase = |experiment: &Experiment| {
            let programs = experiment.phases[0].hooks(HookMoment::BeforeEach);
            programs.iter().map(RunProgram::line).collect::<Vec<_>>()
        };
        let all = parse(TEXT, &[]).unwrap();
        assert_eq!((of_host(&all), of_phase(&all)), (1, vec!["true".to_owned(), "false".to_owned()]));
        assert_eq!(of_host(&skipped("hosts.server.prepare.warm.skip")), 0);
        assert_eq!(of_phase(&skipped("phases.all.before_each.last.skip")), ["true"]);
        assert_eq!(of_phase(&skipped("phases.all.before_each.0.skip")), ["false"]);
        assert_eq!(effects(&skipped("hosts.server.prepare.warm.skip")).len(), 2);
    }
}
