//! How often each time was seen.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as Writer, V2Serializer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Significant digits of the times in every histogram.
const DIGITS: u8 = 3;

/// A histogram of times in microseconds. It is stored in HdrHistogram's V2 encoding in Base64; an empty text where nothing was recorded.
/// One that cannot be decoded is an error of the record's reader.
#[derive(Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Histogram {
    /// Times in microseconds, each with its count.
    #[must_use]
    pub fn of(times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all = Self::default();
        for (us, count) in times {
            let recorded = all.0.record_n(us, count);
            debug_assert!(recorded.is_ok(), "a histogram that resizes by itself takes every time");
        }
        all
    }

    /// Takes in what another one has.
    pub fn add(&mut self, other: &Self) {
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "a histogram that resizes by itself takes every other");
    }

    /// The usual percentiles; zeros where nothing was recorded.
    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.0.value_at_quantile(quantile);
        Percentiles {
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: self.0.max(),
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self(
            hdrhistogram::Histogram::new(DIGITS)
                .expect("the digits are within the range that a histogram takes"),
        )
    }
}

impl From<&hdrhistogram::Histogram<u64>> for Histogram {
    fn from(recorded: &hdrhistogram::Histogram<u64>) -> Self {
        let mut all = Self::default();
        all.add(&Self(recorded.clone()));
        all
    }
}

impl Deref for Histogram {
    type Target = hdrhistogram::Histogram<u64>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} times, {:?})", self.len(), self.percentiles())
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Times in microseconds: HdrHistogram's V2 encoding in Base64; an empty text where nothing was recorded.",
            "type": "string",
        })
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() {
            return serializer.serialize_str("");
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self::default());
        }
        let bytes = STANDARD
            .decode(&text)
            .map_err(|error| D::Error::custom(format_args!("a histogram is no Base64: {error}")))?;
        let read = Reader::new().deserialize::<u64, _>(&mut bytes.as_slice());
        let mut histogram =
            read.map_err(|error| D::Error::custom(format_args!("a histogram cannot be decoded: {error:?}")))?;
        histogram.auto(true);
        Ok(Self(histogram))
    }
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Half are faster.
    pub p50: u64,
    /// 90 % are faster.
    pub p90: u64,
    /// 95 % are faster; 0 in records that were made before it was kept.
    #[serde(default)]
    pub p95: u64,
    /// 99 % are faster.
    pub p99: u64,
    /// 99.9 % are faster; 0 in records that were made before it was kept.
    #[serde(default)]
    pub p99_9: u64,
    /// The slowest.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_read_back() {
        let histogram = Histogram::of([(1_000, 98), (50_000, 2)]);
        let text = serde_json::to_string(&histogram).unwrap();
        let read: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(read, histogram);
        assert_eq!((read.len(), read.percentiles().p50), (100, 1_000));
        assert!((49_900..50_100).contains(&read.percentiles().p99), "{read:?}");
    }

    #[test]
    fn nothing_recorded_is_an_empty_text() {
        assert_eq!(serde_json::to_string(&Histogram::default()).unwrap(), "\"\"");
        assert_eq!(serde_json::from_str::<Histogram>("\"\"").unwrap(), Histogram::default());
        assert_eq!(Histogram::default().percentiles(), Percentiles::default());
    }

    #[test]
    fn a_corrupt_histogram_is_an_error_and_never_an_empty_one() {
        let whole = serde_json::to_string(&Histogram::of([(1_000, 5)])).unwrap();
        for (corrupt, expected) in [
            ("\"?\"", "is no Base64"),
            (&whole.replace("HIST", "XXXX"), "histogram"),
            ("\"AAAA\"", "decoded"),
        ] {
            let error = serde_json::from_str::<Histogram>(corrupt).unwrap_err().to_string();
            assert!(error.contains(expected), "{corrupt}: {error}");
        }
        assert!(whole.contains("HIST"), "{whole}");
    }

    #[test]
    fn histograms_of_any_range_add_up() {
        let mut all = Histogram::of([(10, 1)]);
        let read: Histogram =
            serde_json::from_str(&serde_json::to_string(&Histogram::of([(7, 1)])).unwrap()).unwrap();
        let mut small = read;
        small.add(&Histogram::of([(3_600_000_000, 2)]));
        all.add(&small);
        assert_eq!(all.len(), 4);
        assert!(all.percentiles().max > 3_590_000_000, "{all:?}");
    }
}
