//! The classic tables of `netperf`, and its `KEY=VALUE` lines (`-- -k`).

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::number;

pub(super) const FORMAT: Format = Format {
    name: "netperf",
    tool: "netperf",
    command: "netperf -t TCP_STREAM -H HOST, netperf -t TCP_RR -H HOST",
    measured: &[
        Measured::higher(
            "bits_per_second",
            "Mbit/s",
            &["side"],
            "`Throughput` of STREAM tests in 10^6 bits/s; of UDP both sides",
        ),
        Measured::higher("transactions_per_second", "1/s", &[], "`Trans. Rate` of RR tests"),
        Measured::plain("duration", "s", &[], "`Elapsed Time`"),
        Measured::lower(
            "latency",
            "us",
            &["stat"],
            "`MEAN_LATENCY`, `MIN_LATENCY`, `MAX_LATENCY`, `STDDEV_LATENCY` with `-k`",
        ),
        Measured::lower(
            "latency",
            "us",
            &["percentile"],
            "`P50_LATENCY`, `P90_LATENCY`, `P99_LATENCY` with `-k`",
        ),
    ],
    main: &["bits_per_second", "transactions_per_second"],
    checked: Checked::Documented("netperf 2.7, doc/netperf.texi (no package in Debian main)"),
    text: Some(Text {
        marks: &[" TEST ", " TEST,", "THROUGHPUT="],
        start: |line| {
            if kind(line.text).is_some() {
                return Some(Start::Head);
            }
            line.text.starts_with("THROUGHPUT=").then_some(Start::Within)
        },
        opening: None,
        reader: |_| Box::<Netperf>::default(),
    }),
    ..Format::EMPTY
};

/// What a test measures.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stream,
    Datagrams,
    Transactions,
}

/// `MIGRATED TCP STREAM TEST from 0.0.0.0 ...`, `TCP REQUEST/RESPONSE TEST to ...`.
fn kind(text: &str) -> Option<Kind> {
    let (name, rest) = text.split_once(" TEST")?;
    let follows = rest.is_empty() || rest.starts_with([' ', ',', ':']);
    let upper = name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'/' | b'_'));
    (upper && follows).then_some(())?;
    if name.contains("REQUEST/RESPONSE") || name.contains("TCP_RR") || name.contains("CONNECT") {
        Some(Kind::Transactions)
    } else if name.contains("UDP") && name.contains("STREAM") {
        Some(Kind::Datagrams)
    } else {
        name.contains("STREAM")
            .then_some(Kind::Stream)
            .or_else(|| name.contains("MAERTS").then_some(Kind::Stream))
    }
}

#[derive(Default)]
struct Netperf {
    kind: Option<Kind>,
    /// How many lines of numbers have been read.
    rows: u32,
    /// Whether the throughput of the lines with keys is a rate of transactions.
    unit: Option<String>,
}

impl Reader for Netperf {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(kind) = kind(line.text) {
            self.kind = Some(kind);
            return Fit::Mine;
        }
        if let Some((key, value)) = line.text.split_once('=') {
            return self.keyed(key, value, out);
        }
        let words: Vec<&str> = line.words().collect();
        let values: Option<Vec<f64>> = words.iter().map(|word| number(word)).collect();
        let Some(values) = values else {
            const HEADING: [&str; 14] = [
                "Recv",
                "Socket",
                "Size",
                "bytes",
                "Local",
                "Send",
                "Message",
                "Remote",
                "Throughput",
                "Elapsed",
                "Trans.",
                "Bytes",
                "Request",
                "/Remote",
            ];
            let heading = self.kind.is_some() && words.first().is_some_and(|word| HEADING.contains(word));
            return if heading { Fit::Mine } else { Fit::Foreign };
        };
        self.row(&values, out)
    }
}

impl Netperf {
    fn row(&mut self, values: &[f64], out: &mut Out<'_>) -> Fit {
        self.rows += 1;
        match (self.kind, self.rows, values) {
            (Some(Kind::Stream), 1, [_, _, _, seconds, rate]) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[]);
                out.put("duration", *seconds, "s", &[]);
            }
            (Some(Kind::Datagrams), 1, [_, _, seconds, _, _, rate]) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[("side", "sender")]);
                out.put("duration", *seconds, "s", &[]);
            }
            (Some(Kind::Datagrams), 2, [_, _, _, rate]) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[("side", "receiver")]);
            }
            (Some(Kind::Transactions), 1, [_, _, _, _, seconds, rate]) => {
                out.put("transactions_per_second", *rate, "1/s", &[]);
                out.put("duration", *seconds, "s", &[]);
            }
            // The sizes of the other side's buffers.
            (Some(Kind::Transactions), 2, [_, _]) => {}
            _ => {
                self.rows -= 1;
                return Fit::Foreign;
            }
        }
        Fit::Mine
    }

    /// `THROUGHPUT=9416.61`, with its unit in a line of its own before or behind; it is that of the test where it is not told.
    fn keyed(&mut self, key: &str, value: &str, out: &mut Out<'_>) -> Fit {
        let known = !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if !known {
            return Fit::Foreign;
        }
        if key == "THROUGHPUT_UNITS" {
            self.unit = Some(value.trim().to_owned());
            return Fit::Mine;
        }
        let Some(value) = number(value.trim()) else { return Fit::Mine };
        match key {
            "THROUGHPUT" => match (self.unit.as_deref(), self.kind) {
                (Some("10^6bits/s"), _) | (None, Some(Kind::Stream | Kind::Datagrams)) => {
                    out.put("bits_per_second", value, "Mbit/s", &[]);
                }
                (Some("Trans/s"), _) | (None, Some(Kind::Transactions)) => {
                    out.put("transactions_per_second", value, "1/s", &[]);
                }
                _ => return Fit::Foreign,
            },
            "ELAPSED_TIME" => out.put("duration", value, "s", &[]),
            "MEAN_LATENCY" => out.put("latency", value, "us", &[("stat", "mean")]),
            "MIN_LATENCY" => out.put("latency", value, "us", &[("stat", "min")]),
            "MAX_LATENCY" => out.put("latency", value, "us", &[("stat", "max")]),
            "STDDEV_LATENCY" => out.put("latency", value, "us", &[("stat", "stdev")]),
            key => {
                let percentile = key.strip_prefix('P').and_then(|key| key.strip_suffix("_LATENCY"));
                if let Some(percentile) = percentile.filter(|percentile| number(percentile).is_some()) {
                    out.put("latency", value, "us", &[("percentile", percentile)]);
                }
            }
        }
        Fit::Mine
    }
}
