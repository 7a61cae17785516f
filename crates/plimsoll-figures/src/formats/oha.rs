//! The summary and the JSON (`-j`, `--output-format json`) of `oha`.

use super::hey::{percentile, responses};
use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "oha",
    tool: "oha",
    command: "oha -n 2000 -c 8 URL, with --output-format json",
    measured: &[
        "higher requests_per_second 1/s: `Requests/sec`, `requestsPerSec`",
        "higher success %: `Success rate`; in JSON `successRate`, which is a share of 1 there",
        "lower latency,stat s: `Average` (mean), `Fastest` (min), `Slowest` (max)",
        "lower latency,percentile s: `Response time distribution`, `latencyPercentiles`",
        "lower first_byte_time,percentile s: `firstBytePercentiles`, in JSON only",
        "plain duration s: `Total`",
        "plain responses,status: `Status code distribution`",
        "lower errors,kind: `Error distribution`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Kept("1.16.0"),
    marks: &["Success rate:"],
    start: |line| line.text.starts_with("Success rate:").then_some(Start::Head),
    reader: Some(|_| Box::<Oha>::default()),
    json: Some(Document {
        is: |json| json.get("summary").is_some_and(|summary| summary.has(&["requestsPerSec", "successRate"])),
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

const STATS: [(&str, &str, &str); 3] =
    [("Average", "average", "mean"), ("Fastest", "fastest", "min"), ("Slowest", "slowest", "max")];

#[derive(Default)]
struct Oha {
    /// Whether the lines are those of `Error distribution`.
    errors: bool,
}

/// `[20] Connection refused (os error 111)`: what failed, and how many times.
fn error(text: &str) -> Option<(&str, f64)> {
    let (count, kind) = text.strip_prefix('[')?.split_once("] ")?;
    Some((kind, number(count)?))
}

impl Reader for Oha {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((percent, value, its_unit)) = percentile(line) {
            out.put("latency", value, its_unit, &[("percentile", &percent.to_string())]);
            return Fit::Mine;
        }
        if let Some((status, count)) = responses(line) {
            out.put("responses", count, "", &[("status", status)]);
            return Fit::Mine;
        }
        if let Some((kind, count)) = error(line.text).filter(|_| self.errors) {
            out.put("errors", count, "", &[("kind", kind)]);
            return Fit::Mine;
        }
        let Some((key, rest)) = line.text.split_once(':') else {
            // `10.00% in NaN ns`, where no request was answered.
            if line.text.contains("% in NaN") {
                return Fit::Mine;
            }
            let bar = line.text.split_once(" [").is_some_and(|(_, rest)| rest.contains(']'));
            return if bar { Fit::Mine } else { Fit::Foreign };
        };
        let mut words = rest.split_whitespace();
        let first = words.next().unwrap_or_default();
        let time = number(first).zip(words.next().and_then(unit::time));
        let stat = STATS.iter().find(|(name, ..)| *name == key).map(|(.., stat)| *stat);
        self.errors = key == "Error distribution";
        let nothing = matches!(first, "NaN" | "inf" | "-inf");
        match (key, time, stat) {
            (.., Some(_)) if nothing => {}
            ("Success rate", ..) => {
                let Some((value, "%")) = leading(first) else { return Fit::Foreign };
                out.put("success", value, "%", &[]);
            }
            ("Total", Some((value, its_unit)), _) => out.put("duration", value, its_unit, &[]),
            (_, Some((value, its_unit)), Some(stat)) => {
                out.put("latency", value, its_unit, &[("stat", stat)]);
            }
            ("Requests/sec", ..) => {
                let Some(value) = number(first) else { return Fit::Foreign };
                out.put("requests_per_second", value, "1/s", &[]);
            }
            ("Total data" | "Size/request" | "Size/sec" | "DNS+dialup" | "DNS-lookup", ..) => {}
            (key, ..) if first.is_empty() && (key.contains("distribution") || key.contains("histogram")) => {}
            (key, ..) if key.starts_with("Details (average") => {}
            _ => return Fit::Foreign,
        }
        Fit::Mine
    }
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let Some(summary) = json.get("summary") else { return };
    out.json("requests_per_second", summary.get("requestsPerSec"), "1/s", &[]);
    out.json("success", summary.get("successRate"), "", &[]);
    out.json("duration", summary.get("total"), "s", &[]);
    for (_, field, stat) in STATS {
        out.json("latency", summary.get(field), "s", &[("stat", stat)]);
    }
    for (field, metric) in [("latencyPercentiles", "latency"), ("firstBytePercentiles", "first_byte_time")] {
        for (name, value) in json.get(field).map(|all| all.fields()).unwrap_or_default() {
            out.json(metric, Some(value), "s", &[("percentile", name.trim_start_matches('p'))]);
        }
    }
    for (status, count) in json.get("statusCodeDistribution").map(|all| all.fields()).unwrap_or_default() {
        out.json("responses", Some(count), "", &[("status", &status)]);
    }
    for (kind, count) in json.get("errorDistribution").map(|all| all.fields()).unwrap_or_default() {
        out.json("errors", Some(count), "", &[("kind", &kind)]);
    }
}
