//! Steps: what is done in the middle of a trial.
//!
//! A step is written as a table with one key for its kind. What is asked of every kind is `ActionType`; each answers in its own file.

mod fill;
mod flush_rules;
mod link;
mod load;
mod run;
mod service;
mod set;
mod signal;

pub use self::fill::FillDisk;
pub use self::flush_rules::FlushRules;
pub use self::link::{ChangeLink, LinkState, states as link_states};
pub use self::load::{StartLoad, StopLoad};
pub use self::run::RunProgram;
pub use self::service::{KillService, RestartService, StartService, StopService};
pub use self::set::SetSysctls;
pub use self::signal::{SendSignal, SignalName};
use super::problem::{Checked, Part, declared, problem};
use super::{Experiment, FileError};
use crate::effect::Effect;
use crate::units::Span;

kinds! {
    /// Kind of the action.
    pub enum ActionKind, a table that is "an action", each a dyn ActionType {
        /// Run a program on a host, and wait until it ends.
        run: Run(RunProgram),
        /// Change kernel settings of a host, for the rest of the trial.
        set: Set(SetSysctls),
        /// Change a link: its rate, delay or loss, or let nothing pass.
        link: Link(ChangeLink),
        /// Fill a disk.
        fill: Fill(FillDisk),
        /// Start a load in the background.
        start_load: StartLoad(StartLoad),
        /// End a load that an earlier step started.
        stop_load: StopLoad(StopLoad),
        /// Send a signal to all processes of a service.
        signal: Signal(SendSignal),
        /// Kill a service.
        kill: Kill(KillService),
        /// Stop a service.
        stop: Stop(StopService),
        /// Start a service that was killed or stopped.
        start: Start(StartService),
        /// Stop a service and start it again.
        restart: Restart(RestartService),
        /// Take away all rules of routing policy but the kernel's three, and of nftables.
        flush_rules: FlushRules(FlushRules),
    }

    /// A step: something that is done in the middle of a trial. Exactly one of the kinds is given.
    pub struct Action, read as ActionTable {
        /// Its name, by which claims and factors refer to it, and which stands in the timeline; by default what it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// When it is done, counted from the start of the phase's load. Only in `during`, where it has to be given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub at: Option<Span>,
        /// Leave it out: as a factor (`phases.PHASE.during.STEP.skip`), a trial with the step and one without it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub skip: bool,
    }
}

/// Interface of every kind of step.
pub trait ActionType {
    /// Whether it makes sense where it stands.
    fn check(&self, at: &ActionPlace<'_>) -> Checked;

    /// The action in words, without the host.
    fn describe(&self) -> String;

    /// The host that it is done on; `None` if it concerns several.
    fn host<'e>(&'e self, _experiment: &'e Experiment) -> Option<&'e str> {
        None
    }

    /// Effects on the machine, where `by`, a path into the file, asks for them.
    fn effects(&self, by: &str) -> Vec<Effect>;

    /// Whether it changes what only a host with namespaces has to itself.
    fn needs_namespaces(&self) -> bool {
        false
    }
}

/// Where a step stands.
pub struct ActionPlace<'e> {
    experiment: &'e Experiment,
    at: Vec<Part>,
}

impl ActionPlace<'_> {
    /// The path of a field of it.
    fn key(&self, kind: &str, field: &str) -> Vec<Part> {
        [self.at.as_slice(), &path![kind, field]].concat()
    }

    /// The service is declared, and Plimsoll is who starts it.
    fn started_service(&self, service: &str, at: Vec<Part>) -> Checked {
        declared(service, &self.experiment.services, "service", at.clone())?;
        if self.experiment.services[service].kind.is_started() {
            return Ok(());
        }
        let message = format!("`{service}` runs already, and Plimsoll leaves it as it is");
        Err(problem(at, message, "a service that Plimsoll starts, such as one with `exec`"))
    }

    /// The host is declared, and what is changed of it is not the machine's.
    fn own_namespaces(&self, host: &str, at: Vec<Part>) -> Checked {
        declared(host, &self.experiment.hosts, "host", at.clone())?;
        if self.experiment.hosts[host].kind.own().network {
            return Ok(());
        }
        let what = if self.experiment.is_remote() { "an existing machine" } else { "this machine" };
        Err(problem(
            at,
            format!("`{host}` is {what}: it would be changed for everybody"),
            "a host with namespaces of its own",
        ))
    }
}

impl Action {
    /// A step without a time or a name.
    #[must_use]
    pub fn of(kind: impl Into<ActionKind>) -> Self {
        Self { name: None, at: None, skip: false, kind: kind.into() }
    }

    /// Name in the timeline.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind.describe())
    }

    /// The action in words, without the host.
    pub fn describe(&self) -> String {
        let what = match &self.name {
            Some(name) => format!("{name}: {}", self.kind.describe()),
            None => self.kind.describe(),
        };
        let left_out = if self.skip { "left out: " } else { "" };
        match self.at {
            Some(at) => format!("{left_out}at {at} {what}"),
            None => format!("{left_out}{what}"),
        }
    }

    /// Whether it changes what only a host with namespaces has to itself.
    pub(crate) fn needs_namespaces(&self) -> bool {
        self.kind.needs_namespaces()
    }

    /// Effects on the machine.
    pub(super) fn effects(&self, by: &str) -> Vec<Effect> {
        if self.skip { Vec::new() } else { self.kind.effects(by) }
    }

    /// Whether it makes sense for an experiment in whose file it does not stand.
    pub(crate) fn check_outside_of_file(&self, experiment: &Experiment) -> Result<(), FileError> {
        self.check(experiment, &[])
            .map_err(|wrong| FileError::plain(wrong.message, &wrong.expected.unwrap_or_default()))
    }

    /// Whether it makes sense.
    pub(super) fn check(&self, experiment: &Experiment, at: &[Part]) -> Checked {
        self.kind.check(&ActionPlace { experiment, at: at.to_vec() })
    }
}
