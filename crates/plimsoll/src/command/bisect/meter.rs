//! Versions as things to measure: made ready once, then measured as often as it takes.

use std::collections::BTreeMap;

use super::{Version, experiment};
use crate::args::BisectArgs;
use crate::failure::Failure;
use crate::measure::{
    Figure, Gauge, Invocation, MeasureError, Meter, Runner, WorkingFolder, for_names, substituted,
};
use crate::repository::Worktrees;

/// Measures a version by its place in the list.
pub(super) struct VersionMeter<'a> {
    versions: &'a [Version],
    invocations: Vec<Invocation>,
    args: &'a BisectArgs,
    gauge: &'a Gauge,
    runner: Runner,
    worktrees: Option<Worktrees>,
    /// Where the versions that are ready run.
    ready: BTreeMap<usize, WorkingFolder>,
}

impl<'a> VersionMeter<'a> {
    pub(super) fn new(
        versions: &'a [Version],
        args: &'a BisectArgs,
        gauge: &'a Gauge,
        runner: Runner,
        worktrees: Option<Worktrees>,
    ) -> Result<Self, Failure> {
        let invocations = match &args.experiment {
            Some(experiment) => experiment::commands(experiment, args, versions)?,
            None => {
                let named = args.command.iter().chain(&args.prepare).any(|text| text.contains("{}"));
                if worktrees.is_none() && !named {
                    let what = "neither the command nor --prepare has `{}` for the version";
                    return Err(Failure::Usage(what.into()));
                }
                let names: Vec<&str> = versions.iter().map(|version| version.name.as_str()).collect();
                for_names(&args.command, &names)
            }
        };
        Ok(Self { versions, invocations, args, gauge, runner, worktrees, ready: BTreeMap::new() })
    }

    /// Where a version runs, after it was checked out, set up and warmed up.
    fn place(&mut self, which: usize) -> Result<WorkingFolder, MeasureError> {
        if let Some(place) = self.ready.get(&which) {
            return Ok(place.clone());
        }
        let version = &self.versions[which];
        let place = match &self.worktrees {
            Some(worktrees) => WorkingFolder(Some(worktrees.add(&version.name)?)),
            None => WorkingFolder::default(),
        };
        if let Some(setup) = &self.args.setup {
            self.runner.run_aside(&substituted(setup, &version.name, true), &place)?;
        }
        // An experiment recreates its hosts for each run, and has its own warm-up.
        let warm_up = if self.args.experiment.is_some() { 0 } else { self.args.warm_up };
        for _ in 0..warm_up {
            self.measure_at(which, &place)?;
        }
        self.ready.insert(which, place.clone());
        Ok(place)
    }

    fn measure_at(&mut self, which: usize, place: &WorkingFolder) -> Result<Figure, MeasureError> {
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
