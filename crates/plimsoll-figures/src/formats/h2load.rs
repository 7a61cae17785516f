//! The output of `h2load` (nghttp2).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "h2load",
    tool: "h2load (nghttp2)",
    command: "h2load -n 2000 -c 8 URL",
    measured: &[
        "higher requests_per_second 1/s: `finished in`",
        "higher throughput MiB/s: `finished in`",
        "plain duration s: `finished in`",
        "plain requests,result: `requests`: total, started, done, succeeded, failed, errored, timeout",
        "lower latency,stat ms: `time for request`: min, max, mean, sd (stdev)",
        "lower connect_time,stat ms: `time for connect`",
        "lower first_byte_time,stat ms: `time to 1st byte`",
        "higher client_requests_per_second,stat 1/s: `req/s` of the clients",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("1.52.0"),
    marks: &["starting benchmark...", "finished in "],
    start: |line| {
        if line.text == "starting benchmark..." {
            return Some(Start::Head);
        }
        (line.text.starts_with("finished in ") && line.text.contains(" req/s")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<H2load>::default()),
    ..Format::EMPTY
};

const STATS: [&str; 4] = ["min", "max", "mean", "stdev"];
const KNOWN: [&str; 10] = [
    "starting benchmark",
    "spawning thread",
    "Application protocol:",
    "TLS Protocol:",
    "Cipher:",
    "Server Temp Key:",
    "progress:",
    "status codes:",
    "traffic:",
    "min ",
];

#[derive(Default)]
struct H2load {
    seen: bool,
}

impl Reader for H2load {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(rest) = line.after("finished in ") {
            if std::mem::replace(&mut self.seen, true) {
                return Fit::Next;
            }
            return finished(rest, out);
        }
        if let Some(rest) = line.after("requests:") {
            for part in rest.split(", ") {
                if let Some((value, result)) =
                    part.split_once(' ').and_then(|(value, of)| Some((number(value)?, of)))
                {
                    out.put("requests", value, "", &[("result", result)]);
                }
            }
            return Fit::Mine;
        }
        const ROWS: [(&str, &str); 4] = [
            ("time for request", "latency"),
            ("time for connect", "connect_time"),
            ("time to 1st byte", "first_byte_time"),
            ("req/s", "client_requests_per_second"),
        ];
        let row = line.text.split_once(':').and_then(|(key, rest)| {
            let (_, metric) = ROWS.iter().find(|(name, _)| *name == key.trim())?;
            Some((*metric, rest))
        });
        if let Some((metric, rest)) = row {
            let values: Vec<(f64, &str)> =
                rest.split_whitespace().take(STATS.len()).map_while(leading).collect();
            for (stat, (value, behind)) in STATS.iter().zip(values) {
                let rate = metric == "client_requests_per_second";
                if let Some(its_unit) = if rate { Some("1/s") } else { unit::time(behind) } {
                    out.put(metric, value, its_unit, &[("stat", stat)]);
                }
            }
            return Fit::Mine;
        }
        if KNOWN.iter().any(|known| line.text.starts_with(known)) { Fit::Mine } else { Fit::Foreign }
    }
}

/// `72.42ms, 27616.30 req/s, 152.12MB/s`.
fn finished(rest: &str, out: &mut Out<'_>) -> Fit {
    let mut parts = rest.split(", ");
    let time = parts.next().and_then(leading).and_then(|(value, behind)| Some((value, unit::time(behind)?)));
    let rate = parts.next().and_then(|part| number(part.strip_suffix(" req/s")?));
    let (Some((time, its_unit)), Some(rate)) = (time, rate) else { return Fit::Foreign };
    out.put("duration", time, its_unit, &[]);
    out.put("requests_per_second", rate, "1/s", &[]);
    let bytes = parts.next().and_then(leading);
    if let Some((value, its_unit)) =
        bytes.and_then(|(value, behind)| Some((value, unit::bytes_per_second(behind)?)))
    {
        out.put("throughput", value, its_unit, &[]);
    }
    Fit::Mine
}
