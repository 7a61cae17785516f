//! Phases: what happens in a trial, in order.
//!
//! A phase is written as a table with one key for what happens in it. What is asked of every kind is `PhaseType`; each answers in its own
//! file.

mod act;
mod drive;
mod measure;
mod search;
mod service;
mod settle;
mod steps;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use self::act::DoActions;
pub use self::drive::DriveLoads;
pub use self::measure::MeasureLoads;
pub use self::service::{StartInPhase, StopInPhase};
pub use self::settle::Settle;
pub use self::steps::InnerPhases;
pub use self::watch::Watch;
use super::action::Action;
use super::hook::PhaseHook;
use super::problem::{Checked, Part, in_range, problem};
use super::{Experiment, Search, hook, problem};
use crate::effect::Effect;
use crate::phase_kind::PhaseKind;
use crate::units::Span;

kinds! {
    /// Content of a phase.
    pub enum PhaseWork, a table that is "the phase", each a dyn PhaseType {
        /// Run this load and count it, or several at once. With a control the load is cut into `slices` that alternate between the two
        /// rigs.
        measure: Measure(MeasureLoads),
        /// Run this load for its effect, or several at once: it is recorded, but is no measurement of the system.
        drive: Drive(DriveLoads),
        /// Do these things, one after the other, on the rigs that do not sit this phase out.
        r#do: Do(DoActions),
        /// Wait until the hosts have come to rest.
        settle: Settle(Settle),
        /// Stop this service. Its connections are cut off, and it cannot be reached until a later phase starts it again.
        stop: Stop(StopInPhase),
        /// Start this service again, where it was.
        start: Start(StartInPhase),
        /// Measure small windows until several in a row are as good as the baseline: this finds the time to recover.
        watch: Watch(Watch),
        /// Offer a load at rates that follow from what was found before, until the highest is known that holds a bound.
        search: Search(Search),
        /// Steps that are carried out in order, as often as `repeat` says.
        steps: Steps(InnerPhases),
    }

    /// A named stretch of a trial. Exactly one of the kinds is given.
    pub struct Phase, read as PhaseTable {
        /// Its name, by which claims refer to it.
        pub name: String,
        /// Steps while the load of the phase runs, each at its time (`at`), on the rigs that do not sit this phase out. Each is an
        /// event in the timeline, and the recovery after each is judged. Only beside `measure` or `drive`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub during: Vec<Action>,
        /// Leave out what `do` says: as a factor (`phases.NAME.skip`), a trial with the step and one without it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub skip: bool,
        /// How many slices a measured load is cut into (1 to 10000).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub slices: Option<u32>,
        /// Go on with further slices, up to this number in all, while the figure is not yet sure enough for the claim that it serves. Whether it is
        /// good or bad does not matter for that, only how much the slices scatter, so that the figure stays unbiased.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub most_slices: Option<u32>,
        /// How long such further slices may go on; without it, as long as it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub extend_for: Option<Span>,
        /// How often to run the measured load beforehand without counting it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub warm_up: Option<u32>,
        /// The measured time of a load of mail goes on until all mail that was acknowledged in the trial has arrived at this sink. What is measured
        /// is then how much a relay delivers, and not only how much it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until_delivered: Option<String>,
        /// How often to carry out the steps (1 to 10000).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub repeat: Option<u32>,
        /// Programs that are run when it begins, one after the other, on both rigs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub prepare: Vec<PhaseHook>,
        /// Programs that are run before each slice of its load.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub before_each: Vec<PhaseHook>,
        /// Programs that are run after each slice of its load.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub after_each: Vec<PhaseHook>,
        /// Programs that are run when it ends, also where it failed or was interrupted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub cleanup: Vec<PhaseHook>,
        /// The longest that the phase may take; past it the trial is invalid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub at_most: Option<Span>,
    }
}

