//! One figure out of the output of any program.

use std::borrow::Cow;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Better, NamedMetric};

/// Where a figure stands in what a program prints. Exactly one of `regex`, `json` and `csv` is given.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// A pattern whose first group is the number: `"took ([0-9.]+) ms"`. Where it is found several times, the last counts. It is looked for on
    /// standard output, and then on standard error.
    pub regex: Option<String>,
    /// A pointer (RFC 6901) into the JSON that is printed, such as `"/latency/p99"`. Lines before the JSON are passed over.
    pub json: Option<String>,
    /// The name of a column of the CSV that is printed, whose first line has the names; the figure is the mean of its rows.
    pub csv: Option<String>,
    /// The unit, for reports: `"per second"`, `"per minute"`, `"ms"`, `"us"`, `"MB/s"`, `"bit/s"`, `"share"` (0 to 1), or any other word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which of two figures is the better one.
    #[serde(default)]
    pub better: Better,
}

/// Why a figure is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// The pattern states no place, or two.
    #[error("expected exactly one of `regex`, `json` and `csv`")]
    Place,
    /// The pattern is none.
    #[error("{0}")]
    Pattern(String),
    /// The pattern has no group.
    #[error("the pattern has no group around the number, such as in `took ([0-9.]+) ms`")]
    Group,
    /// The pattern is not found.
    #[error("the pattern is not found")]
    NotFound,
    /// There is no JSON.
    #[error("it is no JSON")]
    Json,
    /// The JSON has nothing there.
    #[error("the JSON has nothing at `{0}`")]
    Pointer(String),
    /// There is no such column, or it has no rows.
    #[error("it has no rows with a column `{0}`")]
    Column(String),
    /// The text at that place is no number.
    #[error("`{0}` is no number")]
    Number(String),
}

impl Pick {
    /// The metric that it makes.
    pub fn named(&self, name: &str) -> NamedMetric {
        NamedMetric {
            name: Cow::Owned(name.to_owned()),
            unit: Cow::Owned(self.unit.clone()),
            better: self.better,
        }
    }

    /// Checks the pattern itself, whatever a program prints.
    ///
    /// # Errors
    /// When it does not name exactly one place, or its pattern is none.
    pub fn check(&self) -> Result<(), PickError> {
        match (&self.regex, &self.json, &self.csv) {
            (Some(pattern), None, None) => compiled(pattern).map(drop),
            (None, Some(_), None) | (None, None, Some(_)) => Ok(()),
            _ => Err(PickError::Place),
        }
    }

    /// The figure in what a program printed.
    ///
    /// # Errors
    /// When it is not there, or no number.
    pub fn of(&self, stdout: &str, stderr: &str) -> Result<f64, PickError> {
        match (&self.regex, &self.json, &self.csv) {
            (Some(pattern), None, None) => {
                let pattern = compiled(pattern)?;
                let last = |text| Some(pattern.captures_iter(text).last()?.get(1)?.as_str().to_owned());
                number(&last(stdout).or_else(|| last(stderr)).ok_or(PickError::NotFound)?)
            }
            (None, Some(pointer), None) => {
                let found = json(stdout).ok_or(PickError::Json)?;
                let value = found.pointer(pointer).ok_or_else(|| PickError::Pointer(pointer.clone()))?;
                match value {
                    Value::Number(_) => value.as_f64().ok_or_else(|| PickError::Number(value.to_string())),
                    Value::String(text) => number(text),
                    other => Err(PickError::Number(other.to_string())),
                }
            }
            (None, None, Some(column)) => mean(column, stdout),
            _ => Err(PickError::Place),
        }
    }
}

fn compiled(pattern: &str) -> Result<Regex, PickError> {
    let compiled = Regex::new(pattern).map_err(|error| PickError::Pattern(error.to_string()))?;
    if compiled.captures_len() < 2 { Err(PickError::Group) } else { Ok(compiled) }
}

fn number(text: &str) -> Result<f64, PickError> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| PickError::Number(text.to_owned()))
}

/// The JSON that a text is, or that it ends with.
fn json(text: &str) -> Option<Value> {
    let starts = text.lines().filter(|line| line.trim_start().starts_with(['{', '[']));
    let offset = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    std::iter::once(0).chain(starts.map(offset)).find_map(|at| serde_json::from_str(text.get(at..)?).ok())
}

fn mean(column: &str, text: &str) -> Result<f64, PickError> {
    let missing = || PickError::Column(column.to_owned());
    let mut rows = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let place =
        rows.headers().map_err(|_| missing())?.iter().position(|name| name == column).ok_or_else(missing)?;
    let mut figures = Vec::new();
    for row in rows.records() {
        let row = row.map_err(|_| missing())?;
        figures.push(number(row.get(place).ok_or_else(missing)?)?);
    }
    if figures.is_empty() { Err(missing()) } else { Ok(figures.iter().sum::<f64>() / figures.len() as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(kind: &str, what: &str) -> Pick {
        serde_json::from_value(serde_json::json!({ kind: what })).unwrap()
    }

    #[test]
    fn figures_are_picked_by_pattern_pointer_and_column() {
        let pattern = pick("regex", r"took ([0-9.]+) ms");
        assert_eq!(pattern.of("took 3 ms, took 4.5 ms", "took 9 ms"), Ok(4.5));
        assert_eq!(pattern.of("", "took 9 ms"), Ok(9.0));
        assert_eq!(pattern.of("", ""), Err(PickError::NotFound));
        let pointer = pick("json", "/latency/0/p99");
        assert_eq!(pointer.of("starting\n{\"latency\": [{\"p99\": \"2.5\"}]}\n", ""), Ok(2.5));
        assert_eq!(pointer.of("{}", ""), Err(PickError::Pointer("/latency/0/p99".into())));
        assert_eq!(pointer.of("nothing", ""), Err(PickError::Json));
        let column = pick("csv", "rps");
        assert_eq!(column.of("test,rps\nSET,10\nGET,\"20\"\n", ""), Ok(15.0));
        assert_eq!(column.of("test,other\nSET,10\n", ""), Err(PickError::Column("rps".into())));
        assert_eq!(column.of("test,rps\nSET,inf\n", ""), Err(PickError::Number("inf".into())));
    }

    #[test]
    fn a_pick_says_one_place_and_a_pattern_has_a_group() {
        assert_eq!(Pick::default().check(), Err(PickError::Place));
        assert_eq!(Pick { csv: Some("a".into()), ..pick("json", "/a") }.check(), Err(PickError::Place));
        assert_eq!(pick("regex", "no group").check(), Err(PickError::Group));
        assert!(matches!(pick("regex", "(").check(), Err(PickError::Pattern(_))));
        assert_eq!(pick("regex", "(x)").check(), Ok(()));
    }
}
