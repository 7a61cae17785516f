//! How long a run will take: from what was seen of it, from an earlier run like it, and from its file, in this order.

use std::fmt;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Experiment, Phase, PhaseWork};
use plimsoll_model::observation::PhaseKind;
use plimsoll_model::plan::Plan;
use plimsoll_model::units::Span;
use plimsoll_report::seconds;
use plimsoll_store::Times;

/// A phase as it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPhase {
    pub(crate) name: String,
    pub(crate) kind: PhaseKind,
    /// Whether it is measured at once with the one before it, which has the time already.
    beside: bool,
    /// Its length by the file.
    in_file: Option<Duration>,
}

/// How long what is left of a trial will take, as far as that is known.
pub(crate) struct Forecast {
    /// The phases of a trial in order.
    pub(crate) all: Vec<PlannedPhase>,
    seen: Vec<(String, PhaseKind, Duration)>,
    earlier: Option<Times>,
    pub(crate) done: usize,
    pub(crate) since: Instant,
}

impl Forecast {
    pub(crate) fn new(plan: &Plan, earlier: Option<Times>) -> Self {
        let mut all = Vec::new();
        for phase in &plan.experiment.phases {
            coming(&plan.experiment, phase, &mut all);
        }
        Self { all, seen: Vec::new(), earlier, done: 0, since: Instant::now() }
    }

    pub(crate) fn trial_started(&mut self) {
        (self.done, self.since) = (0, Instant::now());
    }

    /// Records the end of a phase, with its duration if it was complete.
    pub(crate) fn phase_ended(&mut self, name: &str, kind: PhaseKind, took: Option<Duration>) {
        if let Some(took) = took {
            self.seen.retain(|(other, of, _)| !(other == name && *of == kind));
            self.seen.push((name.to_owned(), kind, took));
        }
        (self.done, self.since) = (self.done + 1, Instant::now());
    }

    /// How long a phase takes; `None` if that is unknown.
    pub(crate) fn takes(&self, phase: &PlannedPhase) -> Option<Duration> {
        if phase.beside {
            return Some(Duration::ZERO);
        }
        let among = |times: &[(String, PhaseKind, Duration)]| {
            let it = times.iter().find(|(name, kind, _)| *name == phase.name && *kind == phase.kind);
            it.map(|(.., took)| *took)
        };
        let earlier = || among(&self.earlier.as_ref()?.phases);
        among(&self.seen).or_else(earlier).or(phase.in_file)
    }

    /// The remaining time of this trial. `None` if the duration of a later phase is unknown.
    pub(crate) fn left(&self) -> Option<Duration> {
        let coming = self.all.get(self.done..)?.iter().map(|phase| self.takes(phase));
        Some(coming.sum::<Option<Duration>>()?.saturating_sub(self.since.elapsed()))
    }

    /// A whole trial, with its set-up and teardown where those are known.
    pub(crate) fn trial(&self) -> Option<Duration> {
        let phases = self.all.iter().map(|phase| self.takes(phase)).sum::<Option<Duration>>()?;
        Some(phases + self.earlier.as_ref().map_or(Duration::ZERO, |times| times.around))
    }
}

/// The phases that a phase is recorded as, with those inside it.
fn coming(experiment: &Experiment, phase: &Phase, all: &mut Vec<PlannedPhase>) {
    if phase.inside().is_empty() {
        let names = phase.recorded_as();
        let records = phase.records().into_iter();
        all.extend(records.map(|(name, kind)| PlannedPhase {
            beside: names.first() != Some(&name),
            in_file: in_file(experiment, phase, kind),
            name,
            kind,
        }));
    }
    for _ in 0..phase.repeat.unwrap_or(1) {
        for inner in phase.inside() {
            coming(experiment, inner, all);
        }
    }
}

fn in_file(experiment: &Experiment, phase: &Phase, kind: PhaseKind) -> Option<Duration> {
    let control = experiment.control.as_ref();
    let idle = control.is_some_and(|control| control.idle_in.contains(&phase.name));
    // The two rigs take turns.
    let rigs = if control.is_none() || idle && kind == PhaseKind::Drive { 1 } else { 2 };
    match &phase.kind {
        PhaseWork::Measure(_) | PhaseWork::Drive(_) => {
            let lasts = |load: &String| experiment.loads[load].kind.lasts();
            let longest =
                phase.loads().iter().map(lasts).collect::<Option<Vec<Span>>>()?.into_iter().max()?;
            Some(longest.0 * rigs)
        }
        _ => phase.takes(),
    }
}

