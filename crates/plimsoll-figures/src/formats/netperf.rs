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
        Measured::higher("interval_bits_per_second", "Mbit/s", &[], "`Interim result`, with `-D`"),
        Measured::higher("interval_transactions_per_second", "1/s", &[], "`Interim result` of RR tests"),
        Measured::plain("duration", "s", &[], "`Elapsed Time`"),
        Measured::plain("cpu", "%", &["side"], "`Utilization`, `CPU`, with `-c` and `-C`; what was not measured is left out"),
        Measured::lower(
            "service_demand",
            "us/KB, us/Tr",
            &["side"],
            "`Service Demand`, `S.dem`: CPU time for a KB of 1024 bytes, or for a transaction",
        ),
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
    checked: Checked::Run("2.7.0"),
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
    /// Whatever the options of `-t omni` say: its row tells the unit.
    Omni,
}

/// `MIGRATED TCP STREAM TEST from 0.0.0.0 ...`, `TCP REQUEST/RESPONSE TEST to ...`.
fn kind(text: &str) -> Option<Kind> {
    let (name, rest) = text.split_once(" TEST")?;
    let follows = rest.is_empty() || rest.starts_with([' ', ',', ':']);
    let upper = name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'/' | b'_'));
    // The one test with small letters in its name.
    let connects = name.ends_with("TCP Connect/Request/Response");
    // `OMNI Send`, `OMNI Send|Recv`.
    let omni = name.starts_with("OMNI ") || name.starts_with("MIGRATED OMNI ");
    ((upper || connects || omni) && follows).then_some(())?;
    if omni {
        Some(Kind::Omni)
    } else if connects
        || name.contains("REQUEST/RESPONSE")
        || name.contains("TCP_RR")
        || name.contains("CONNECT")
    {
        Some(Kind::Transactions)
    } else if name.contains("UDP") && name.contains("STREAM") {
        Some(Kind::Datagrams)
    } else {
        ["STREAM", "MAERTS", "SENDFILE"].iter().any(|word| name.contains(word)).then_some(Kind::Stream)
    }
}

/// The metric and the unit of a throughput, by the unit that netperf tells.
fn throughput(unit: &str) -> Option<(&'static str, &'static str)> {
    match unit {
        "10^6bits/s" => Some(("bits_per_second", "Mbit/s")),
        "Trans/s" => Some(("transactions_per_second", "1/s")),
        _ => None,
    }
}

/// Of the local and of the remote side: how busy its CPUs were, and what a unit of work took of them. -1 stands for what was not measured.
fn of_sides(columns: &[f64], unit: &str, out: &mut Out<'_>) {
    let [local, remote, local_demand, remote_demand] = columns else { return };
    for (side, cpu, demand) in [("local", local, local_demand), ("remote", remote, remote_demand)] {
        if *cpu >= 0.0 && *demand >= 0.0 {
            out.put("cpu", *cpu, "%", &[("side", side)]);
            out.put("service_demand", *demand, unit, &[("side", side)]);
        }
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
        if let ["Interim", "result:", rate, unit, "over", ..] = words.as_slice()
            && let (Some(rate), Some((metric, unit))) = (number(rate), throughput(unit))
        {
            out.put(&format!("interval_{metric}"), rate, unit, &[]);
            return Fit::Mine;
        }
        if let (Some(Kind::Omni), 0, [_, _, _, seconds, rate, unit]) = (self.kind, self.rows, words.as_slice())
            && let (Some(seconds), Some(rate), Some((metric, unit))) =
                (number(seconds), number(rate), throughput(unit))
        {
            self.rows += 1;
            out.put(metric, rate, unit, &[]);
            out.put("duration", seconds, "s", &[]);
            return Fit::Mine;
        }
        // That a confidence was not achieved.
        if self.kind.is_some() && line.text.starts_with("!!!") {
            return Fit::Mine;
        }
        let values: Option<Vec<f64>> = words.iter().map(|word| number(word)).collect();
        let Some(values) = values else {
            const HEADING: [&str; 15] = [
                "Final",
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
            (Some(Kind::Stream), 1, [_, _, _, seconds, rate, cpu @ ..]) if matches!(cpu.len(), 0 | 4) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[]);
                out.put("duration", *seconds, "s", &[]);
                of_sides(cpu, "us/KB", out);
            }
            (Some(Kind::Datagrams), 1, [_, _, seconds, _, _, rate]) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[("side", "sender")]);
                out.put("duration", *seconds, "s", &[]);
            }
            (Some(Kind::Datagrams), 2, [_, _, _, rate]) => {
                out.put("bits_per_second", *rate, "Mbit/s", &[("side", "receiver")]);
            }
            (Some(Kind::Transactions), 1, [_, _, _, _, seconds, rate, cpu @ ..])
                if matches!(cpu.len(), 0 | 4) =>
            {
                out.put("transactions_per_second", *rate, "1/s", &[]);
                out.put("duration", *seconds, "s", &[]);
                of_sides(cpu, "us/Tr", out);
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
            "THROUGHPUT" => {
                let of_kind = match self.kind {
                    Some(Kind::Stream | Kind::Datagrams) => Some("10^6bits/s"),
                    Some(Kind::Transactions) => Some("Trans/s"),
                    Some(Kind::Omni) | None => None,
                };
                let Some((metric, unit)) = self.unit.as_deref().or(of_kind).and_then(throughput) else {
                    return Fit::Foreign;
                };
                out.put(metric, value, unit, &[]);
            }
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
