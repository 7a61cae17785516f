//! Is the machine what was promised?
//!
//! The expected state is TOML, with the names of [`Inventory`]:
//!
//! ```toml
//! cpus.count = 2
//! cpus.model = "AMD EPYC"
//! memory.size = ">= 24G"
//! disks.vda.rotational = false
//! disks.*.scheduler = "none"
//! networks.eth0.speed = ">= 10000"
//! sysctls = {}
//! kernel_log = []
//! ```
//!
//! (A `*` as a key takes quotes in TOML: `disks."*".scheduler`; they may be left out here.) A text may begin with `>=`, `<=`, `>`, `<` or
//! `!=`. Quantities may end in `k`, `M`, `G` or `T`, powers of 1024. What is expected and can't be seen is a deviation too.
//!
//! Or it is an earlier inventory in JSON: then everything is compared, except values that change by themselves from
//! hour to hour.

use std::ops::Range;

use plimsoll_model::experiment::{FileError, nearest};
use plimsoll_model::units::ByteSize;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::saved_outputs::SavedOutputs;
use super::{Inventory, SCHEMA};

/// Why an expectation can't be used: with the place in the file and the nearest valid name.
pub type ExpectationError = FileError;

/// A deviation from the expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// What: `disks.vda.scheduler`.
    pub path: String,
    /// Expected value.
    pub expected: String,
    /// Actual value; `None` where it is absent.
    pub found: Option<String>,
}

/// Expectation of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Rules(Vec<Rule>),
    Earlier(Value),
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    path: Vec<String>,
    wanted: Demand,
    /// As it was written.
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Demand {
    Is(Value),
    IsNot(Value),
    AtLeast(f64),
    AtMost(f64),
    Above(f64),
    Below(f64),
}

/// Facts that change by themselves, and are not compared with an earlier inventory.
const VOLATILE: [&str; 6] =
    ["cpus.current_mhz", "cpus.stolen", "memory.pressure", "kernel_log", "absent", "schema"];

impl Expectation {
    /// Reads an expectation in TOML, or an earlier inventory in JSON.
    ///
    /// # Errors
    /// The text is neither, names something that an inventory does not have, or compares with what is no quantity.
    pub fn parse(text: &str) -> Result<Self, ExpectationError> {
        if text.trim_start().starts_with('{') {
            return Self::parse_inventory(text);
        }
        let text = quote_wildcards(text);
        let table = DeTable::parse(&text).map_err(|error| FileError {
            message: error.message().to_owned(),
            expected: Some("TOML such as `cpus.count = 2`, or an inventory in JSON".to_owned()),
            nearest: None,
            span: error.span(),
            text: text.as_str().into(),
            next: None,
        })?;
        let mut reader =
            Reader { text: &text, schema: schemars::schema_for!(Inventory).to_value(), rules: Vec::new() };
        let whole = reader.schema.clone();
        reader.table(table.get_ref(), &mut Vec::new(), &whole)?;
        Ok(Self(Kind::Rules(reader.rules)))
    }

    fn parse_inventory(text: &str) -> Result<Self, ExpectationError> {
        let fault = |message: String| FileError {
            message,
            expected: Some(format!("an inventory in JSON, of the form {SCHEMA}")),
            nearest: None,
            span: None,
            text: text.into(),
            next: None,
        };
        let inventory: Inventory = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        if inventory.schema != SCHEMA {
            return Err(fault(format!("this is {:?}", inventory.schema)));
        }
        Ok(Self::from(&inventory))
    }
}

impl From<&Inventory> for Expectation {
    fn from(inventory: &Inventory) -> Self {
        Self(Kind::Earlier(value_of(inventory)))
    }
}

/// Everything that is not as expected, in the order of the expectation; by name for an earlier inventory.
pub fn compare(expected: &Expectation, found: &Inventory) -> Vec<Deviation> {
    deviations(expected, &value_of(found))
}

/// As [`compare`], for a machine that is known from saved outputs alone. What is asked for by name and does not stand in them is a deviation; of
/// an earlier inventory only what they contain is compared.
pub fn compare_saved(expected: &Expectation, found: &SavedOutputs) -> Vec<Deviation> {
    let mut deviations = deviations(expected, &Value::Object(found.found.clone()));
    if matches!(expected.0, Kind::Earlier(_)) {
        deviations.retain(|deviation| deviation.found.is_some());
    }
    deviations
}