/// How long a run will take as a whole.
pub(crate) struct Estimate {
    trial: Option<Duration>,
    /// The run whose times these are; `None` if they are those of the file.
    as_in: Option<String>,
    fewest: u32,
    most: u32,
    budget: Option<Duration>,
}

impl Estimate {
    pub(crate) fn of(plan: &Plan, earlier: Option<&Times>) -> Self {
        let run = &plan.experiment.run;
        let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
        Self {
            trial: Forecast::new(plan, earlier.cloned()).trial(),
            as_in: earlier.map(|times| times.run.clone()),
            fewest: run.min_trials.saturating_mul(cells),
            most: run.max_trials.max(run.min_trials).saturating_mul(cells),
            budget: run.budget.map(|budget| budget.0),
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trial) = self.trial else {
            return write!(f, "how long a trial takes shows when it has been carried out once");
        };
        let source = match &self.as_in {
            Some(run) => format!("as in the run {run}"),
            None => "as its file says, without set-up".to_owned(),
        };
        let time = |time: Duration| seconds(time.as_secs_f64());
        write!(f, "a trial takes about {}, {source}; ", time(trial))?;
        let (fewest, most) = (trial * self.fewest, trial * self.most);
        let most = self.budget.map_or(most, |budget| most.min(fewest.max(budget + trial)));
        match self.fewest == self.most || most <= fewest {
            true => write!(f, "{} of them {}", self.fewest, time(fewest)),
            false => write!(f, "{} to {} of them {} to {}", self.fewest, self.most, time(fewest), time(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::plan::Settings;

    fn plan(name: &str) -> Plan {
        let source = crate::shipped::find(name).unwrap();
        Plan::read(name, &source.text, &Settings::default()).unwrap()
    }

    #[test]
    fn the_time_left_is_known_once_every_kind_of_phase_was_seen() {
        let mut forecast = Forecast::new(&plan("flood-relay"), None);
        forecast.trial_started();
        let second = Duration::from_secs(1);
        for phase in forecast.all.clone().into_iter().take(5) {
            assert_eq!(forecast.left(), None, "before {}", phase.name);
            forecast.phase_ended(&phase.name, phase.kind, Some(second));
        }
        forecast.phase_ended("after", PhaseKind::Measure, Some(second));
        let left = forecast.left().unwrap();
        assert!(left > second * 11 && left <= second * 12, "three more cycles of four phases: {left:?}");
        // A skipped phase is no measure for later ones.
        let next = forecast.all[forecast.done].clone();
        forecast.phase_ended(&next.name, next.kind, None);
        assert_eq!(forecast.takes(&next), Some(second));
    }

    #[test]
    fn an_earlier_run_predicts_how_long_one_will_take_before_anything_was_seen() {
        let plan = plan("flood-relay");
        let second = Duration::from_secs(1);
        let phases =
            Forecast::new(&plan, None).all.into_iter().map(|it| (it.name, it.kind, second)).collect();
        let times = Times { run: "abc".into(), phases, around: second };
        let trial = Forecast::new(&plan, Some(times.clone())).trial().unwrap();
        assert_eq!(trial, second * u32::try_from(Forecast::new(&plan, None).all.len() + 1).unwrap());
        let text = Estimate::of(&plan, Some(&times)).to_string();
        assert!(text.starts_with("a trial takes about ") && text.contains("as in the run abc"), "{text}");
        assert!(Estimate::of(&plan, None).to_string().contains("carried out once"));
    }

    #[test]
    fn a_file_that_says_how_long_its_loads_last_predicts_it_too() {
        let text = r#"
question = "?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { duration = "4s" }
[[phases]]
name = "all"
measure = "some"
warm_up = 1
[[phases]]
name = "rest"
settle = { at_least = "2s" }
[run]
min_trials = 3
max_trials = 6
"#;
        let plan = Plan::read("x", text, &Settings::default()).unwrap();
        let text = Estimate::of(&plan, None).to_string();
        assert_eq!(
            text,
            "a trial takes about 10 s, as its file says, without set-up; 3 to 6 of them 30 s to 60 s"
        );
    }
}
