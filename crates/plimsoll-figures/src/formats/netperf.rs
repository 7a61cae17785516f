//! The classic tables of `netperf`, and its `KEY=VALUE` lines (`-- -k`).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "netperf",
    tool: "netperf",
    command: "netperf -t TCP_STREAM -H HOST, netperf -t TCP_RR -H HOST",
    measured: &[
        "higher bits_per_second,side Mbit/s: `Throughput` of STREAM tests, in the unit that the heading states; of UDP both sides",
        "higher bytes_per_second,side MiB/s: `Throughput`, with `-f M` and the like",
        "lower retransmits,side: `Local Transport Retransmissions` and `Remote`, with `-o`",
        "higher transactions_per_second 1/s: `Trans. Rate` of RR tests",
        "higher interval_bits_per_second Mbit/s: `Interim result`, with `-D`",
        "higher interval_transactions_per_second 1/s: `Interim result` of RR tests",
        "plain duration s: `Elapsed Time`",
        "plain cpu,side %: `Utilization`, `CPU`, with `-c` and `-C`; what was not measured is left out",
        "lower service_demand,side us/KB, us/Tr: `Service Demand`, `S.dem`: CPU time for a KB of 1024 bytes, or for a transaction",
        "lower latency,stat us: `MEAN_LATENCY`, `MIN_LATENCY`, `MAX_LATENCY`, `STDDEV_LATENCY` with `-k`",
        "lower latency,percentile us: `P50_LATENCY`, `P90_LATENCY`, `P99_LATENCY` with `-k`",
    ],
    main: &["bits_per_second", "transactions_per_second", "bytes_per_second"],
    checked: Checked::Run("2.7.0"),
    marks: &[" TEST ", " TEST,", "THROUGHPUT=", "Recv ", "Throughput Units,"],
    start: |line| {
        if kind(line.text).is_some() {
            return Some(Start::Head);
        }
        let heading = is_heading(line.text) || is_heading_of_columns(line.text);
        (heading || line.text.starts_with("THROUGHPUT=")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Netperf>::default()),
    ..Format::EMPTY
};

/// Quantity of a test.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stream,
    Datagrams,
    Transactions,
    /// Whatever the options of `-t omni` say: its row has the unit.
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
    } else if name.contains("UDP") && (name.contains("STREAM") || name.contains("SEND")) {
        Some(Kind::Datagrams)
    } else {
        ["STREAM", "MAERTS", "SENDFILE"].iter().any(|word| name.contains(word)).then_some(Kind::Stream)
    }
}

/// The metric and the unit of a throughput, by the unit that netperf states: that of `-f`, with K, M and G of bytes in powers of 1024.
fn throughput(unit: &str) -> Option<(&'static str, &'static str)> {
    Some(match unit.trim_end_matches("ec") {
        "10^3bits/s" => ("bits_per_second", "kbit/s"),
        "10^6bits/s" => ("bits_per_second", "Mbit/s"),
        "10^9bits/s" => ("bits_per_second", "Gbit/s"),
        "KBytes/s" => ("bytes_per_second", "KiB/s"),
        "MBytes/s" => ("bytes_per_second", "MiB/s"),
        "GBytes/s" => ("bytes_per_second", "GiB/s"),
        "Trans/s" => ("transactions_per_second", "1/s"),
        _ => return None,
    })
}

/// Quantity of a test without its first line, by a line above its figures.
fn kind_of_heading(text: &str) -> Option<Kind> {
    if text.contains("Trans.") {
        Some(Kind::Transactions)
    } else if text.contains("Messages") && text.contains("Elapsed") {
        Some(Kind::Datagrams)
    } else {
        (text.contains("Message") && text.contains("Elapsed")).then_some(Kind::Stream)
    }
}

/// Metric, label and unit of a column of `-o`, except the throughput.
fn column(name: &str) -> Option<(&'static str, (&'static str, String), &'static str)> {
    if let Some(time) = name.strip_suffix(" Latency Microseconds") {
        let label = match time {
            "Mean" | "Minimum" | "Maximum" | "Stddev" => {
                let stats = [("Mean", "mean"), ("Minimum", "min"), ("Maximum", "max"), ("Stddev", "stdev")];
                ("stat", stats.iter().find(|(name, _)| *name == time)?.1.to_owned())
            }
            percentile => ("percentile", percentile.strip_suffix("th Percentile")?.to_owned()),
        };
        return Some(("latency", label, "us"));
    }
    let side = |side: &str| ("side", side.to_owned());
    Some(match name {
        "Local Transport Retransmissions" => ("retransmits", side("local"), ""),
        "Remote Transport Retransmissions" => ("retransmits", side("remote"), ""),
        _ => return None,
    })
}

/// Of the local and of the remote side: how busy its CPUs were, and the CPU time of a unit of work. -1 stands for an unmeasured value.
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
    /// The unit of throughput, as it was stated.
    unit: Option<String>,
    /// The unit of the elapsed time that a heading stated.
    elapsed: HeadingTime,
    /// The names of the columns of `-o`.
    columns: Vec<String>,
}

