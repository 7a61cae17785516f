//! `recovery`: after the flood against the baseline.

use crate::input::JudgeError;
use crate::json::table::{Table, all_of};
use crate::json::{Judgement, Request};
use crate::recovery::{BeforeAfter, RecoverySettings, RecoveryTrial, WindowPair, judge_flat, judge_trials};
use plimsoll_model::numbers::{Numbers, Side};
use serde::Deserialize;
use serde_json::json;

/// `{"id", "treatment": {"baseline": [..], "after": [..]}, "control": {..}, "margin", "lower_is_better", "metric"}`, or
/// `"trials": [{"baseline": [{"treatment", "control"}], "cycles": [[..]]}]` in place of the first two.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct RecoveryRequest {
    treatment: Option<BeforeAfter>,
    control: Option<BeforeAfter>,
    trials: Option<Vec<RecoveryTrial>>,
    margin: Option<f64>,
    lower_is_better: Option<bool>,
    metric: Option<String>,
}

impl Request for RecoveryRequest {
    /// Columns `baseline` and `after` (or the only two), with `control_baseline` and `control_after` where there is a
    /// control; or one row per window, with columns `phase` (`baseline` or `after`), `treatment` and `control`.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let (treatment, control) = match table.place("phase") {
            Some(phase) => by_phase(table, phase)?,
            None => by_column(table)?,
        };
        let treatment = Some(treatment);
        Ok(Self { treatment, control, trials: None, margin: None, lower_is_better: None, metric: None })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let shipped = RecoverySettings::default();
        let settings = RecoverySettings {
            margin: self.margin.unwrap_or(shipped.margin),
            lower_is_better: self.lower_is_better.unwrap_or(shipped.lower_is_better),
            ..shipped
        };
        let metric = self.metric.as_deref().unwrap_or("value");
        let found = match (&self.treatment, &self.trials) {
            (Some(treatment), None) => judge_flat(metric, treatment, self.control.as_ref(), &settings)?,
            (None, Some(trials)) => judge_trials(metric, trials, &settings)?,
            _ => return Err(JudgeError::Table("expected either `treatment` or `trials`".into())),
        };
        let own = json!({"margin": settings.margin, "per_cycle": found.per_cycle, "trend": found.trend});
        Ok(Judgement::new(found.verdict, own))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let mut sides = Vec::new();
        let mut add = |name: String, values: Vec<f64>, beside: bool| {
            if !values.is_empty() {
                sides.push(Side { name, beside, values });
            }
        };
        for (arm, beside) in [(&self.treatment, false), (&self.control, true)] {
            let Some(BeforeAfter { baseline, after }) = arm else { continue };
            let of = if beside { ", control" } else { "" };
            add(format!("baseline{of}"), baseline.clone(), beside);
            add(format!("after{of}"), after.clone(), beside);
        }
        let trials = self.trials.as_deref().unwrap_or_default();
        let cycles = trials.iter().map(|trial| trial.cycles.len()).max().unwrap_or(0);
        let windows =
            |of: &dyn Fn(&RecoveryTrial) -> Vec<WindowPair>| trials.iter().flat_map(of).collect::<Vec<_>>();
        let baseline = ("baseline".to_owned(), windows(&|trial| trial.baseline.clone()));
        let of_cycle = |n: usize| windows(&|trial| trial.cycles.get(n).cloned().unwrap_or_default());
        let after = (0..cycles).map(|n| (format!("after flood {}", n + 1), of_cycle(n)));
        for (name, windows) in std::iter::once(baseline).chain(after) {
            let control = windows.iter().filter_map(|window| window.control).collect();
            add(name.clone(), windows.iter().map(|window| window.treatment).collect(), false);
            add(format!("{name}, control"), control, true);
        }
        Ok(Numbers::Sides(sides))
    }
}

type Sides = (BeforeAfter, Option<BeforeAfter>);

const CONTROL: [&str; 2] = ["control_baseline", "control_after"];

fn by_column(table: &Table<'_>) -> Result<Sides, JudgeError> {
    let [baseline, after] = table.lists(["baseline", "after"], &CONTROL)?;
    let treatment = BeforeAfter { baseline, after };
    let control = match CONTROL.map(|name| table.place(name)) {
        [None, None] => None,
        [Some(_), Some(_)] => {
            let [baseline, after] = table.lists(CONTROL, &["baseline", "after"])?;
            Some(BeforeAfter { baseline, after })
        }
        _ => {
            let message =
                format!("expected both `{}` and `{}`: found {}", CONTROL[0], CONTROL[1], table.found());
            return Err(JudgeError::Table(message));
        }
    };
    Ok((treatment, control))
}

fn by_phase(table: &Table<'_>, phase: usize) -> Result<Sides, JudgeError> {
    let Some(value) = ["treatment", "flooded", "value"].iter().find_map(|name| table.place(name)) else {
        return Err(JudgeError::Table(format!("there is no column `treatment`: found {}", table.found())));
    };
    let control = table.place("control");
    let (mut treatment, mut other) = (BeforeAfter::default(), BeforeAfter::default());
    let mut wrong = Vec::new();
    for row in 0..table.len() {
        let text = table.text(row, phase);
        let is_baseline = text.eq_ignore_ascii_case("baseline");
        if !is_baseline && !text.eq_ignore_ascii_case("after") {
            wrong.push(format!("{} is `{text}`: expected `baseline` or `after`", table.cell(row, phase)));
        }
        for (sides, column) in [(&mut treatment, Some(value)), (&mut other, control)] {
            let Some(column) = column else { continue };
            let side = if is_baseline { &mut sides.baseline } else { &mut sides.after };
            match table.number(row, column) {
                Ok(Some(number)) => side.push(number),
                Ok(None) => wrong.push(format!("{} is empty: expected a number", table.cell(row, column))),
                Err(error) => wrong.push(error.to_string()),
            }
        }
    }
    all_of(wrong.into_iter())?;
    Ok((treatment, control.map(|_| other)))
}
