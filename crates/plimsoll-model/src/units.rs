//! One newtype per quantity, with the spelling that an experiment file uses for it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The default of a field that is a number.
pub(crate) const fn number<const N: u32>() -> u32 {
    N
}

/// A text that is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnitError {
    text: String,
    expected: &'static str,
}

impl UnitError {
    /// Expected input.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

/// A length of time: a whole or decimal number and `us`, `ms`, `s`, `m` or `h`; at most 10000 h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

impl Span {
    const EXPECTED: &'static str =
        "a length of time such as \"250ms\", \"1.5s\", \"2m\" or \"1h\", of at most 10000h";
    /// The longest, so that a multiple of it added to the time of day still is a time.
    const LONGEST: Duration = Duration::from_secs(10_000 * 3600);

    /// A span of `n` milliseconds.
    #[must_use]
    pub const fn millis(n: u64) -> Self {
        Self(Duration::from_millis(n))
    }

    /// The default of a field, in seconds.
    pub(crate) const fn of_secs<const N: u64>() -> Self {
        Self::secs(N)
    }

    /// The default of a field, in milliseconds.
    pub(crate) const fn of_millis<const N: u64>() -> Self {
        Self::millis(N)
    }

    /// A span of `n` seconds.
    #[must_use]
    pub const fn secs(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.into(), expected: Self::EXPECTED };
        let (number, unit) = split_unit(text).ok_or_else(error)?;
        let seconds = match unit {
            "us" | "µs" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(error()),
        };
        let span = Duration::try_from_secs_f64(seconds).map_err(|_| error())?;
        if span > Self::LONGEST { Err(error()) } else { Ok(Self(span)) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        match micros {
            0 => write!(f, "0s"),
            n if n % 3_600_000_000 == 0 => write!(f, "{}h", n / 3_600_000_000),
            n if n % 60_000_000 == 0 => write!(f, "{}m", n / 60_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}s", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}ms", n / 1_000),
            n => write!(f, "{n}us"),
        }
    }
}

/// A number of bytes: a whole or decimal number and nothing, `k`, `M`, `G` (powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

impl ByteSize {
    const EXPECTED: &'static str = "a size such as \"512\", \"64k\", \"1.5M\" or \"1G\" (powers of 1024)";

    /// The default of a field, in MiB.
    pub(crate) const fn of_mib<const N: u64>() -> Self {
        Self(N << 20)
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.into(), expected: Self::EXPECTED };
        let (number, unit) = split_unit(text).ok_or_else(error)?;
        let factor: u64 = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "" => 1,
            "k" => 1 << 10,
            "m" => 1 << 20,
            "g" => 1 << 30,
            "t" => 1 << 40,
            _ => return Err(error()),
        };
        let bytes = number * factor as f64;
        if bytes.fract() != 0.0 || bytes > 9e15 {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "G"), (20, "M"), (10, "k")] {
            if self.0 >= 1 << shift && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Bits per second: a number and `bit`, `kbit`, `Mbit` or `Gbit` (powers of 1000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub u64);

impl BitRate {
    const EXPECTED: &'static str =
        "a rate such as \"500kbit\", \"10Mbit\" or \"1Gbit\" per second, more than 0";
}

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.into(), expected: Self::EXPECTED };
        let (number, unit) = split_unit(text).ok_or_else(error)?;
        let factor = match unit.strip_suffix("/s").unwrap_or(unit) {
            "bit" => 1.0,
            "kbit" => 1e3,
            "Mbit" => 1e6,
            "Gbit" => 1e9,
            _ => return Err(error()),
        };
        let bits = (number * factor).round();
        if (1.0..=1e15).contains(&bits) { Ok(Self(bits as u64)) } else { Err(error()) }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % 1_000_000_000 == 0 => write!(f, "{}Gbit", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}Mbit", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}kbit", n / 1_000),
            n => write!(f, "{n}bit"),
        }
    }
}

/// How much may wait: a number of packets, or of bytes where a unit of size stands behind it (`64k`, `33750B`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl QueueLength {
    const EXPECTED: &'static str =
        "a number of packets such as 100, or of bytes such as \"33750B\" or \"64k\"";
}

impl FromStr for QueueLength {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Ok(packets) = text.trim().parse() {
            return Ok(Self::Packets(packets));
        }
        let bytes: ByteSize =
            text.parse().map_err(|_| UnitError { text: text.into(), expected: Self::EXPECTED })?;
        Ok(Self::Bytes(bytes.0))
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => n.fmt(f),
            Self::Bytes(n) => write!(f, "{n}B"),
        }
    }
}

/// Ports from the first to the last: `FIRST-LAST`, or one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest (1 to 65535).
    pub first: u16,
    /// The highest; at least `first`.
    pub last: u16,
}

impl PortRange {
    const EXPECTED: &'static str = "a range of ports such as \"10000-13999\", from 1 to 65535";
}

