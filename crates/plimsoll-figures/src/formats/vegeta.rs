//! The reports of `vegeta`: text and JSON.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::{duration, leading, number};
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "vegeta",
    tool: "vegeta",
    command: "vegeta report, vegeta report -type=json",
    measured: &[
        Measured::higher(
            "requests_per_second",
            "1/s",
            &["of"],
            "`rate` and `throughput` (of answers that were right)",
        ),
        Measured::plain("requests", "", &[], "`total`"),
        Measured::plain("duration", "s", &["of"], "`Duration`: total, attack, wait"),
        Measured::lower("latency", "ms", &["stat"], "`Latencies`: min, mean, max"),
        Measured::lower("latency", "ms", &["percentile"], "`Latencies`: 50, 90, 95, 99"),
        Measured::higher("success", "%", &[], "`Success`; in JSON a share of 1"),
        Measured::plain("responses", "", &["status"], "`Status Codes`"),
    ],
    main: &["requests_per_second,of=throughput"],
    checked: Checked::Kept("12.13.0"),
    text: Some(Text {
        marks: &["[total, rate, throughput]", "[total, rate]"],
        start: |line| line.text.starts_with("Requests").then_some(Start::Head),
        opening: None,
        reader: |_| Box::new(Vegeta),
    }),
    json: Some(Document {
        is: |json| json.has(&["latencies", "requests", "rate", "success"]),
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

struct Vegeta;

/// A time as Go prints it: `145.082066ms`, `1m30.5s`.
fn time(word: &str) -> Option<(f64, &'static str)> {
    let (value, behind) = leading(word)?;
    let of_several = || duration(word).filter(|(_, rest)| rest.is_empty()).map(|(seconds, _)| (seconds, "s"));
    unit::time(behind).map(|its_unit| (value, its_unit)).or_else(of_several)
}

impl Reader for Vegeta {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        // `Latencies     [min, mean, 50, 90, 95, 99, max]  1.2ms, 3ms, ...`
        let Some((key, (names, values))) =
            line.text.split_once('[').and_then(|(key, rest)| Some((key.trim(), rest.split_once(']')?)))
        else {
            return if line.text.starts_with("Error Set:") { Fit::Mine } else { Fit::Foreign };
        };
        let pairs = || names.split(", ").zip(values.split(',').map(str::trim));
        match key {
            "Requests" => {
                for (name, word) in pairs() {
                    match (name, number(word)) {
                        ("total", Some(value)) => out.put("requests", value, "", &[]),
                        (of, Some(value)) => out.put("requests_per_second", value, "1/s", &[("of", of)]),
                        _ => {}
                    }
                }
            }
            "Duration" => {
                for (of, (value, its_unit)) in pairs().filter_map(|(of, word)| Some((of, time(word)?))) {
                    out.put("duration", value, its_unit, &[("of", of)]);
                }
            }
            "Latencies" => {
                for (name, (value, its_unit)) in pairs().filter_map(|(name, word)| Some((name, time(word)?)))
                {
                    let kind = if number(name).is_some() { "percentile" } else { "stat" };
                    out.put("latency", value, its_unit, &[(kind, name)]);
                }
            }
            "Success" => {
                let Some((value, "%")) = leading(values.trim()) else { return Fit::Foreign };
                out.put("success", value, "%", &[]);
            }
            "Status Codes" => {
                for (status, count) in values.split_whitespace().filter_map(|word| word.split_once(':')) {
                    if let Some(count) = number(count) {
                        out.put("responses", count, "", &[("status", status)]);
                    }
                }
            }
            "Bytes In" | "Bytes Out" => {}
            _ => return Fit::Foreign,
        }
        Fit::Mine
    }
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    out.json("requests_per_second", json.get("rate"), "1/s", &[("of", "rate")]);
    out.json("requests_per_second", json.get("throughput"), "1/s", &[("of", "throughput")]);
    out.json("requests", json.get("requests"), "", &[]);
    out.json("duration", json.get("duration"), "ns", &[("of", "attack")]);
    out.json("duration", json.get("wait"), "ns", &[("of", "wait")]);
    out.json("success", json.get("success"), "", &[]);
    for (name, value) in json.get("latencies").map(|all| all.fields()).unwrap_or_default() {
        match name.strip_suffix("th") {
            Some(percentile) => out.json("latency", Some(value), "ns", &[("percentile", percentile)]),
            None if name != "total" => out.json("latency", Some(value), "ns", &[("stat", &name)]),
            None => {}
        }
    }
    for (status, count) in json.get("status_codes").map(|all| all.fields()).unwrap_or_default() {
        out.json("responses", Some(count), "", &[("status", &status)]);
    }
}