/// Interface of every kind of phase.
pub trait PhaseType {
    /// Whether it makes sense where it stands.
    fn check(&self, at: &PhasePlace<'_>) -> Checked;

    /// The phase in words.
    fn describe(&self, phase: &Phase) -> String;

    /// The settings of a phase that mean something beside it.
    fn settings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Kinds of the records that the phase leaves, in order, without those of phases inside it.
    fn records(&self, _phase: &Phase) -> Vec<PhaseKind> {
        Vec::new()
    }

    /// How long it takes at least by itself, beside what its loads take; `None` if that is found out only by doing it.
    fn takes(&self) -> Option<Duration> {
        None
    }

    /// The loads that it runs.
    fn loads(&self) -> &[String] {
        &[]
    }

    /// The loads that it measures.
    fn measures(&self) -> &[String] {
        &[]
    }

    /// Its actions, one after the other.
    fn actions(&self) -> &[Action] {
        &[]
    }

    /// The phases inside it.
    fn inside(&self) -> &[Phase] {
        &[]
    }

    /// Effects on the machine.
    fn effects(&self, _phase: &Phase) -> Vec<Effect> {
        Vec::new()
    }

    /// The work without parts that need a namespace per host; absent where nothing changes.
    fn without_namespaces(&self) -> Option<PhaseWork> {
        None
    }
}

/// Where a phase stands.
pub struct PhasePlace<'e> {
    pub(super) experiment: &'e Experiment,
    pub(super) phase: &'e Phase,
    /// The path to it.
    pub(super) at: Vec<Part>,
    /// The measured loads by the names of the phases before it.
    pub(super) before: &'e BTreeMap<String, Option<&'e str>>,
}

impl PhasePlace<'_> {
    /// The path of one of its settings.
    fn key(&self, key: &str) -> Vec<Part> {
        [self.at.as_slice(), &path![key]].concat()
    }

    /// The name of a service that keeps a list of the mail that it has taken.
    fn mail_sink(&self, name: &str, at: Vec<Part>) -> Checked {
        problem::mail_sink(self.experiment, name, at)
    }

    /// The name of a phase before it that measures.
    fn measured_before(&self, name: &str, at: Vec<Part>) -> Checked {
        problem::measured(name, self.before, at)
    }
}

/// Settings of a phase that mean something beside some kinds alone.
fn settings(phase: &Phase) -> [(&'static str, bool, &'static str); 8] {
    [
        ("during", !phase.during.is_empty(), "`measure` or `drive`"),
        ("skip", phase.skip, "`do`"),
        ("slices", phase.slices.is_some(), "`measure`"),
        ("most_slices", phase.most_slices.is_some(), "`measure`"),
        ("extend_for", phase.extend_for.is_some(), "`measure`"),
        ("warm_up", phase.warm_up.is_some(), "`measure`"),
        ("until_delivered", phase.until_delivered.is_some(), "`measure`"),
        ("repeat", phase.repeat.is_some(), "`steps`"),
    ]
}

impl Phase {
    /// A phase in which this happens, and nothing else is said.
    #[must_use]
    pub fn of(name: &str, kind: impl Into<PhaseWork>) -> Self {
        Self {
            name: name.to_owned(),
            during: Vec::new(),
            skip: false,
            slices: None,
            most_slices: None,
            extend_for: None,
            warm_up: None,
            until_delivered: None,
            repeat: None,
            prepare: Vec::new(),
            before_each: Vec::new(),
            after_each: Vec::new(),
            cleanup: Vec::new(),
            at_most: None,
            kind: kind.into(),
        }
    }

    /// A phase that does these things.
    pub(crate) fn doing(name: &str, actions: Vec<Action>) -> Self {
        Self::of(name, DoActions { actions })
    }

    /// The phase in words.
    pub fn describe(&self) -> String {
        let mut text = self.kind.describe(self);
        for action in &self.during {
            text = format!("{text}; {}", action.describe());
        }
        text
    }

    /// The phases inside it.
    pub fn inside(&self) -> &[Self] {
        self.kind.inside()
    }