impl FromStr for PortRange {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Self { first, last }),
            _ => Err(UnitError { text: text.into(), expected: Self::EXPECTED }),
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// A part of a whole, from 0 to 1: a number, or a text in per cent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Share(pub f64);

impl Share {
    const EXPECTED: &'static str = "a share from 0 to 1 such as 0.05, or \"5 %\"";

    /// The default of a field, in per cent.
    pub(crate) fn percent<const N: u32>() -> Self {
        Self(f64::from(N) / 100.0)
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.into(), expected: Self::EXPECTED };
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().map_err(|_| error())? / scale;
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(error()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", (self.0 * 1e4).round() / 100.0)
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// A part of a whole, from 0 to 1.
    Share,
    /// Bits per second.
    BitsPerSecond,
    /// Millions of bytes per second.
    MegabytesPerSecond,
    /// A rate per second.
    PerSecond,
    /// A rate per minute.
    PerMinute,
    /// Whatever a program calls it.
    Other(&'static str),
}

impl Unit {
    /// The unit that has this name.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        match name {
            "ms" => Self::Milliseconds,
            "us" | "µs" => Self::Microseconds,
            "share" => Self::Share,
            "bit/s" => Self::BitsPerSecond,
            "MB/s" => Self::MegabytesPerSecond,
            "/s" | "per second" => Self::PerSecond,
            "/min" | "per minute" => Self::PerMinute,
            other => Self::Other(other),
        }
    }

    /// Reads an amount in any spelling that goes with the unit, and gives it in this unit.
    ///
    /// # Errors
    /// When the text is something else; the error says what was expected.
    pub fn parse(self, text: &str) -> Result<f64, UnitError> {
        let error = |expected| move || UnitError { text: text.into(), expected };
        match self {
            Self::Milliseconds => text.parse::<Span>().map(|span| span.0.as_secs_f64() * 1e3),
            Self::Microseconds => text.parse::<Span>().map(|span| span.0.as_secs_f64() * 1e6),
            Self::Share => text.parse::<Share>().map(|share| share.0),
            Self::BitsPerSecond => text.parse::<BitRate>().map(|rate| rate.0 as f64),
            Self::MegabytesPerSecond => {
                let error =
                    error("a rate such as \"500 kB/s\", \"200 MB/s\" or \"1.5 GB/s\" (powers of 1000)");
                let (number, unit) = split_unit(text).ok_or_else(&error)?;
                let factor = match unit {
                    "kB/s" => 1e-3,
                    "MB/s" => 1.0,
                    "GB/s" => 1e3,
                    _ => return Err(error()),
                };
                Ok(number * factor)
            }
            Self::PerSecond => {
                let error = error("a number per second such as 1000 or \"1000/s\"");
                let (number, unit) = split_unit(text).ok_or_else(&error)?;
                if matches!(unit, "" | "/s") { Ok(number) } else { Err(error()) }
            }
            Self::Other(name) => {
                let error = error("a number, alone or with the unit that the load gives the figure");
                let (number, unit) = split_unit(text).ok_or_else(&error)?;
                if unit.is_empty() || unit == name { Ok(number) } else { Err(error()) }
            }
            Self::PerMinute => {
                let error = error("a number per minute such as 600, \"600/min\" or \"10/s\"");
                let (number, unit) = split_unit(text).ok_or_else(&error)?;
                match unit {
                    "" | "/min" => Ok(number),
                    "/s" => Ok(number * 60.0),
                    _ => Err(error()),
                }
            }
        }
    }

    /// Unit after a figure.
    pub fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Share => "share",
            Self::BitsPerSecond => "bit/s",
            Self::MegabytesPerSecond => "MB/s",
            Self::PerSecond => "per second",
            Self::PerMinute => "per minute",
            Self::Other(name) => name,
        }
    }

    /// A figure of this unit, with the unit.
    pub fn with_unit(self, value: f64) -> String {
        let short = |value: f64| {
            let digits = if value.abs() >= 100.0 {
                0
            } else if value.abs() >= 10.0 {
                1
            } else {
                2
            };
            format!("{value:.digits$}")
        };
        match self {
            Self::Milliseconds => format!("{} ms", short(value)),
            Self::Microseconds => format!("{} µs", short(value)),
            Self::Share => format!("{} %", short(100.0 * value)),
            Self::BitsPerSecond => format!("{} Mbit/s", short(value / 1e6)),
            Self::MegabytesPerSecond => format!("{} MB/s", short(value)),
            Self::PerSecond => format!("{}/s", short(value)),
            Self::PerMinute => format!("{}/min", short(value)),
            Self::Other("") => short(value),
            Self::Other(name) => format!("{} {name}", short(value)),
        }
    }
}

/// The non-negative number at the start of `text`, and what follows it.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    Some((number, text[end..].trim()))
}

