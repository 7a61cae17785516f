//! Fields of a single test of `judge`, beside those of every verdict.

use std::io;

use serde_json::Value;

/// The fields that only this test has.
fn own(answer: &Value) -> impl Iterator<Item = (&String, &Value)> {
    const COMMON: [&str; 10] =
        ["schema", "id", "claim", "metric", "outcome", "estimate", "interval", "confidence", "n", "reason"];
    answer.as_object().into_iter().flatten().filter(|(name, _)| !COMMON.contains(&name.as_str()))
}

/// Fields of this test alone, a line each.
pub(crate) fn text(out: &mut dyn io::Write, answer: &Value) -> io::Result<()> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    for (name, value) in own(answer).filter(|(_, value)| !is_empty(value)) {
        let name = name.replace('_', " ");
        match value {
            Value::Array(list) if list.iter().all(Value::is_object) => {
                writeln!(out, "{name}:")?;
                for item in list {
                    writeln!(out, "  {}", in_words(item))?;
                }
            }
            value => writeln!(out, "{name}: {}", in_words(value))?,
        }
    }
    Ok(())
}

/// The fields by name, for a table. Lists as long as the input are in the chart.
pub(crate) fn facts(answer: &Value) -> Vec<(String, String)> {
    own(answer)
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), in_words(value)))
        .collect()
}

/// A value in words.
fn in_words(value: &Value) -> String {
    const LONGEST: usize = 20;
    match value {
        Value::Array(list) if list.len() > LONGEST => format!("{} values", list.len()),
        Value::Array(list) if list.iter().all(Value::is_number) && list.len() == 2 => {
            list.iter().map(in_words).collect::<Vec<_>>().join(" to ")
        }
        Value::Array(list) => list.iter().map(in_words).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{} {}", name.replace('_', " "), in_words(value));
            fields.iter().filter(|(_, value)| !value.is_null()).map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), plimsoll_report::figure),
        Value::String(text) => text.replace('_', " "),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Null => "none".to_owned(),
    }
}
