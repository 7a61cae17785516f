//! Versions as things to measure: made ready once, then measured as often as it takes.

use std::collections::BTreeMap;

use super::git::Worktrees;
use super::{Version, experiment};
use crate::args::BisectArgs;
use crate::failure::Failure;
use crate::measure::{
    Figure, Gauge, Invocation, MeasureError, Meter, Place, Runner, invocations, of_words, substituted,
};

/// What measures a version by its place in the list.
pub(super) struct VersionMeter<'a> {
    versions: &'a [Version],
    invocations: Vec<Invocation>,
    args: &'a BisectArgs,
    gauge: &'a Gauge,
    runner: Runner,
    worktrees: Option<Worktrees>,
    /// Where the versions that are ready run.
    ready: BTreeMap<usize, Place>,
}

impl<'a> VersionMeter<'a> {
    pub(super) fn new(
        versions: &'a [Version],
        args: &'a BisectArgs,
        gauge: &'a Gauge,
        runner: Runner,
        worktrees: Option<Worktrees>,
    ) -> Result<Self, Failure> {
        if let Some(experiment) = &args.experiment {
            let invocations = experiment::commands(experiment, args, versions)?;
            return Ok(Self {
                versions,
                invocations,
                args,
                gauge,
                runner,
                worktrees,
                ready: BTreeMap::new(),
            });
        }
        let named = args.command.iter().chain(&args.prepare).any(|text| text.contains("{}"));
        if worktrees.is_none() && !named {
            return Err(Failure::Usage(
                "neither the command nor --prepare has `{}`, where the version goes".into(),
            ));
        }
        let invocations = commands(&args.command, versions);
        Ok(Self { versions, invocations, args, gauge, runner, worktrees, ready: BTreeMap::new() })
    }

    /// Where a version runs, after it was checked out, set up and warmed up.
    fn place(&mut self, which: usize) -> Result<Place, MeasureError> {
        if let Some(place) = self.ready.get(&which) {
            return Ok(place.clone());
        }
        let version = &self.versions[which];
        let place = match &self.worktrees {
            Some(worktrees) => Place(Some(worktrees.add(&version.name)?)),
            None => Place::default(),
        };
        if let Some(setup) = &self.args.setup {
            self.runner.run_aside(&substituted(setup, &version.name, true), &place)?;
        }
        // An experiment makes its hosts anew for each run, and warms up as it says.
        let warm_up = if self.args.experiment.is_some() { 0 } else { self.args.warm_up };
        for _ in 0..warm_up {
            self.measure_at(which, &place)?;
        }
        self.ready.insert(which, place.clone());
        Ok(place)
    }

    fn measure_at(&mut self, which: usize, place: &Place) -> Result<Figure, MeasureError> {
        if let Some(prepare) = &self.args.prepare {
            self.runner.run_aside(&substituted(prepare, &self.versions[which].name, true), place)?;
        }
        self.gauge.measure(&mut self.runner, &self.invocations[which], place)
    }
}

impl Meter for VersionMeter<'_> {
    fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
        let place = self.place(which)?;
        self.measure_at(which, &place)
    }
}

/// Two neighbours of a list, as the cells of a contest.
pub(super) struct Neighbours<'m> {
    pub(super) meter: &'m mut dyn Meter,
    /// The earlier one and the later one.
    pub(super) places: [usize; 2],
}

impl Meter for Neighbours<'_> {
    fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
        self.meter.measure(self.places[which])
    }
}

/// The command for each version: a single word is a command line.
fn commands(command: &[String], versions: &[Version]) -> Vec<Invocation> {
    if let [line] = command {
        let lines: Vec<String> =
            versions.iter().map(|version| substituted(line, &version.name, true)).collect();
        return invocations(&lines);
    }
    let words =
        |version: &Version| command.iter().map(|word| substituted(word, &version.name, false)).collect();
    versions.iter().map(|version| of_words(words(version))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str) -> Version {
        Version { name: name.into(), label: name.into(), about: None }
    }

    #[test]
    fn a_single_word_is_a_command_line_and_several_are_taken_as_they_are() {
        let versions = [version("1.0"), version("a b")];
        let line = commands(&["./bench {} | tail -1".into()], &versions);
        assert_eq!(line[1], Invocation::Shell("./bench 'a b' | tail -1".into()));
        let words = commands(&["./bench".into(), "--version={}".into()], &versions);
        assert!(matches!(&words[1], Invocation::Words { words, .. } if words[1] == "--version=a b"));
    }
}
