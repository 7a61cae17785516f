//! `factors`: do they interact?

use crate::factors::{FactorRow, FactorSettings, FactorTable, judge};
use crate::input::JudgeError;
use crate::json::table::{Table, all_of};
use crate::json::{Judgement, Request};
use plimsoll_model::numbers::Numbers;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// `{"id", "rows": [{..}], "factors": ["server", "client"], "value": "value", "block": "block", "metric"}`. Without
/// `factors`, every column but the value and the block is one; without `block`, a column of that name is taken.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct FactorsRequest {
    rows: Vec<Map<String, Value>>,
    factors: Option<Vec<String>>,
    value: Option<String>,
    block: Option<String>,
    metric: Option<String>,
    margin: Option<f64>,
    alpha: Option<f64>,
}

impl Request for FactorsRequest {
    /// A column for each factor, `value` (or the last column), and `block` where there are blocks.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let names = table.names();
        let Some(last) = names.last() else {
            return Err(JudgeError::Table("a heading with the names of the factors is needed".into()));
        };
        let value = table.place("value").map_or(last, |place| &names[place]);
        let mut wrong = Vec::new();
        let mut field = |row: usize, column: usize| {
            let (name, text) = (&names[column], table.text(row, column));
            let is = |objection: String| format!("{} {objection}", table.cell(row, column));
            let field = if name != value {
                if text.is_empty() {
                    wrong.push(is("is empty: expected a level".into()));
                }
                Value::from(text)
            } else {
                match table.number(row, column) {
                    Ok(Some(number)) => Value::from(number),
                    Ok(None) => {
                        wrong.push(is("is empty: expected a number".into()));
                        Value::Null
                    }
                    Err(error) => {
                        wrong.push(error.to_string());
                        Value::Null
                    }
                }
            };
            (name.clone(), field)
        };
        let rows =
            (0..table.len()).map(|row| (0..names.len()).map(|column| field(row, column)).collect()).collect();
        all_of(wrong.into_iter())?;
        // Named in the order of the heading, which a map would lose.
        let is_factor = |name: &&String| *name != value && *name != "block";
        let factors = Some(names.iter().filter(is_factor).cloned().collect());
        let value = Some(value.clone());
        Ok(Self { rows, factors, value, block: None, metric: None, margin: None, alpha: None })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let value = self.value.as_deref().unwrap_or("value");
        let table = self.table()?;
        let shipped = FactorSettings::default();
        let settings = FactorSettings {
            margin: self.margin.unwrap_or(shipped.margin),
            alpha: self.alpha.unwrap_or(shipped.alpha),
            ..shipped
        };
        let found = judge(self.metric.as_deref().unwrap_or(value), &table, &settings)?;
        let own = json!({
            "odd_cell": found.odd.map(|odd| &found.deviations[odd].cell),
            "deviations": found.deviations,
            "shares": found.shares,
            "p": found.p,
            "scale": "more than multiplicative",
        });
        Ok(Judgement::new(found.verdict, own))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let FactorTable { factors, rows } = self.table()?;
        Ok(Numbers::Factors { factors, rows: rows.into_iter().map(|row| (row.levels, row.value)).collect() })
    }
}

impl FactorsRequest {
    fn table(&self) -> Result<FactorTable, JudgeError> {
        let value = self.value.as_deref().unwrap_or("value");
        let block = self.block.as_deref().unwrap_or("block");
        let factors = self.factors.clone().unwrap_or_else(|| {
            let names = self.rows.first().into_iter().flat_map(Map::keys);
            names.filter(|name| *name != value && *name != block).cloned().collect()
        });
        let rows = self.rows.iter().enumerate().map(|(index, row)| read(index, row, &factors, value, block));
        Ok(FactorTable { rows: rows.collect::<Result<_, _>>()?, factors })
    }
}

fn read(
    index: usize,
    row: &Map<String, Value>,
    factors: &[String],
    value: &str,
    block: &str,
) -> Result<FactorRow, JudgeError> {
    let missing = |name: &str| JudgeError::Table(format!("row {} has no `{name}`", index + 1));
    let text = |field: &Value| field.as_str().map_or_else(|| field.to_string(), str::to_owned);
    let levels = factors.iter().map(|name| row.get(name).map(text).ok_or_else(|| missing(name)));
    let figure = row.get(value).ok_or_else(|| missing(value))?;
    Ok(FactorRow {
        levels: levels.collect::<Result<_, _>>()?,
        block: row.get(block).filter(|b| !b.is_null()).map(text),
        value: figure.as_f64().ok_or_else(|| {
            JudgeError::Table(format!("row {} of `{value}` is {figure}: expected a number", index + 1))
        })?,
    })
}
