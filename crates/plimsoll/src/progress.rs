//! The line on stderr that tells how far a run is: phase, cycle, live rate, and the time left. Nothing where stderr is no terminal.

use std::time::{Duration, Instant};

use plimsoll_model::experiment::Phase;
use plimsoll_model::observation::PhaseKind;
use plimsoll_model::plan::Plan;
use plimsoll_run::{Event, Observer};
use plimsoll_store::RunEntry;

use crate::output::LiveLine;

/// The line, where there is a terminal.
pub(crate) struct ProgressLine {
    line: LiveLine,
    forecast: Forecast,
    trial: String,
    phase: String,
}

impl ProgressLine {
    pub(crate) fn new(plan: &Plan, entry: &RunEntry) -> Self {
        let line = LiveLine::new(Some(Duration::from_millis(200)));
        line.say(&format!("run {} of {}: {}", entry.id, entry.experiment, plan.experiment.question));
        Self { line, forecast: Forecast::new(plan), trial: String::new(), phase: String::new() }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
    }

    fn show(&self, detail: &str) {
        let left = self
            .forecast
            .left()
            .map_or_else(String::new, |left| format!("  about {} s left", left.as_secs()));
        self.line.show(&format!("{}  {}  {detail}{left}", self.trial, self.phase));
    }

    fn say(&self, text: &str) {
        self.line.say(text);
    }
}

impl Observer for ProgressLine {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::TrialStarted { number, of } => {
                self.trial = format!("trial {number} of at most {of}");
                self.phase = "setting up".into();
                self.forecast.trial_started();
                self.show("");
            }
            Event::RigReady { took } => self.show(&format!("ready after {} ms", took.as_millis())),
            Event::PhaseStarted { name, kind, cycle, cycles } => {
                let warm_up = if *kind == PhaseKind::WarmUp { " (warm-up)" } else { "" };
                self.phase = match cycles {
                    0 => format!("{name}{warm_up}"),
                    cycles => format!("{name}{warm_up}, cycle {cycle} of {cycles}"),
                };
                self.show("");
            }
            Event::Step { name } => self.say(&format!("step: {name}")),
            Event::Progress { progress, .. } => {
                let of = progress.of.map_or_else(String::new, |of| format!(" of {of}"));
                let errors =
                    if progress.errors > 0 { format!(", {} errors", progress.errors) } else { String::new() };
                self.show(&format!("{:.0}/s  {}{of}{errors}", progress.rate, progress.done));
            }
            Event::SoFar { what } => self.show(what),
            Event::PhaseEnded { phase } => {
                let took = Duration::from_nanos(phase.end_ns - phase.start_ns);
                self.forecast.phase_ended(&phase.name, phase.kind, took);
                self.show("");
            }
            Event::Remedy { rung } => {
                self.say(&format!("not recovered; trying: {}", rung.name().replace('_', " ")));
            }
            Event::Fault { fault } => {
                self.say(&format!("in {}: {}", fault.phase, fault.what));
            }
            Event::TrialEnded { trial } => {
                self.say(&format!("trial {} is stored", trial.number));
            }
        }
    }
}

/// How long what is left of a trial will take, as far as phases of its kinds were seen before.
struct Forecast {
    /// The phases of a trial in order, each with how long it took when it was last seen.
    all: Vec<(String, PhaseKind)>,
    seen: Vec<(String, PhaseKind, Duration)>,
    done: usize,
    since: Instant,
}

impl Forecast {
    fn new(plan: &Plan) -> Self {
        let all = plan.experiment.phases.iter().flat_map(Phase::records).collect();
        Self { all, seen: Vec::new(), done: 0, since: Instant::now() }
    }

    fn trial_started(&mut self) {
        (self.done, self.since) = (0, Instant::now());
    }

    fn phase_ended(&mut self, name: &str, kind: PhaseKind, took: Duration) {
        self.seen.retain(|(other, of, _)| !(other == name && *of == kind));
        self.seen.push((name.to_owned(), kind, took));
        (self.done, self.since) = (self.done + 1, Instant::now());
    }

    /// Nothing while a phase is to come that was never seen.
    fn left(&self) -> Option<Duration> {
        let of = |(name, kind): &(String, PhaseKind)| {
            self.seen.iter().find(|(other, of, _)| other == name && of == kind).map(|(.., took)| *took)
        };
        let coming = self.all.get(self.done..)?.iter().map(of).sum::<Option<Duration>>()?;
        Some(coming.saturating_sub(self.since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::plan::Settings;

    #[test]
    fn the_time_left_is_known_once_every_kind_of_phase_was_seen() {
        let source = crate::shipped::find("flood-relay").unwrap();
        let plan = Plan::read("flood-relay", &source.text, &Settings::default()).unwrap();
        let mut forecast = Forecast::new(&plan);
        forecast.trial_started();
        let second = Duration::from_secs(1);
        for (name, kind) in forecast.all.clone().into_iter().take(5) {
            assert_eq!(forecast.left(), None, "before {name}");
            forecast.phase_ended(&name, kind, second);
        }
        forecast.phase_ended("after", PhaseKind::Measure, second);
        let left = forecast.left().unwrap();
        assert!(left > second * 11 && left <= second * 12, "three more cycles of four phases: {left:?}");
    }
}