    /// The phases inside it, to be changed.
    pub(crate) fn inside_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.kind {
            PhaseWork::Steps(inner) => Some(&mut inner.phases),
            _ => None,
        }
    }

    /// How long it takes at least by itself, beside what its loads take; `None` if that is found out only by doing it.
    pub fn takes(&self) -> Option<Duration> {
        self.kind.takes()
    }

    /// The loads that it runs.
    pub fn loads(&self) -> &[String] {
        self.kind.loads()
    }

    /// The loads that it measures.
    pub fn measures(&self) -> &[String] {
        self.kind.measures()
    }

    /// The load that it measures, where that is a single one.
    pub fn measured_load(&self) -> Option<&String> {
        match self.measures() {
            [load] => Some(load),
            _ => None,
        }
    }

    /// All of its actions, in order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.kind.actions().iter().chain(&self.during)
    }

    /// The names under which it is recorded: its own, or, where it runs several loads at once, one for each: `PHASE/LOAD`.
    pub fn recorded_as(&self) -> Vec<String> {
        match self.loads() {
            [] | [_] => vec![self.name.clone()],
            several => several.iter().map(|load| recorded_as(&self.name, load)).collect(),
        }
    }

    /// Records that the phase leaves, in order, with those of phases inside it: name and kind of each.
    pub fn records(&self) -> Vec<(String, PhaseKind)> {
        let kind = &self.kind;
        let names = self.recorded_as();
        let of_each = |record| names.iter().map(move |name| (name.clone(), record));
        let own = kind.records(self).into_iter().flat_map(of_each);
        let inside: Vec<_> = kind.inside().iter().flat_map(Self::records).collect();
        let times = if inside.is_empty() { 0 } else { self.repeat.unwrap_or(1) as usize };
        own.chain(std::iter::repeat_n(inside, times).flatten()).collect()
    }

    /// Effects on the machine, without the phases inside it.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        let by = format!("phases.{}.during", self.name);
        let during = self.during.iter().flat_map(|action| action.effects(&by));
        self.kind.effects(self).into_iter().chain(during).collect()
    }

    /// The phase without parts that need a namespace per host.
    pub(crate) fn without_namespaces(mut self) -> Self {
        self.during.retain(|action| !action.needs_namespaces());
        if let Some(rest) = self.kind.without_namespaces() {
            self.kind = rest;
        }
        self
    }

    /// Checks the phase, except the phases inside it.
    pub(super) fn check(
        &self,
        experiment: &Experiment,
        at: Vec<Part>,
        before: &BTreeMap<String, Option<&str>>,
    ) -> Checked {
        let place = PhasePlace { experiment, phase: self, at, before };
        let known = self.kind.settings();
        if let Some((key, _, beside)) =
            settings(self).into_iter().find(|(key, given, _)| *given && !known.contains(key))
        {
            let message = if key == "skip" {
                "there is nothing to leave out".to_owned()
            } else {
                format!("`{key}` means nothing here")
            };
            return Err(problem(place.key(key), message, format!("it only beside {beside}")));
        }
        let numbers =
            [("slices", self.slices, 1), ("most_slices", self.most_slices, 1), ("warm_up", self.warm_up, 0)];
        for (key, number, least) in numbers.into_iter().chain([("repeat", self.repeat, 1)]) {
            number.map_or(Ok(()), |number| in_range(u64::from(number), least, 10_000, place.key(key)))?;
        }
        self.kind.check(&place)?;
        hook::of_phase(experiment, self, &place.at)?;
        self.check_during(&place)
    }

    fn check_during(&self, place: &PhasePlace<'_>) -> Checked {
        let mut names = BTreeSet::new();
        for (index, action) in self.during.iter().enumerate() {
            let here = [place.key("during"), path![index].to_vec()].concat();
            if action.at.is_none() {
                let message = "this step does not say when it is done";
                return Err(problem(here, message, "`at`, the time since the start of the load"));
            }
            if !names.insert(action.title()) {
                let message = format!("two steps of this phase are called `{}`", action.title());
                return Err(problem(here, message, "a `name` of its own for each step"));
            }
            action.check(place.experiment, &here)?;
        }
        Ok(())
    }
}