/// Gives a unit the serde and schema forms of its text; a bare number is taken as text without a unit.
macro_rules! spelled {
    ($unit:ident, $pattern:literal, $description:literal) => {
        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $unit {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $unit;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($unit::EXPECTED)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$unit, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<$unit, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<$unit, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<$unit, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $unit {
            fn schema_name() -> Cow<'static, str> {
                stringify!($unit).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "number"], "pattern": $pattern, "description": $description })
            }
        }
    };
}

spelled!(Span, r"^[0-9.]+ *(us|µs|ms|s|m|min|h)$", "a length of time: \"250ms\", \"1.5s\", \"2m\", \"1h\"");
spelled!(
    ByteSize,
    r"^[0-9.]+ *([kKmMgGtT](i?[bB])?)?$",
    "a number of bytes: 512, \"64k\", \"1M\" (powers of 1024)"
);
spelled!(
    BitRate,
    r"^[0-9.]+ *[kMG]?bit(/s)?$",
    "bits per second: \"500kbit\", \"10Mbit\", \"1Gbit\" (powers of 1000)"
);
spelled!(
    QueueLength,
    r"^[0-9.]+ *([kKmMgG]?(i?[bB])?)?$",
    "a number of packets: 100; or of bytes: \"33750B\", \"64k\" (powers of 1024)"
);
spelled!(PortRange, r"^[0-9]+(-[0-9]+)?$", "ports from the first to the last: \"10000-13999\"");
spelled!(Share, r"^[0-9.]+ *%?$", "a share from 0 to 1, or \"5 %\"");

/// A number with its noun: `1 packet`, `2 packets`.
pub fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{number} {noun}{}", if number == N::from(1) { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_reads_back_as_itself() {
        for text in ["250ms", "1s", "2m", "1h", "0s", "1500us"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        for text in ["512", "64k", "1M", "3G"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        for text in ["500kbit", "10Mbit", "1Gbit", "1bit"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
        for (text, queue) in [
            ("100", QueueLength::Packets(100)),
            ("33750B", QueueLength::Bytes(33_750)),
            ("64k", QueueLength::Bytes(65_536)),
        ] {
            assert_eq!(text.parse::<QueueLength>().unwrap(), queue);
            assert_eq!(queue.to_string().parse::<QueueLength>().unwrap(), queue);
        }
        assert_eq!("10000-13999".parse::<PortRange>().unwrap().to_string(), "10000-13999");
        assert_eq!("5 %".parse::<Share>().unwrap(), Share(0.05));
        assert_eq!("0.05".parse::<Share>().unwrap().to_string(), "5 %");
    }

    #[test]
    fn a_wrong_unit_says_what_was_expected() {
        let error = "5 parsecs".parse::<Span>().unwrap_err().to_string();
        assert!(error.starts_with("`5 parsecs` is not a length of time such as"), "{error}");
        assert!("12".parse::<Span>().is_err(), "a length of time needs its unit");
        assert!("-1s".parse::<Span>().is_err());
        assert!("101 %".parse::<Share>().is_err());
        for text in ["10", "0Mbit", "10MB"] {
            assert!(text.parse::<BitRate>().is_err(), "{text}");
        }
        for text in ["0-10", "20-10", "1-65536", "10000-"] {
            assert!(text.parse::<PortRange>().is_err(), "{text}");
        }
        assert!("1.5".parse::<ByteSize>().is_err(), "half a byte");
    }

    #[test]
    fn an_amount_is_read_in_the_unit_of_its_figure_and_in_no_other() {
        for (unit, text, value) in [
            (Unit::Milliseconds, "50ms", 50.0),
            (Unit::Milliseconds, "1.5 s", 1500.0),
            (Unit::Microseconds, "2ms", 2000.0),
            (Unit::Share, "1 %", 0.01),
            (Unit::Share, "0.01", 0.01),
            (Unit::BitsPerSecond, "10Mbit/s", 1e7),
            (Unit::MegabytesPerSecond, "200 MB/s", 200.0),
            (Unit::MegabytesPerSecond, "1.5GB/s", 1500.0),
            (Unit::PerSecond, "1000", 1000.0),
            (Unit::PerSecond, "1000/s", 1000.0),
            (Unit::PerMinute, "10/s", 600.0),
        ] {
            let read = unit.parse(text).unwrap();
            assert!((read - value).abs() < 1e-9 * value, "{text}: {read}");
        }
        for (unit, text, expected) in [
            (Unit::Milliseconds, "50", "a length of time"),
            (Unit::Milliseconds, "50 MB/s", "a length of time"),
            (Unit::Share, "150 %", "a share from 0 to 1"),
            (Unit::MegabytesPerSecond, "200", "\"200 MB/s\""),
            (Unit::PerSecond, "50ms", "a number per second"),
        ] {
            let error = unit.parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
