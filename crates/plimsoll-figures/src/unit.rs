//! Units of the same kind, so that `900us` and `1.2ms` can stand in one series.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Time,
    Bytes,
    BytesPerSecond,
    /// In powers of 1000.
    DecimalBytesPerSecond,
    BitsPerSecond,
}

/// The units that tools use for what has several: the first of each dimension has factor 1. K, M and G are powers of 1000 where they stand before
/// bits, and as the tool means them before bytes (`MB` of wrk, hdparm and iperf is 1024 * 1024 bytes), which is why they are never mixed with others:
/// only units of the same tool are converted into one another.
fn meaning(unit: &str) -> Option<(Dimension, f64)> {
    use Dimension::{BitsPerSecond, Bytes, BytesPerSecond, DecimalBytesPerSecond, Time};
    const KI: f64 = 1024.0;
    Some(match unit {
        "s" => (Time, 1.0),
        "ms" => (Time, 1e-3),
        "us" => (Time, 1e-6),
        "ns" => (Time, 1e-9),
        "min" => (Time, 60.0),
        "h" => (Time, 3600.0),
        "B" => (Bytes, 1.0),
        "KiB" => (Bytes, KI),
        "MiB" => (Bytes, KI * KI),
        "GiB" => (Bytes, KI * KI * KI),
        "TiB" => (Bytes, KI * KI * KI * KI),
        "B/s" => (BytesPerSecond, 1.0),
        "KiB/s" => (BytesPerSecond, KI),
        "MiB/s" => (BytesPerSecond, KI * KI),
        "GiB/s" => (BytesPerSecond, KI * KI * KI),
        "TiB/s" => (BytesPerSecond, KI * KI * KI * KI),
        "kB/s" => (DecimalBytesPerSecond, 1e3),
        "MB/s" => (DecimalBytesPerSecond, 1e6),
        "GB/s" => (DecimalBytesPerSecond, 1e9),
        "bit/s" => (BitsPerSecond, 1.0),
        "kbit/s" => (BitsPerSecond, 1e3),
        "Mbit/s" => (BitsPerSecond, 1e6),
        "Gbit/s" => (BitsPerSecond, 1e9),
        _ => return None,
    })
}

/// Factor from a value in `from` to one in `to`; `None` if they measure different things.
pub fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let ((from, by), (to, of)) = (meaning(from)?, meaning(to)?);
    (from == to).then_some(by / of)
}

/// The usual name of a unit that tools write behind a number: a time, an amount or a rate of bytes or bits, a share. Nothing for other words.
pub(super) fn any(word: &str) -> Option<&'static str> {
    // One letter is also a prefix of thousands.
    if matches!(word, "m" | "h" | "B") {
        return None;
    }
    match word {
        "%" => Some("%"),
        _ => time(word)
            .or_else(|| bytes(word))
            .or_else(|| bytes_per_second(word))
            .or_else(|| bits_per_second(word)),
    }
}

/// The unit of time that a heading states for the figures below it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum HeadingTime {
    /// No heading stated one: it is the tool's usual unit.
    #[default]
    Usual,
    Stated(&'static str),
    /// A heading stated a word that is no known unit of time.
    Unknown,
}

impl HeadingTime {
    pub(super) fn stated(word: &str) -> Self {
        time(word).map_or(Self::Unknown, Self::Stated)
    }
}

/// The usual name of a unit of time as tools write it behind a number.
pub(super) fn time(word: &str) -> Option<&'static str> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "millisecond" | "milliseconds" => "ms",
        "us" | "usec" | "µs" | "μs" | "microseconds" => "us",
        "ns" | "nsec" | "nanoseconds" => "ns",
        "m" | "min" => "min",
        "h" => "h",
        _ => return None,
    })
}

/// The name of an amount of bytes, of tools that count in powers of 1024 whatever they write: `MB`, `MBytes`, `MiB`.
pub(super) fn bytes(word: &str) -> Option<&'static str> {
    Some(match word {
        "B" | "Bytes" | "bytes" => "B",
        "KB" | "kB" | "KiB" | "KBytes" | "Kbytes" => "KiB",
        "MB" | "MiB" | "MBytes" => "MiB",
        "GB" | "GiB" | "GBytes" => "GiB",
        "TB" | "TiB" | "TBytes" => "TiB",
        _ => return None,
    })
}

/// The name of a rate of bytes, of tools that count in powers of 1024: `MB/s`, `MB/sec`, `MiB/s`.
pub(super) fn bytes_per_second(word: &str) -> Option<&'static str> {
    let amount = word.strip_suffix("/sec").or_else(|| word.strip_suffix("/s"))?;
    Some(match bytes(amount)? {
        "B" => "B/s",
        "KiB" => "KiB/s",
        "MiB" => "MiB/s",
        "GiB" => "GiB/s",
        _ => "TiB/s",
    })
}

/// The name of a rate of bits: `Mbits/sec`, `Gbits/sec`.
pub(super) fn bits_per_second(word: &str) -> Option<&'static str> {
    Some(match word {
        "bits/sec" | "bit/s" => "bit/s",
        "Kbits/sec" | "kbit/s" | "Kb/s" | "Kbps" => "kbit/s",
        "Mbits/sec" | "Mbit/s" | "Mb/s" | "Mbps" => "Mbit/s",
        "Gbits/sec" | "Gbit/s" | "Gb/s" | "Gbps" => "Gbit/s",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_kind_are_converted_and_others_are_not() {
        assert_eq!(factor("us", "ms").map(|factor| (900.0 * factor * 1e9).round()), Some(9e8));
        assert_eq!(factor("Gbit/s", "Mbit/s"), Some(1000.0));
        assert_eq!(factor("MiB/s", "KiB/s"), Some(1024.0));
        assert_eq!(factor("widgets", "widgets"), Some(1.0));
        assert_eq!(factor("ms", "MiB"), None);
        assert_eq!(factor("MB/s", "MiB/s"), None);
    }
}