impl Experiment {
    /// All phases in the order of the file, each before the steps inside it.
    pub fn all_phases(&self) -> impl Iterator<Item = &Phase> {
        let mut waiting: Vec<&Phase> = self.phases.iter().rev().collect();
        std::iter::from_fn(move || {
            let phase = waiting.pop()?;
            waiting.extend(phase.inside().iter().rev());
            Some(phase)
        })
    }

    /// All actions in the middle of a trial, in the order of the file.
    pub fn all_actions(&self) -> impl Iterator<Item = &Action> {
        self.all_phases().flat_map(Phase::actions)
    }

    /// The load behind the figures that are recorded under this name.
    pub fn measured_load(&self, recorded: &str) -> Option<&String> {
        let phase = self.phase_recorded_as(recorded)?;
        let place = phase.recorded_as().iter().position(|name| name == recorded)?;
        phase.measures().get(place)
    }

    /// The phase that is recorded under this name.
    pub fn phase_recorded_as(&self, recorded: &str) -> Option<&Phase> {
        self.all_phases().find(|phase| phase.recorded_as().iter().any(|name| name == recorded))
    }
}

/// The name under which one of several loads that a phase measures at once is recorded.
pub fn recorded_as(phase: &str, load: &str) -> String {
    format!("{phase}/{load}")
}

#[cfg(test)]
mod tests {
    use super::super::{Override, parse};
    use super::*;

    const TEXT: &str = r#"
question = "?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.users]
from = "a"
to = "web"
http = { connections = 10 }
[loads.batch]
from = "a"
to = "web"
http = { connections = 10 }
[[phases]]
name = "peak"
measure = ["users", "batch"]
warm_up = 1
during = [
  { at = "2s", name = "cut", kill = { service = "web" } },
  { at = "3s", start = { service = "web" } },
]
[[phases]]
name = "again"
repeat = 2
[[phases.steps]]
name = "alone"
measure = "users"
[[claims]]
load = "batch"
modes = { phase = "peak", metric = "requests_per_second" }
"#;

    #[test]
    fn several_loads_are_recorded_under_names_of_their_own_and_claims_name_theirs() {
        let experiment = parse(TEXT, &[]).unwrap();
        assert_eq!(experiment.measured_load("peak/batch").map(String::as_str), Some("batch"));
        assert_eq!(experiment.measured_load("alone").map(String::as_str), Some("users"));
        assert_eq!(experiment.measured_load("peak"), None);
        assert_eq!(experiment.claims[0].modes().unwrap().phase, "peak/batch");
        let records: Vec<_> = experiment.phases.iter().flat_map(Phase::records).collect();
        let names: Vec<_> = records.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["peak/users", "peak/batch", "peak/users", "peak/batch", "alone", "alone"]);
    }

    #[test]
    fn a_step_is_set_by_its_name_or_its_place() {
        for path in ["phases.peak.during.cut.skip", "phases.0.during.0.skip"] {
            let experiment = parse(TEXT, &[Override::new(path, &true.into()).unwrap()]).unwrap();
            let skipped: Vec<bool> = experiment.all_actions().map(|action| action.skip).collect();
            assert_eq!(skipped, [true, false], "{path}");
        }
        let error = parse(TEXT, &[Override::new("phases.peak.during.cat.skip", &true.into()).unwrap()]);
        assert!(error.unwrap_err().to_string().contains("there is no `phases.peak.during.cat`"));
    }

    #[test]
    fn what_a_kind_has_no_use_for_is_refused_beside_it() {
        let message = |from: &str, to: &str| parse(&TEXT.replace(from, to), &[]).unwrap_err().to_string();
        assert_eq!(message("repeat = 2", "repeat = 2\nslices = 3"), "`slices` means nothing here");
        assert_eq!(
            message("name = \"cut\", ", "name = \"start web\", "),
            "two steps of this phase are called `start web`"
        );
        assert!(message("[\"users\", \"batch\"]", "[\"users\", \"users\"]").contains("twice at once"));
    }
}
