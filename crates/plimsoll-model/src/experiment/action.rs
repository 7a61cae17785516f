//! What is done in the middle of a trial.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::{Checked, Part, declared, problem};
use super::{Experiment, FileError, SysctlValue, sysctl};
use crate::effect::{AsWhom, Effect, EffectKind, word};
use crate::units::Span;

kinds! {
    /// Something that is done in the middle of a trial. Exactly one of the kinds is given.
    pub enum Action, a table that is "an action", read as ActionTable {
        /// Run a program on a host, and wait until it ends.
        run: Run(RunProgram),
        /// Change kernel settings of a host, for the rest of the trial.
        set: Set(SetSysctls),
        /// Send a signal to all processes of a service.
        signal: Signal(SendSignal),
        /// Stop a service and start it again.
        restart: Restart(RestartService),
        /// Take away all rules of routing policy but the kernel's three, and of nftables.
        flush_rules: FlushRules(FlushRules),
    }
}

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
    /// Whether it keeps the rights of whoever runs Plimsoll. `run` asks before it starts such a file, or wants `--yes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// How long it may take; then it is killed.
    #[serde(default = "RunProgram::default_at_most")]
    pub at_most: Span,
}

impl RunProgram {
    fn default_at_most() -> Span {
        Span::secs(60)
    }

    /// The command line, as a shell would take it.
    #[must_use]
    pub fn line(&self) -> String {
        self.command.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ")
    }
}

/// Kernel settings to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSysctls {
    /// The host, which has namespaces of its own.
    pub on: String,
    /// The settings under `/proc/sys` that a host has to itself, such as `"net.ipv4.tcp_fin_timeout" = 5`.
    pub sysctls: BTreeMap<String, SysctlValue>,
}

/// A signal to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendSignal {
    /// The service.
    pub to: String,
    /// The signal.
    pub signal: SignalName,
}

/// A signal that a service outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignalName {
    /// The service stands still until `SIGCONT`.
    #[serde(rename = "SIGSTOP")]
    Stop,
    /// It goes on.
    #[serde(rename = "SIGCONT")]
    Continue,
    /// By custom: read the configuration again.
    #[serde(rename = "SIGHUP")]
    HangUp,
    /// Of the program's own meaning.
    #[serde(rename = "SIGUSR1")]
    User1,
    /// Of the program's own meaning.
    #[serde(rename = "SIGUSR2")]
    User2,
}

impl SignalName {
    /// The name that everybody knows it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "SIGSTOP",
            Self::Continue => "SIGCONT",
            Self::HangUp => "SIGHUP",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
        }
    }
}

/// A service to restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartService {
    /// The service.
    pub service: String,
}

/// A host whose rules are taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushRules {
    /// The host, which has namespaces of its own.
    pub on: String,
}

impl Action {
    /// The host that it is done on.
    #[must_use]
    pub fn host<'e>(&'e self, experiment: &'e Experiment) -> &'e str {
        match self {
            Self::Run(run) => &run.on,
            Self::Set(set) => &set.on,
            Self::FlushRules(flush) => &flush.on,
            Self::Signal(SendSignal { to: service, .. }) | Self::Restart(RestartService { service }) => {
                &experiment.services[service].on
            }
        }
    }

    /// It in words, without the host.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Run(run) => format!("run {}", run.line()),
            Self::Set(set) => {
                let settings: Vec<String> = set
                    .sysctls
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", word(&value.to_string())))
                    .collect();
                format!("set {}", settings.join(", "))
            }
            Self::Signal(signal) => format!("send {} to {}", signal.signal.name(), signal.to),
            Self::Restart(restart) => format!("restart {}", restart.service),
            Self::FlushRules(_) => "take the rules of routing policy and nftables away".to_owned(),
        }
    }

    /// Whether it changes what only a host with namespaces has to itself.
    #[must_use]
    pub fn needs_namespaces(&self) -> bool {
        matches!(self, Self::Set(_) | Self::FlushRules(_))
    }

    /// What it does to the machine.
    pub(crate) fn effects(&self, phase: &str) -> Vec<Effect> {
        let Self::Run(run) = self else { return Vec::new() };
        let whom = if run.privileged { AsWhom::Caller } else { AsWhom::Nobody };
        let variables: String =
            run.env.iter().map(|(name, value)| format!("{}={} ", word(name), word(value))).collect();
        let effect = Effect::new(EffectKind::Program, format!("phases.{phase}.do"), variables + &run.line());
        vec![effect.on(&run.on).run_as(whom)]
    }

    /// Whether it makes sense for an experiment in whose file it does not stand.
    pub(crate) fn check_outside_of_file(&self, experiment: &Experiment) -> Result<(), FileError> {
        self.check(experiment, &[])
            .map_err(|wrong| FileError::plain(wrong.message, &wrong.expected.unwrap_or_default()))
    }

    pub(super) fn check(&self, experiment: &Experiment, at: &[Part]) -> Checked {
        let here = |key: &str, field: &str| [at, &path![key, field]].concat();
        match self {
            Self::Run(run) => {
                declared(&run.on, &experiment.hosts, "host", here("run", "on"))?;
                if run.command.is_empty() {
                    let at = here("run", "command");
                    return Err(problem(at, "the command is empty", "a program and its arguments"));
                }
                Ok(())
            }
            Self::Set(set) => {
                own_namespaces(experiment, &set.on, here("set", "on"))?;
                let foreign = set.sysctls.keys().find(|name| {
                    !sysctl::is_of_a_host(name)
                        || sysctl::path(name).is_none()
                        || sysctl::refusal(name).is_some()
                });
                match foreign {
                    Some(name) => Err(problem(
                        here("set", "sysctls"),
                        format!("`{name}` is not a setting that a host has to itself"),
                        "settings of its network or IPC namespace, such as net.ipv4.tcp_fin_timeout",
                    )),
                    None => Ok(()),
                }
            }
            Self::Signal(signal) => {
                declared(&signal.to, &experiment.services, "service", here("signal", "to"))
            }
            Self::Restart(restart) => {
                declared(&restart.service, &experiment.services, "service", here("restart", "service"))
            }
            Self::FlushRules(flush) => own_namespaces(experiment, &flush.on, here("flush_rules", "on")),
        }
    }
}

/// The host is declared, and what is changed of it is not the machine's.
fn own_namespaces(experiment: &Experiment, host: &str, at: Vec<Part>) -> Checked {
    declared(host, &experiment.hosts, "host", at.clone())?;
    if experiment.hosts[host].kind.own().network {
        return Ok(());
    }
    Err(problem(
        at,
        format!("`{host}` is this machine: it would be changed for everybody"),
        "a host with namespaces of its own",
    ))
}
