//! Points of a run in the history of its experiment: the rate of each measured phase, and the estimate of each claim.

use plimsoll_model::observation::Arm;
use plimsoll_model::report::{PhaseReport, RunReport};

use crate::number::{median, median_interval, sorted};
use crate::summary::{self, CellRows};
use crate::wording;

/// A figure of a run, which other runs of the experiment have, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// Name of the figure, the same in each run.
    pub name: String,
    /// Its unit; `ratio` where it is one.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// The figures of a run that are followed: those of claims first. Of phases it is the median over trials, of the rig that something was done to,
/// and its interval by order statistics; where there are fewer than six trials, the range.
pub fn followed(report: &RunReport) -> Vec<Followed> {
    let claims = report.verdicts.iter().filter_map(|finding| {
        let verdict = &finding.verdict;
        let value = verdict.estimate.filter(|value| value.is_finite())?;
        let ratio = crate::answer::is_ratio(verdict);
        let number = finding.claim_number.map_or_else(String::new, |number| format!("{number}, "));
        Some(Followed {
            name: format!("claim {number}{}: {}", verdict.title(), wording::metric(&verdict.metric)),
            unit: if ratio { "ratio".into() } else { wording::metric(&verdict.metric) },
            value,
            interval: verdict.interval.map(|interval| (interval.lo(), interval.hi())),
        })
    });
    let cells = summary::cells(report);
    claims.chain(cells.iter().flat_map(|cell| of_cell(report, cell))).collect()
}

fn of_cell(report: &RunReport, cell: &CellRows) -> Vec<Followed> {
    let metric = summary::rate_metric(report);
    let measured = cell.rows.iter().filter(|row| row.kind.measures() && row.rung.is_none());
    let followed = measured.filter_map(|row| {
        let is_here = |phase: &&PhaseReport| {
            phase.arm == Arm::Treatment && row.is_of(&phase.name, phase.cycle, phase.rung)
        };
        let trials = report.trials.iter().filter(|trial| trial.cell == cell.cell);
        let phases = trials.flat_map(|trial| &trial.phases).filter(is_here);
        let values = sorted(phases.filter_map(|phase| phase.figure(metric)));
        Some(Followed {
            name: wording::titled(&format!("{}: {}", summary::place(row), metric.short()), &cell.cell),
            unit: metric.unit().name().into(),
            value: median(&values)?,
            interval: median_interval(&values),
        })
    });
    followed.collect()
}