impl Reader for Netperf {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(kind) = kind(line.text) {
            self.kind = Some(kind);
            return Fit::Mine;
        }
        if is_heading_of_columns(line.text) {
            self.columns = line.text.split(',').map(|name| name.trim().to_owned()).collect();
            return Fit::Mine;
        }
        if !self.columns.is_empty() && line.text.contains(',') {
            return self.of_columns(line, out);
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
        if let (Some(Kind::Omni), 0, [_, _, _, seconds, rate, unit]) =
            (self.kind, self.rows, words.as_slice())
            && let (Some(seconds), Some(rate), Some((metric, unit))) =
                (number(seconds), number(rate), throughput(unit))
        {
            let Some(of_time) = out.time_unit(self.elapsed, "s") else { return Fit::Mine };
            self.rows += 1;
            out.put(metric, rate, unit, &[]);
            out.put("duration", seconds, of_time, &[]);
            return Fit::Mine;
        }
        // Warning that a confidence was not achieved.
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
            if is_heading(line.text) {
                if self.rows > 0 {
                    return Fit::Next;
                }
                return Fit::Mine;
            }
            let heading = words.first().is_some_and(|word| HEADING.contains(word));
            if !heading {
                return Fit::Foreign;
            }
            if self.kind.is_none() {
                self.kind = kind_of_heading(line.text);
            }
            if let Some(stated) = unit_of_elapsed(&words) {
                self.elapsed = HeadingTime::stated(stated.trim_matches(['(', ')', '.']));
            }
            let unit = words.iter().find(|word| throughput(word).is_some());
            // `per sec` of transactions.
            let per_second = words.windows(2).any(|pair| pair == ["per", "sec"]).then_some("Trans/s");
            if let Some(unit) = unit.copied().or(per_second) {
                self.unit = Some(unit.to_owned());
            }
            return Fit::Mine;
        };
        self.row(&values, out)
    }
}

/// Text of a heading's last line below `Elapsed Time`: the word behind the sizes, `(sec)` or `secs.`.
fn unit_of_elapsed<'t>(words: &[&'t str]) -> Option<&'t str> {
    match words {
        ["Size", .., last] if last.starts_with('(') => Some(last),
        ["bytes", ..] => words.rsplit(|word| *word == "bytes").next()?.first().copied(),
        _ => None,
    }
}

/// The first line above the figures of a stream, also without the line that names the test.
fn is_heading(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words == ["Recv", "Send", "Send"] || words.starts_with(&["Recv", "Send", "Send", "Utilization"])
}

fn is_heading_of_columns(text: &str) -> bool {
    text.contains("Throughput Units,") && text.split(',').any(|name| name.trim() == "Throughput")
}

impl Netperf {
    fn row(&mut self, values: &[f64], out: &mut Out<'_>) -> Fit {
        // The sizes of the other side's buffers.
        if let (Some(Kind::Transactions), 1, [_, _]) = (self.kind, self.rows, values) {
            self.rows += 1;
            return Fit::Mine;
        }
        let (seconds, rate, side, cpu) = match (self.kind, self.rows, values) {
            (Some(Kind::Stream), 0, [_, _, _, seconds, rate, cpu @ ..]) if matches!(cpu.len(), 0 | 4) => {
                (Some(*seconds), *rate, None, cpu)
            }
            (Some(Kind::Datagrams), 0, [_, _, seconds, _, _, rate]) => {
                (Some(*seconds), *rate, Some("sender"), &[][..])
            }
            (Some(Kind::Datagrams), 1, [_, _, _, rate]) => (None, *rate, Some("receiver"), &[][..]),
            (Some(Kind::Transactions), 0, [_, _, _, _, seconds, rate, cpu @ ..])
                if matches!(cpu.len(), 0 | 4) =>
            {
                (Some(*seconds), *rate, None, cpu)
            }
            _ => return Fit::Foreign,
        };
        let Some((metric, unit)) = self.unit.as_deref().and_then(throughput) else {
            return out.refuse("no line above states the unit of the throughput");
        };
        let Some(of_time) = out.time_unit(self.elapsed, "s") else { return Fit::Mine };
        self.rows += 1;
        let side = side.map(|side| ("side", side));
        out.put(metric, rate, unit, side.as_slice());
        out.put("duration", seconds, of_time, &[]);
        of_sides(cpu, if self.kind == Some(Kind::Transactions) { "us/Tr" } else { "us/KB" }, out);
        Fit::Mine
    }

    /// A row of `-o`: each value by the name of its column.
    fn of_columns(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
        if cells.len() != self.columns.len() {
            return Fit::Foreign;
        }
        let cell = |wanted: &str| {
            self.columns.iter().zip(&cells).find(|(name, _)| *name == wanted).map(|(_, cell)| *cell)
        };
        let (rate, unit) =
            (cell("Throughput").and_then(number), cell("Throughput Units").and_then(throughput));
        let (Some(rate), Some((metric, unit))) = (rate, unit) else {
            return out.refuse("the unit of the throughput is not known");
        };
        out.put(metric, rate, unit, &[]);
        out.put("duration", cell("Elapsed Time (sec)").and_then(number), "s", &[]);
        for (name, cell) in self.columns.iter().zip(&cells) {
            if let (Some((metric, (label, of), unit)), Some(value)) = (column(name), number(cell)) {
                out.put(metric, value, unit, &[(label, &of)]);
            }
        }
        Fit::Mine
    }

    /// `THROUGHPUT=9416.61`, with its unit in a line of its own before it.
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
                // A rate of transactions has one unit only.
                let of_kind = (self.kind == Some(Kind::Transactions)).then_some("Trans/s");
                let Some((metric, unit)) = self.unit.as_deref().or(of_kind).and_then(throughput) else {
                    return out.refuse("no line above states the unit of the throughput");
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
