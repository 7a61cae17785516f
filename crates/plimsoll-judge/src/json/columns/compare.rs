//! `compare`: A against B.

use crate::compare::{CompareSettings, exact_pairs, exact_values, paired, unpaired};
use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use plimsoll_model::numbers::{Numbers, Side};
use serde::Deserialize;
use serde_json::json;

/// `{"id", "a": [..], "b": [..], "unit", "lower_is_better", "paired", "margin", "alpha", "metric"}`; lists are pairs by
/// position only where `paired` says so.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct CompareRequest {
    a: Vec<f64>,
    b: Vec<f64>,
    paired: Option<bool>,
    lower_is_better: Option<bool>,
    margin: Option<f64>,
    alpha: Option<f64>,
    unit: Option<String>,
    metric: Option<String>,
}

impl Request for CompareRequest {
    /// Columns `a` and `b`, or the only two.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let [a, b] = table.lists(["a", "b"], &[])?;
        Ok(Self {
            a,
            b,
            paired: None,
            lower_is_better: None,
            margin: None,
            alpha: None,
            unit: None,
            metric: None,
        })
    }

    fn pair(&mut self) -> Result<(), JudgeError> {
        self.paired.get_or_insert(true);
        Ok(())
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let shipped = CompareSettings::default();
        let settings = CompareSettings {
            lower_is_better: self.lower_is_better.unwrap_or(shipped.lower_is_better),
            margin: self.margin.unwrap_or(shipped.margin),
            alpha: self.alpha.unwrap_or(shipped.alpha),
            ..shipped
        };
        let metric = self.metric.as_deref().unwrap_or("value");
        let pairs = self.paired.unwrap_or(false);
        let judge = if pairs { paired } else { unpaired };
        let found = judge(metric, &self.a, &self.b, &settings)?;
        let exact_from = if pairs { exact_pairs(settings.alpha) } else { exact_values(settings.alpha) };
        let own = json!({
            "paired": pairs,
            "p": found.p,
            "needed": found.needed,
            "exact_from": exact_from,
            "unit": self.unit,
        });
        Ok(Judgement::new(found.verdict, own))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let side =
            |name: &str, values: &[f64]| Side { name: name.into(), beside: false, values: values.to_vec() };
        Ok(Numbers::Sides(vec![side("a", &self.a), side("b", &self.b)]))
    }
}
