//! Numbers from anywhere: JSON, CSV or a bare list in, one verdict as JSON out; and the same for a fleet's worth of lines.
//!
//! Each test has a request type in a module of its own, which reads what the test takes and gives its [`Answer`].

mod batch;
mod changes;
mod compare;
mod factors;
mod growth;
mod load_curve;
mod loss;
mod modes;
mod recovery;
mod scaling;
mod table;

pub use batch::{BatchSummary, judge_batch};

use crate::input::JudgeError;
use plimsoll_model::verdict::{VERDICT_SCHEMA, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use table::Table;

/// A test that numbers can be given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Where did the history change: `{"series"}`.
    Changes,
    /// A against B: `{"a", "b", "paired"?, "lower_is_better"?, "margin"?, "alpha"?, "unit"?}`.
    Compare,
    /// Do factors interact: `{"rows": [{..}], "factors"?, "value"?, "block"?}`.
    Factors,
    /// Time over the number of workers: `{"rows": [{"n", "time"}]}`.
    Growth,
    /// Load against utilisation: `{"rows": [{"utilisation", "load"}], "cpus"?}`.
    LoadCurve,
    /// TCP over a lossy path: `{"rows": [{"rtt", "loss", "mss", "rate"}]}`, or `{"target": {"rate", "rtt", "mss"?, "c"?}}`.
    Loss,
    /// One mode or more: `{"values"}`.
    Modes,
    /// After against baseline: `{"flooded": {"baseline", "after"}, "control"?, "margin"?, "lower_is_better"?}`, or
    /// `{"trials": [{"baseline", "cycles"}]}`.
    Recovery,
    /// Throughput over the number of workers: `{"rows": [{"n", "throughput"}]}`.
    Scaling,
}

impl Test {
    /// Every test, in the order of the reference.
    pub const ALL: [Self; 9] = [
        Self::Changes,
        Self::Compare,
        Self::Factors,
        Self::Growth,
        Self::LoadCurve,
        Self::Loss,
        Self::Modes,
        Self::Recovery,
        Self::Scaling,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Compare => "compare",
            Self::Factors => "factors",
            Self::Growth => "growth",
            Self::LoadCurve => "load-curve",
            Self::Loss => "loss",
            Self::Modes => "modes",
            Self::Recovery => "recovery",
            Self::Scaling => "scaling",
        }
    }

    /// The test of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }
}

/// What a test found: the verdict, and the fields that only this test has.
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) own: Map<String, Value>,
}

impl Answer {
    /// A verdict with the fields of `own`, which must serialise to an object.
    pub(crate) fn new(verdict: Verdict, own: impl Serialize) -> Self {
        let own = match serde_json::to_value(own) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        Self { verdict, own }
    }

    fn into_json(self, id: Option<Value>) -> Value {
        let mut fields = Map::new();
        fields.insert("schema".into(), VERDICT_SCHEMA.into());
        if let Some(id) = id {
            fields.insert("id".into(), id);
        }
        if let Ok(Value::Object(verdict)) = serde_json::to_value(self.verdict) {
            fields.extend(verdict);
        }
        fields.extend(self.own);
        Value::Object(fields)
    }
}

/// What a test takes: from JSON by its fields, or from the columns of a table.
pub(crate) trait Request: DeserializeOwned {
    /// Reads the columns of a CSV file or of a bare list of numbers.
    fn from_table(table: &Table) -> Result<Self, JudgeError>;

    /// Judges the numbers.
    fn judge(self) -> Result<Answer, JudgeError>;
}

/// Judges one JSON object, and gives the verdict as JSON: `schema`, the `id` of the input, the verdict's fields and the
/// test's own.
///
/// # Errors
/// The text is not the JSON that the test takes, or its numbers cannot be judged.
pub fn judge_line(test: Test, line: &str) -> Result<Value, JudgeError> {
    match test {
        Test::Changes => line_answer::<changes::ChangesRequest>(line),
        Test::Compare => line_answer::<compare::CompareRequest>(line),
        Test::Factors => line_answer::<factors::FactorsRequest>(line),
        Test::Growth => line_answer::<growth::GrowthRequest>(line),
        Test::LoadCurve => line_answer::<load_curve::LoadCurveRequest>(line),
        Test::Loss => line_answer::<loss::LossRequest>(line),
        Test::Modes => line_answer::<modes::ModesRequest>(line),
        Test::Recovery => line_answer::<recovery::RecoveryRequest>(line),
        Test::Scaling => line_answer::<scaling::ScalingRequest>(line),
    }
}

/// Judges a CSV table with a heading, or a bare list of numbers (one or more columns, no heading), and gives the
/// verdict as JSON.
///
/// # Errors
/// The text is no table of the columns that the test takes, or its numbers cannot be judged.
pub fn judge_table(test: Test, text: &str) -> Result<Value, JudgeError> {
    let table = Table::read(text)?;
    match test {
        Test::Changes => table_answer::<changes::ChangesRequest>(&table),
        Test::Compare => table_answer::<compare::CompareRequest>(&table),
        Test::Factors => table_answer::<factors::FactorsRequest>(&table),
        Test::Growth => table_answer::<growth::GrowthRequest>(&table),
        Test::LoadCurve => table_answer::<load_curve::LoadCurveRequest>(&table),
        Test::Loss => table_answer::<loss::LossRequest>(&table),
        Test::Modes => table_answer::<modes::ModesRequest>(&table),
        Test::Recovery => table_answer::<recovery::RecoveryRequest>(&table),
        Test::Scaling => table_answer::<scaling::ScalingRequest>(&table),
    }
}

/// Judges text of any form: a JSON object when it begins with `{`, else a JSON list, a CSV table or a bare list.
///
/// # Errors
/// As [`judge_line`] and [`judge_table`].
pub fn judge_text(test: Test, text: &str) -> Result<Value, JudgeError> {
    if text.trim_start().starts_with('{') { judge_line(test, text) } else { judge_table(test, text) }
}

fn line_answer<R: Request>(line: &str) -> Result<Value, JudgeError> {
    let request: R = serde_json::from_str(line).map_err(|e| JudgeError::Syntax(e.to_string()))?;
    Ok(request.judge()?.into_json(id_of(line)))
}

fn table_answer<R: Request>(table: &Table) -> Result<Value, JudgeError> {
    Ok(R::from_table(table)?.judge()?.into_json(None))
}

/// The `id` of a JSON object, if the text is one and has it.
fn id_of(line: &str) -> Option<Value> {
    #[derive(Deserialize)]
    struct Id {
        id: Option<Value>,
    }
    serde_json::from_str::<Id>(line).ok()?.id
}

#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod tests;
