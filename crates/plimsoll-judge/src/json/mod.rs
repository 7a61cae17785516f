//! Numbers from anywhere: JSON, CSV or a bare list in, one verdict as JSON out; and the same for a fleet's worth of lines.
//!
//! Each test has a request type in `columns`, which reads the columns or fields that the test takes and gives its `Judgement`.

mod batch;
mod number;
mod table;
mod unknown_fields;

pub use batch::{BatchSummary, judge_batch};
pub use number::Mark;

use crate::input::JudgeError;
use plimsoll_model::numbers::Numbers;
use plimsoll_model::verdict::{VERDICT_SCHEMA, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use table::Table;

/// The modules of the tests, the names of the tests, and the input of each test: only this list knows them all.
macro_rules! tests {
    ($($(#[$of_test:meta])* $key:ident: $test:ident($request:ident) $name:literal,)+) => {
        /// Input of each test: the columns of a table, or the fields of an object.
        mod columns {
            $(pub(super) mod $key;)+
        }

        /// A test that numbers can be given to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Test {
            $($(#[$of_test])* $test,)+
        }

        impl Test {
            /// Every test, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$test,)+];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$test => $name,)+
                }
            }
        }

        fn answer(test: Test, input: Input<'_>, paired: bool) -> Result<Value, JudgeError> {
            match test {
                $(Test::$test => answer_of::<columns::$key::$request>(input, paired),)+
            }
        }

        fn numbers(test: Test, input: &Input<'_>) -> Result<Numbers, JudgeError> {
            match test {
                $(Test::$test => read::<columns::$key::$request>(input)?.numbers(),)+
            }
        }
    };
}

tests! {
    /// Where did the history change: `{"series"}`.
    changes: Changes(ChangesRequest) "changes",
    /// A against B: `{"a", "b", "paired"?, "lower_is_better"?, "margin"?, "alpha"?, "unit"?}`.
    compare: Compare(CompareRequest) "compare",
    /// Do factors interact: `{"rows": [{..}], "factors"?, "value"?, "block"?}`.
    factors: Factors(FactorsRequest) "factors",
    /// Time over the number of workers: `{"rows": [{"n", "time"}]}`.
    growth: Growth(GrowthRequest) "growth",
    /// Load against utilisation: `{"rows": [{"utilisation", "load"}], "cpus"?}`.
    load_curve: LoadCurve(LoadCurveRequest) "load-curve",
    /// TCP over a lossy path: `{"rows": [{"rtt", "loss", "mss", "rate"}]}`, or `{"target": {"rate", "rtt", "mss"?, "c"?}}`.
    loss: Loss(LossRequest) "loss",
    /// One mode or more: `{"values"}`.
    modes: Modes(ModesRequest) "modes",
    /// After against baseline: `{"treatment": {"baseline", "after"}, "control"?, "margin"?, "lower_is_better"?}`, or
    /// `{"trials": [{"baseline", "cycles"}]}`.
    recovery: Recovery(RecoveryRequest) "recovery",
    /// Throughput over the number of workers: `{"rows": [{"n", "throughput"}]}`.
    scaling: Scaling(ScalingRequest) "scaling",
}

impl Test {
    /// The test of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|test| test.name() == name)
    }
}

/// Result of a test: the verdict, and the fields that only this test has.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) own: Map<String, Value>,
}

impl Judgement {
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

/// Input of a test: from JSON by its fields, or from the columns of a table.
pub(crate) trait Request: DeserializeOwned {
    /// Whether the test takes a single column, so that a line of numbers is one.
    const SERIES: bool = false;

    /// Reads the columns of a CSV file or of a bare list of numbers.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError>;

    /// Takes values at the same place of two lists as measured together.
    ///
    /// # Errors
    /// The test compares no two lists.
    fn pair(&mut self) -> Result<(), JudgeError> {
        Err(JudgeError::Syntax("only the two lists of `compare` can be paired".into()))
    }

    /// Judges the numbers.
    fn judge(self) -> Result<Judgement, JudgeError>;

    /// The numbers as a chart shows them, with what is fitted to them.
    fn numbers(&self) -> Result<Numbers, JudgeError>;
}

/// Judges one JSON object, and gives the verdict as JSON: `schema`, the `id` of the input, the verdict's fields and the
/// test's own.
///
/// # Errors
/// The text is not the JSON that the test takes, or its numbers cannot be judged.
pub fn judge_line(test: Test, line: &str) -> Result<Value, JudgeError> {
    answer(test, Input::Object(Cow::Borrowed(line)), false)
}

/// How text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// The decimal mark. Without it, the numbers of a table must show it.
    pub mark: Option<Mark>,
    /// Whether row i of two lists was measured together. Only for [`Test::Compare`].
    pub paired: bool,
}

/// Judges text of any form, and gives the verdict as JSON: a JSON object when it begins with `{`, else a JSON list, a CSV table with a heading,
/// or a bare list of numbers (one or more columns, no heading).
///
/// # Errors
/// The text is not the JSON, nor a table of the columns, that the test takes, or its numbers cannot be judged.
pub fn judge_text(test: Test, text: String, options: TextOptions) -> Result<Value, JudgeError> {
    answer(test, Input::of(text, options.mark), options.paired)
}

/// Chart of one JSON object that [`judge_line`] judges.
///
/// # Errors
/// Those of [`judge_line`].
pub fn numbers_of_line(test: Test, line: &str) -> Result<Numbers, JudgeError> {
    numbers(test, &Input::Object(Cow::Borrowed(line)))
}

/// Chart of text that [`judge_text`] judges.
///
/// # Errors
/// Those of [`judge_text`].
pub fn numbers_of_text(test: Test, text: &str, mark: Option<Mark>) -> Result<Numbers, JudgeError> {
    numbers(test, &Input::of(text.to_owned(), mark))
}

/// Subject of a verdict.
enum Input<'t> {
    Object(Cow<'t, str>),
    Table(String, Option<Mark>),
}

impl Input<'_> {
    fn of(text: String, mark: Option<Mark>) -> Self {
        if text.trim_start().starts_with('{') {
            Self::Object(Cow::Owned(text))
        } else {
            Self::Table(text, mark)
        }
    }
}

fn read<R: Request>(input: &Input<'_>) -> Result<R, JudgeError> {
    match input {
        Input::Object(text) => unknown_fields::read(text),
        Input::Table(text, mark) => R::from_table(&Table::read(text, *mark, R::SERIES)?),
    }
}

fn answer_of<R: Request>(input: Input<'_>, paired: bool) -> Result<Value, JudgeError> {
    let mut request: R = read(&input)?;
    if paired {
        request.pair()?;
    }
    let id = match &input {
        Input::Object(text) => id_of(text),
        Input::Table(..) => None,
    };
    // The text of millions of numbers is not to be kept while they are judged.
    drop(input);
    Ok(request.judge()?.into_json(id))
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
