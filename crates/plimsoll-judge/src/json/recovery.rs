//! `recovery`: after the flood against the baseline.

use super::table::Table;
use super::{Answer, Request};
use crate::input::JudgeError;
use crate::recovery::{BeforeAfter, RecoverySettings, RecoveryTrial, judge_flat, judge_trials};
use serde::Deserialize;
use serde_json::json;

/// `{"id", "flooded": {"baseline": [..], "after": [..]}, "control": {..}, "margin", "lower_is_better", "metric"}`, or
/// `"trials": [{"baseline": [{"flooded", "control"}], "cycles": [[..]]}]` in place of the first two.
#[derive(Debug, Deserialize)]
pub(super) struct RecoveryRequest {
    flooded: Option<BeforeAfter>,
    control: Option<BeforeAfter>,
    trials: Option<Vec<RecoveryTrial>>,
    margin: Option<f64>,
    lower_is_better: Option<bool>,
    metric: Option<String>,
}

impl Request for RecoveryRequest {
    /// Columns `baseline` and `after` (or the first two), with `control_baseline` and `control_after` where there is a
    /// control; or one row per window, with columns `phase` (`baseline` or `after`), `flooded` and `control`.
    fn from_table(table: &Table) -> Result<Self, JudgeError> {
        let (flooded, control) = match table.place("phase") {
            Some(phase) => by_phase(table, phase)?,
            None => by_column(table)?,
        };
        let flooded = Some(flooded);
        Ok(Self { flooded, control, trials: None, margin: None, lower_is_better: None, metric: None })
    }

    fn judge(self) -> Result<Answer, JudgeError> {
        let shipped = RecoverySettings::default();
        let settings = RecoverySettings {
            margin: self.margin.unwrap_or(shipped.margin),
            lower_is_better: self.lower_is_better.unwrap_or(shipped.lower_is_better),
            ..shipped
        };
        let metric = self.metric.as_deref().unwrap_or("value");
        let found = match (&self.flooded, &self.trials) {
            (Some(flooded), None) => judge_flat(metric, flooded, self.control.as_ref(), &settings)?,
            (None, Some(trials)) => judge_trials(metric, trials, &settings)?,
            _ => return Err(JudgeError::Table("expected either `flooded` or `trials`".into())),
        };
        let own = json!({"margin": settings.margin, "per_cycle": found.per_cycle, "trend": found.trend});
        Ok(Answer::new(found.verdict, own))
    }
}

type Sides = (BeforeAfter, Option<BeforeAfter>);

fn by_column(table: &Table) -> Result<Sides, JudgeError> {
    let flooded =
        BeforeAfter { baseline: table.numbers_of("baseline", 0)?, after: table.numbers_of("after", 1)? };
    let control = match (table.place("control_baseline"), table.place("control_after")) {
        (Some(baseline), Some(after)) => {
            Some(BeforeAfter { baseline: table.numbers(baseline)?, after: table.numbers(after)? })
        }
        _ => None,
    };
    Ok((flooded, control))
}

fn by_phase(table: &Table, phase: usize) -> Result<Sides, JudgeError> {
    let Some(value) = table.place("flooded").or_else(|| table.place("value")) else {
        return Err(JudgeError::Table(format!("there is no column `flooded`: found {}", table.found())));
    };
    let column = |column: usize| -> Result<BeforeAfter, JudgeError> {
        let mut sides = BeforeAfter::default();
        for row in 0..table.len() {
            let side = match table.text(row, phase) {
                "baseline" => &mut sides.baseline,
                "after" => &mut sides.after,
                other => {
                    return Err(JudgeError::Table(format!(
                        "row {} of `phase` is `{other}`: expected `baseline` or `after`",
                        row + 1
                    )));
                }
            };
            side.extend(table.number(row, column)?);
        }
        Ok(sides)
    };
    Ok((column(value)?, table.place("control").map(column).transpose()?))
}