fn deviations(expected: &Expectation, found: &Value) -> Vec<Deviation> {
    let mut deviations = Vec::new();
    match &expected.0 {
        Kind::Rules(rules) => {
            for rule in rules {
                rule.check(found, &mut deviations);
            }
        }
        Kind::Earlier(earlier) => {
            differences(earlier, found, "", &mut deviations);
            deviations.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }
    deviations
}

fn value_of(inventory: &Inventory) -> Value {
    // Nothing in an inventory lacks a form in JSON: its keys are texts, and its numbers are finite.
    serde_json::to_value(inventory).unwrap_or_default()
}

/// A bare `*` is no key in TOML, but reads better than a quoted one.
fn quote_wildcards(text: &str) -> String {
    let line = |line: &str| {
        let (key, value) = line.find('=').map_or((line, ""), |equals| line.split_at(equals));
        let bare =
            !key.contains(['"', '\'', '#']) && (!value.is_empty() || key.trim_start().starts_with('['));
        if bare { key.replace('*', "\"*\"") + value } else { line.to_owned() }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Turns TOML into rules, and checks their names against the inventory's schema.
struct Reader<'t> {
    text: &'t str,
    schema: Value,
    rules: Vec<Rule>,
}

impl Reader<'_> {
    fn table(
        &mut self,
        table: &DeTable<'_>,
        path: &mut Vec<String>,
        schema: &Value,
    ) -> Result<(), ExpectationError> {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let inner = self.part(schema, name, key.span())?;
            path.push(name.to_owned());
            let read = match value.get_ref() {
                DeValue::Table(below) if !below.is_empty() => self.table(below, path, &inner),
                _ => self.rule(value, path),
            };
            read?;
            path.pop();
        }
        Ok(())
    }

    /// The schema of a part of something.
    fn part(&self, schema: &Value, name: &str, span: Range<usize>) -> Result<Value, ExpectationError> {
        let schema = self.resolve(schema);
        let unknown = |message: String, expected: Option<String>, nearest: Option<String>| {
            Err(FileError {
                message,
                expected,
                nearest,
                span: Some(span.clone()),
                text: self.text.into(),
                next: None,
            })
        };
        if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
            return match fields.get(name) {
                Some(field) => Ok(field.clone()),
                None => {
                    let names = fields.keys().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                    let near = nearest(name, fields.keys().map(String::as_str));
                    unknown(
                        format!("an inventory has no `{name}` here"),
                        Some(format!("one of {names}")),
                        near,
                    )
                }
            };
        }
        match (schema.get("additionalProperties"), schema.get("items")) {
            (Some(inner), _) if inner.is_object() => Ok(inner.clone()),
            (_, Some(inner)) if name == "*" || name.parse::<usize>().is_ok() => Ok(inner.clone()),
            (_, Some(_)) => unknown(
                format!("`{name}` is no place in a list"),
                Some("a number from 0, or `*`".to_owned()),
                None,
            ),
            _ => {
                unknown(format!("`{name}`: there are no parts here"), Some("a plain value".to_owned()), None)
            }
        }
    }

    /// Follows references, and sees through "or nothing".
    fn resolve(&self, schema: &Value) -> Value {
        let mut schema = schema;
        loop {
            if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
                let found = target.strip_prefix('#').and_then(|pointer| self.schema.pointer(pointer));
                let Some(found) = found else { return Value::Null };
                schema = found;
            } else if let Some(some) = schema.get("anyOf").and_then(|any| any.get(0)) {
                schema = some;
            } else {
                return schema.clone();
            }
        }
    }

    fn rule(&mut self, value: &Spanned<DeValue<'_>>, path: &[String]) -> Result<(), ExpectationError> {
        let fault = |message: String, expected: &str| FileError {
            message,
            expected: Some(expected.to_owned()),
            nearest: None,
            span: Some(value.span()),
            text: self.text.into(),
            next: None,
        };
        let plain = json(value.get_ref()).ok_or_else(|| {
            fault(
                "this value can't be compared".to_owned(),
                "a text, a number, true, false, or a list of them",
            )
        })?;
        let wanted = match &plain {
            Value::String(text) => Demand::parse(text).ok_or_else(|| {
                fault(
                    format!("`{text}` does not compare with a quantity"),
                    "a number such as `>= 2`, `< 3.5` or `>= 24G`",
                )
            })?,
            _ => Demand::Is(plain.clone()),
        };
        self.rules.push(Rule { path: path.to_vec(), wanted, text: shown(&plain) });
        Ok(())
    }
}

