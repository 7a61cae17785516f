//! Refuses unknown fields of JSON objects: a misspelt setting must not leave the default in force.

use crate::input::JudgeError;
use plimsoll_model::experiment::nearest;
use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// Every object may have this field, which the answer repeats.
const ID: &str = "id";

/// Reads an object whose fields are all known to `T`.
///
/// # Errors
/// [`JudgeError::Syntax`] for text that is no such object, with the nearest valid name of the first unknown field.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, JudgeError> {
    let mut unknown = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_ignored::deserialize(&mut json, |path| {
        let path = path.to_string();
        if path != ID {
            unknown.get_or_insert(path);
        }
    });
    // A misspelt field that is required is missing, too: the cause goes first.
    if let Some(path) = unknown {
        return Err(JudgeError::Syntax(unknown_field(&path, names::<T>())));
    }
    let syntax = |error: serde_json::Error| JudgeError::Syntax(error.to_string());
    let value = value.map_err(syntax)?;
    json.end().map_err(syntax)?;
    Ok(value)
}

fn unknown_field(path: &str, names: &[&'static str]) -> String {
    if path.contains('.') {
        return format!("unknown field `{path}`");
    }
    let list = names.join("`, `");
    match nearest(path, names.iter().copied()) {
        Some(name) => format!("unknown field `{path}`: did you mean `{name}`? Expected `{list}`"),
        None => format!("unknown field `{path}`: expected `{list}`"),
    }
}

/// The names of the fields of `T`.
fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // The reader of names has no value to give, so that its error says nothing.
    let _no_value = T::deserialize(Names(&mut names));
    names
}

/// A deserialiser that only notes the field names of a structure.
struct Names<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = NoValue;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        Err(NoValue::custom("no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoValue> {
        *self.0 = fields;
        Err(NoValue::custom("no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
