//! Lists of records as columns: values of one kind stand together, so they compress to about half.
//!
//! A list of four or more objects becomes one object: under [`MARK`] a text with `1` for each present record and `0` for each absent one, and under each
//! key the list of its values. Objects inside become columns as well. In a column `null` is a key that a record does not have. What begins with
//! [`MARK`] in a record has one more of it here, and `null` is [`MARK`] alone.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// No metric and no name of a host begins with it, so that nearly nothing needs to be escaped.
const MARK: char = '\0';
/// Shorter lists stay as they are.
const LEAST: usize = 4;

/// Puts all lists of objects into columns.
pub(crate) fn from_rows(value: Value) -> Value {
    match value {
        Value::Array(list) => column(list.into_iter().map(Some).collect()),
        Value::Object(record) => {
            Value::Object(record.into_iter().map(|(key, value)| (escaped(key), from_rows(value))).collect())
        }
        Value::String(text) => Value::String(escaped(text)),
        Value::Null => Value::String(MARK.into()),
        number_or_bool => number_or_bool,
    }
}

/// The records that [`from_rows`] was given; `None` if the columns do not fit together.
pub(crate) fn into_rows(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(mut record) => match record.remove(&String::from(MARK)) {
            Some(present) => {
                let rows = rows(present.as_str()?, record)?;
                Value::Array(rows.into_iter().collect::<Option<_>>()?)
            }
            None => Value::Object(
                record
                    .into_iter()
                    .map(|(key, value)| Some((unescaped(key), into_rows(value)?)))
                    .collect::<Option<_>>()?,
            ),
        },
        Value::Array(list) => Value::Array(list.into_iter().map(into_rows).collect::<Option<_>>()?),
        Value::String(text) if text.starts_with(MARK) && text.len() == MARK.len_utf8() => Value::Null,
        Value::String(text) => Value::String(unescaped(text)),
        other => other,
    })
}

fn column(values: Vec<Option<Value>>) -> Value {
    let is_object = |value: &Option<Value>| value.as_ref().is_none_or(Value::is_object);
    if values.len() < LEAST || !values.iter().all(is_object) || values.iter().all(Option::is_none) {
        return values.into_iter().map(|value| value.map_or(Value::Null, from_rows)).collect();
    }
    let present = values.iter().map(|value| if value.is_some() { '1' } else { '0' }).collect();
    let count = values.len();
    let mut fields: BTreeMap<String, Vec<Option<Value>>> = BTreeMap::new();
    for (at, value) in values.into_iter().enumerate() {
        let Some(Value::Object(record)) = value else { continue };
        for (key, value) in record {
            fields.entry(escaped(key)).or_insert_with(|| vec![None; count])[at] = Some(value);
        }
    }
    let mut columns: Map<String, Value> =
        fields.into_iter().map(|(key, values)| (key, column(values))).collect();
    columns.insert(MARK.into(), Value::String(present));
    Value::Object(columns)
}

/// Records of which some may be absent.
fn rows(present: &str, columns: Map<String, Value>) -> Option<Vec<Option<Value>>> {
    let mut rows: Vec<Option<Map<String, Value>>> =
        present.chars().map(|is_present| (is_present == '1').then(Map::new)).collect();
    for (key, values) in columns {
        let key = unescaped(key);
        let values = match values {
            Value::Array(values) => {
                let each = values.into_iter().map(|value| match value {
                    Value::Null => Some(None),
                    value => into_rows(value).map(Some),
                });
                each.collect::<Option<Vec<_>>>()?
            }
            Value::Object(mut columns) => {
                let present = columns.remove(&String::from(MARK))?;
                self::rows(present.as_str()?, columns)?
            }
            _ => return None,
        };
        if values.len() != rows.len() {
            return None;
        }
        for (row, value) in rows.iter_mut().zip(values) {
            if let Some(value) = value {
                row.as_mut()?.insert(key.clone(), value);
            }
        }
    }
    Some(rows.into_iter().map(|row| row.map(Value::Object)).collect())
}

fn escaped(mut text: String) -> String {
    if text.starts_with(MARK) {
        text.insert(0, MARK);
    }
    text
}

fn unescaped(mut text: String) -> String {
    if text.starts_with(MARK) {
        text.remove(0);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["[a-c]", "\0{1,2}a?", Just(String::new())];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 200, 8, move |inner| {
            let record = prop::collection::btree_map(text.clone(), inner.clone(), 0..4);
            let record = record.prop_map(|record| Value::Object(record.into_iter().collect()));
            let some = record.clone();
            prop_oneof![
                prop::collection::vec(inner, 0..8).prop_map(Value::from),
                prop::collection::vec(some, 0..8).prop_map(Value::from),
                record,
            ]
        })
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(value in any_value()) {
            prop_assert_eq!(into_rows(from_rows(value.clone())), Some(value));
        }

        #[test]
        fn anything_is_read_or_refused(value in any_value()) {
            let _ = into_rows(value);
        }
    }

    #[test]
    fn values_of_one_key_stand_together() {
        let slices = json!({ "slices": [
            { "at": 1, "counters": { "a": 5.0 } },
            { "at": 2, "counters": {} },
            { "at": 3 },
            { "at": 4, "counters": { "a": null } },
        ]});
        let columns = json!({ "slices": {
            "\0": "1111",
            "at": [1, 2, 3, 4],
            "counters": { "\0": "1101", "a": [5.0, null, null, "\0"] },
        }});
        assert_eq!(from_rows(slices), columns);
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        assert_eq!(into_rows(json!({ "\0": "111", "at": [1, 2] })), None);
        assert_eq!(into_rows(json!({ "\0": "10", "at": [1, 2] })), None);
        assert_eq!(into_rows(json!({ "\0": 7 })), None);
    }
}