/// A value of TOML as one of JSON; dates have none.
fn json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.into(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok()?.into(),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Array(list) => {
            Value::Array(list.iter().map(|value| json(value.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let fields =
                table.iter().map(|(key, value)| Some((key.get_ref().to_string(), json(value.get_ref())?)));
            Value::Object(fields.collect::<Option<Map<_, _>>>()?)
        }
        DeValue::Datetime(_) => return None,
    })
}

impl Demand {
    /// `None` where an order is asked for that is not with a quantity.
    fn parse(text: &str) -> Option<Self> {
        type Order = fn(f64) -> Demand;
        const ORDERS: [(&str, Order); 4] =
            [(">=", Demand::AtLeast), ("<=", Demand::AtMost), (">", Demand::Above), ("<", Demand::Below)];
        if let Some(unwanted) = text.strip_prefix("!=") {
            return Some(Self::IsNot(Value::from(unwanted.trim())));
        }
        match ORDERS.iter().find_map(|(sign, order)| Some((order, text.strip_prefix(sign)?))) {
            Some((order, limit)) => quantity(limit.trim()).map(order),
            None => Some(Self::Is(Value::from(text))),
        }
    }

    fn holds(&self, found: &Value) -> bool {
        let ordered =
            |holds: fn(f64, f64) -> bool, limit: f64| found.as_f64().is_some_and(|found| holds(found, limit));
        match self {
            Self::Is(wanted) => equal(wanted, found),
            Self::IsNot(unwanted) => !equal(unwanted, found),
            Self::AtLeast(limit) => ordered(|a, b| a >= b, *limit),
            Self::AtMost(limit) => ordered(|a, b| a <= b, *limit),
            Self::Above(limit) => ordered(|a, b| a > b, *limit),
            Self::Below(limit) => ordered(|a, b| a < b, *limit),
        }
    }
}

fn quantity(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| text.parse::<ByteSize>().ok().map(|size| size.0 as f64))
}

/// Numbers are equal to a billionth; a text equals a number if it is that quantity.
fn equal(wanted: &Value, found: &Value) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    match (wanted, found) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| close(a, b)),
        (Value::String(a), Value::Number(b)) => quantity(a).zip(b.as_f64()).is_some_and(|(a, b)| close(a, b)),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        _ => wanted == found,
    }
}

impl Rule {
    fn check(&self, found: &Value, deviations: &mut Vec<Deviation>) {
        self.check_below(found, &self.path, &mut Vec::new(), deviations);
    }

    fn check_below(
        &self,
        found: &Value,
        rest: &[String],
        done: &mut Vec<String>,
        deviations: &mut Vec<Deviation>,
    ) {
        let Some((part, rest)) = rest.split_first() else {
            if !self.wanted.holds(found) {
                deviations.push(self.deviation(done, Some(shown(found))));
            }
            return;
        };
        let parts: Vec<(String, &Value)> = match found {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(list) => {
                list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
            }
            _ => Vec::new(),
        };
        let mut seen = false;
        for (name, value) in parts.iter().filter(|(name, _)| part == "*" || part == name) {
            seen = true;
            done.push(name.clone());
            self.check_below(value, rest, done, deviations);
            done.pop();
        }
        // A negation holds of an absent value.
        if !seen && !matches!(self.wanted, Demand::IsNot(_)) {
            let path: Vec<_> = done.iter().chain([part]).chain(rest).cloned().collect();
            deviations.push(self.deviation(&path, None));
        }
    }

    fn deviation(&self, path: &[String], found: Option<String>) -> Deviation {
        Deviation {
            path: path.iter().fold(String::new(), |path, part| joined(&path, part)),
            expected: self.text.clone(),
            found,
        }
    }
}

/// A name behind a path; in quotes where it has a dot itself.
fn joined(path: &str, name: &str) -> String {
    let quote = if name.contains('.') { "\"" } else { "" };
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{quote}{name}{quote}")
}

/// A value as people write it: texts without quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Differences between two inventories, in both directions.
fn differences(earlier: &Value, found: &Value, path: &str, deviations: &mut Vec<Deviation>) {
    if VOLATILE.contains(&path) || equal(earlier, found) {
        return;
    }
    if let (Value::Object(a), Value::Object(b)) = (earlier, found) {
        for (name, value) in a {
            differences(value, b.get(name).unwrap_or(&Value::Null), &joined(path, name), deviations);
        }
        for (name, value) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
            differences(&Value::Null, value, &joined(path, name), deviations);
        }
        return;
    }
    let expected = if earlier.is_null() { "nothing".to_owned() } else { shown(earlier) };
    let found = (!found.is_null()).then(|| shown(found));
    deviations.push(Deviation { path: path.to_owned(), expected, found });
}
