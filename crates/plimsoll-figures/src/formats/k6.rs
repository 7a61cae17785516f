//! The end-of-test summary of `k6` (text, and JSON of `--summary-export`), and the JSON lines of `--out json`.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::{duration, leading, number};
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "k6",
    tool: "k6",
    command: "k6 run --summary-export FILE SCRIPT, k6 run --out json=FILE SCRIPT",
    measured: &[
        Measured::higher("requests_per_second", "1/s", &[], "the rate of `http_reqs`"),
        Measured::plain("requests", "", &[], "the count of `http_reqs`"),
        Measured::lower(
            "latency",
            "ms",
            &["stat"],
            "`http_req_duration`: avg (mean), min, med (median), max",
        ),
        Measured::lower("latency", "ms", &["percentile"], "`http_req_duration`: p(90), p(95) ..."),
        Measured::lower(
            "trend",
            "ms",
            &["of", "stat", "percentile"],
            "the other trends of the text, such as `iteration_duration`",
        ),
        Measured::lower("request_time", "ms", &[], "each `http_req_duration`, of `--out json` only"),
        Measured::lower("failed", "%", &[], "`http_req_failed`; in JSON a share of 1"),
        Measured::plain("iterations", "", &[], "the count of `iterations`"),
    ],
    main: &["requests_per_second", "request_time"],
    checked: Checked::Kept("0.57.0"),
    text: Some(Text {
        marks: &["http_req_duration", "http_reqs", "http_req_failed", "iterations."],
        start: |line| row(line.text).is_some().then_some(Start::Within),
        opening: None,
        reader: |_| Box::<K6>::default(),
    }),
    json: Some(Document { is: is_document, read: document, by_line: true }),
    ..Format::EMPTY
};

/// `http_reqs......................: 1234   61.7/s`: the name, and what stands behind it.
fn row(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let name = name.trim_end();
    let plain = name.trim_end_matches('.');
    // Versions differ in what stands before: a tick, a cross, nothing.
    let plain = plain.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let known =
        name.ends_with("..") && plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    known.then(|| (plain, rest.trim()))
}

#[derive(Default)]
struct K6 {
    seen: Vec<String>,
}

impl Reader for K6 {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some((name, rest)) = row(line.text) else { return Fit::Foreign };
        if self.seen.iter().any(|seen| seen == name) {
            return Fit::Next;
        }
        self.seen.push(name.to_owned());
        let mut words = rest.split_whitespace();
        match name {
            "http_reqs" | "iterations" => {
                let Some(count) = words.next().and_then(number) else { return Fit::Foreign };
                out.put(if name == "http_reqs" { "requests" } else { name }, count, "", &[]);
                let rate = words.next().and_then(leading).filter(|(_, behind)| *behind == "/s");
                if let Some((rate, _)) = rate.filter(|_| name == "http_reqs") {
                    out.put("requests_per_second", rate, "1/s", &[]);
                }
            }
            trend if rest.contains("avg=") => {
                let of = (trend != "http_req_duration").then_some(("of", trend));
                let metric = if of.is_some() { "trend" } else { "latency" };
                for (key, word) in words.filter_map(|word| word.split_once('=')) {
                    let simple = leading(word).and_then(|(value, behind)| Some((value, unit::time(behind)?)));
                    // `1m6s`
                    let several =
                        || duration(word).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| (value, "s"));
                    let Some((value, its_unit)) = simple.or_else(several) else { continue };
                    latency(key, |label| {
                        let labels: Vec<_> = of.into_iter().chain([label]).collect();
                        out.put(metric, value, its_unit, &labels);
                    });
                }
            }
            "http_req_failed" => {
                let Some((value, "%")) = words.next().and_then(leading) else { return Fit::Foreign };
                out.put("failed", value, "%", &[]);
            }
            _ => {}
        }
        Fit::Mine
    }
}

/// What a field of a trend is called here.
fn latency(key: &str, put: impl FnOnce((&'static str, &str))) {
    match key {
        "avg" => put(("stat", "mean")),
        "med" => put(("stat", "median")),
        "min" | "max" => put(("stat", key)),
        key => {
            if let Some(percentile) = key.strip_prefix("p(").and_then(|key| key.strip_suffix(')')) {
                put(("percentile", percentile));
            }
        }
    }
}

fn is_document(json: &Json<'_>) -> bool {
    let of_line = json.has(&["metric", "type", "data"]);
    of_line
        || json
            .get("metrics")
            .is_some_and(|metrics| metrics.has(&["iterations"]) || metrics.has(&["http_reqs"]))
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let Some(metrics) = json.get("metrics") else {
        if json.text_of("metric").as_deref() == Some("http_req_duration") {
            out.json("request_time", json.at(&["data", "value"]), "ms", &[]);
        }
        return;
    };
    // Since version 1, the values stand one level deeper.
    let of = |name: &str| metrics.get(name).map(|metric| metric.get("values").unwrap_or(metric));
    if let Some(requests) = of("http_reqs") {
        out.json("requests", requests.get("count"), "", &[]);
        out.json("requests_per_second", requests.get("rate"), "1/s", &[]);
    }
    if let Some(iterations) = of("iterations") {
        out.json("iterations", iterations.get("count"), "", &[]);
    }
    if let Some(failed) = of("http_req_failed") {
        out.json("failed", failed.get("rate").or_else(|| failed.get("value")), "", &[]);
    }
    for (key, value) in of("http_req_duration").map(|all| all.fields()).unwrap_or_default() {
        latency(&key, |label| out.json("latency", Some(value), "ms", &[label]));
    }
}
