//! Presentation of each kind of load beside its rate and its times: one file for each kind with results of its own, of its name.

mod storage_sweep;

use plimsoll_model::experiment::load::{self, Join, OfKind};
use plimsoll_model::observation::{Arm, PhaseKind, TrialRecord};
use plimsoll_model::report::{PhaseReport, RunReport};

use crate::chart::Figure;
use crate::claims::Group;
use crate::section::{Column, Row, Section, left};
use crate::wording;

/// Results of a load in a phase, on one rig of one trial.
struct LoadFigures<'r, F> {
    cell: String,
    phase: &'r PhaseReport,
    facts: &'r F,
}

/// Interface of the facts of every kind of load.
trait Shown: Sized {
    /// The heading of the section.
    const TITLE: &'static str;

    /// Its tables and sentences; empty if no such load ran.
    fn sections(report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section>;

    /// Charts of the raw records, for a page.
    fn charts(_records: &[TrialRecord]) -> Vec<Figure> {
        Vec::new()
    }
}

/// Results of the loads of a phase together, on the rig that something is done to.
struct Pooled<'r, F> {
    cell: String,
    phase: &'r str,
    facts: F,
}

/// All trials of a cell's phase together, in the order of the phases.
fn pooled<'r, F: Join + Clone>(found: &[LoadFigures<'r, F>]) -> Vec<Pooled<'r, F>> {
    let mut all: Vec<Pooled<'r, F>> = Vec::new();
    for LoadFigures { cell, phase, facts } in found.iter().filter(|found| found.phase.arm == Arm::Treatment) {
        match all.iter_mut().find(|known| known.phase == phase.name && known.cell == *cell) {
            Some(known) => known.facts.join(facts),
            None => {
                all.push(Pooled { cell: cell.clone(), phase: &phase.name, facts: (*facts).clone() });
            }
        }
    }
    all
}

/// Numbers of every phase's loads together, under `columns`; empty if no such load ran.
fn by_phase<F: Shown + Join + Clone>(
    found: &[LoadFigures<'_, F>],
    columns: impl IntoIterator<Item = Column>,
    numbers: impl Fn(&F) -> Vec<String>,
) -> Vec<Section> {
    let columns: Vec<Column> = [left("cell"), left("phase")].into_iter().chain(columns).collect();
    let rows = pooled(found).into_iter().map(|of| {
        let numbers = numbers(&of.facts);
        Row::of([vec![of.cell, of.phase.to_owned()], numbers].concat())
    });
    let title = format!("{}, all trials of a phase together", F::TITLE);
    let section = Section::new(title).table(columns, rows);
    (!found.is_empty()).then_some(section).into_iter().collect()
}

macro_rules! define {
    ($($(#[$_of_kind:meta])* $key:ident: $kind:ident($_load:ident) $(finds $facts:ident)?,)+) => {
        $($(
            #[doc = concat!("What there is to show of `", stringify!($facts), "`.")]
            mod $key;
        )?)+

        /// Sections of the loads' results, kind by kind; nothing of kinds that have nothing to show. Charts are drawn where there are records.
        pub(crate) fn groups(report: &RunReport, records: &[TrialRecord]) -> Vec<Group> {
            let mut groups = vec![$($(
                group::<load::$key::$facts>(concat!("load-", stringify!($key)), report, records),
            )?)+];
            groups.retain(|group| !group.sections.is_empty());
            groups
        }
    };
}

plimsoll_model::each_load!(define);

fn group<F: Shown + OfKind>(id: &'static str, report: &RunReport, records: &[TrialRecord]) -> Group {
    let mut sections = F::sections(report, &found(report));
    let charts = F::charts(records);
    if !charts.is_empty() {
        sections.push(charts.into_iter().fold(Section::new(F::TITLE), Section::chart));
    }
    Group { id, title: F::TITLE, sections, open: false }
}

/// Facts of the loads of one kind, in order, without warm-ups.
fn found<F: OfKind>(report: &RunReport) -> Vec<LoadFigures<'_, F>> {
    let of_trial = report.trials.iter().flat_map(|trial| {
        let counts = trial.phases.iter().filter(|phase| phase.kind != PhaseKind::WarmUp);
        counts.filter_map(|phase| {
            let facts = F::of(phase.facts.as_ref()?)?;
            Some(LoadFigures { cell: wording::cell_title(&trial.cell), phase, facts })
        })
    });
    of_trial.collect()
}
