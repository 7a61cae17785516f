//! Values and rows, as both kinds of stores know them.

use std::error::Error;

use bytes::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// Content of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// Values for a statement, in the order of their numbers in it.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::database::Value::from($value)),*][..] };
}
pub(crate) use values;

/// Result of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

/// A column has something else than was expected.
#[derive(Debug, thiserror::Error)]
#[error("column {column} has not got {expected}")]
pub(crate) struct WrongColumn {
    column: usize,
    expected: &'static str,
}

impl Row {
    /// Content of a column.
    pub(crate) fn get<T: OfValue>(&self, column: usize) -> Result<T, WrongColumn> {
        let found = self.0.get(column).and_then(T::of);
        found.ok_or(WrongColumn { column, expected: T::EXPECTED })
    }

    pub(super) fn of_file(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Self> {
        let value = |column| -> rusqlite::Result<Value> {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Real(number) => Value::Real(number),
                text @ ValueRef::Text(_) => Value::Text(text.as_str()?.to_owned()),
                ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
            })
        };
        Ok(Self((0..columns).map(value).collect::<Result<_, _>>()?))
    }

    pub(super) fn of_server(row: &postgres::Row) -> Result<Self, postgres::Error> {
        let value = |(at, column): (usize, &postgres::Column)| -> Result<Value, postgres::Error> {
            Ok(match *column.type_() {
                Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map(i64::from).into(),
                Type::INT8 => row.try_get::<_, Option<i64>>(at)?.into(),
                Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.into(),
                Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.into(),
                _ => row.try_get::<_, Option<String>>(at)?.into(),
            })
        };
        Ok(Self(row.columns().iter().enumerate().map(value).collect::<Result<_, _>>()?))
    }
}

/// Types that a column may be read as.
pub(crate) trait OfValue: Sized {
    const EXPECTED: &'static str;
    fn of(value: &Value) -> Option<Self>;
}

/// How a column is read as each type, and what it is expected to be.
macro_rules! of_values {
    ($($type:ty, $expected:literal: |$value:ident| $read:expr;)+) => {
        $(impl OfValue for $type {
            const EXPECTED: &'static str = $expected;
            fn of($value: &Value) -> Option<Self> {
                $read
            }
        })+
    };
}

of_values! {
    String, "a text": |value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
    Vec<u8>, "bytes": |value| if let Value::Bytes(bytes) = value { Some(bytes.clone()) } else { None };
    i64, "a whole number": |value| if let Value::Integer(number) = value { Some(*number) } else { None };
    u64, "a whole number that is not negative": |value| i64::of(value)?.try_into().ok();
    u32, "a whole number below 2^32": |value| i64::of(value)?.try_into().ok();
    f64, "a number": |value| match value {
        Value::Real(number) => Some(*number),
        Value::Integer(number) => Some(*number as Self),
        _ => None,
    };
}

impl<T: OfValue> OfValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

/// Conversions of types into values of a column.
macro_rules! become_values {
    ($($type:ty: |$it:ident| $value:expr;)+) => {
        $(impl From<$type> for Value {
            fn from($it: $type) -> Self {
                $value
            }
        })+
    };
}

become_values! {
    &str: |text| Self::Text(text.to_owned());
    &String: |text| Self::Text(text.clone());
    String: |text| Self::Text(text);
    i64: |number| Self::Integer(number);
    u32: |number| Self::Integer(number.into());
    // No count, and no second, exceeds a column's range.
    u64: |number| Self::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    usize: |number| Self::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    f64: |number| Self::Real(number);
    &[u8]: |bytes| Self::Bytes(bytes.to_owned());
    Vec<u8>: |bytes| Self::Bytes(bytes);
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) if *ty == Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
            Self::Integer(number) => number.to_sql(ty, out),
            Self::Real(number) => number.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
        }
    }

    /// The statements are ours: each has the values that its columns take.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
