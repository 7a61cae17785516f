//! `modes`: one mode or more?

use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use crate::modes::{Mode, find_modes};
use plimsoll_model::experiment::claim::modes::ModePlace;
use plimsoll_model::numbers::Numbers;
use serde::Deserialize;
use serde_json::json;

/// `{"id", "values": [..], "metric"}`, in order of time, so that shifts in time are not taken for modes.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct ModesRequest {
    values: Vec<f64>,
    metric: Option<String>,
}

impl Request for ModesRequest {
    const SERIES: bool = true;

    /// Column `values`, or the only one.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        Ok(Self { values: table.series("values")?, metric: None })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let found = find_modes(&self.values)?;
        let verdict = found.verdict(self.metric.as_deref().unwrap_or("value"));
        let own = json!({
            "modes": found.modes,
            "shifts": found.shifts,
            "trend": found.trend,
            "evidence": found.evidence,
            "separation": found.separation,
            "dip": found.dip.map(|d| json!({"statistic": d.statistic, "p": d.p})),
        });
        Ok(Judgement::new(verdict, own))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let found = find_modes(&self.values)?;
        let place = |mode: &Mode| ModePlace { center: mode.center, weight: mode.weight };
        let modes = found.modes.iter().map(place).collect();
        Ok(Numbers::Gathered { values: self.values.clone(), modes })
    }
}
