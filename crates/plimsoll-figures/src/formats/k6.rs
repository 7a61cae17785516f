//! The end-of-test summary of `k6` (text, and JSON of `--summary-export`), and the JSON lines of `--out json`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "k6",
    tool: "k6",
    command: "k6 run --summary-export FILE SCRIPT, k6 run --out json=FILE SCRIPT",
    measured: &[
        "higher requests_per_second 1/s: the rate of `http_reqs`",
        "plain requests: the count of `http_reqs`",
        "lower latency,stat ms: `http_req_duration`: avg (mean), min, med (median), max",
        "lower latency,percentile ms: `http_req_duration`: p(90), p(95) ...",
        "lower trend,of,stat,percentile ms: the other trends of the text, such as `iteration_duration`; with `tag` those of a threshold (`{ expected_response:true }`)",
        "lower request_time ms: each `http_req_duration`, of `--out json` only",
        "lower failed %: `http_req_failed`; in JSON a share of 1",
        "plain iterations: the count of `iterations`",
        "plain share,of %: the other rates, such as `checks`",
        "plain count,of,stat: the other counters and gauges, such as `vus` and `checks_total`",
        "plain rate,of 1/s: the rate of those, and of `iterations`",
        "plain data,of B: `data_received` and `data_sent`, in powers of 1000",
        "plain data_rate,of B/s: the rate of those",
    ],
    main: &["requests_per_second", "request_time"],
    checked: Checked::Kept("0.57.0"),
    marks: &["..: "],
    start: |line| row(line.text).is_some_and(|row| is_known(&row)).then_some(Start::Within),
    reader: Some(|_| Box::<K6>::default()),
    json: Some(Document { is: is_document, read: document, by_line: true }),
    ..Format::EMPTY
};

/// A line of the summary: `http_reqs......................: 1234   61.7/s`.
struct Row<'t> {
    name: &'t str,
    /// Text after the colon.
    rest: &'t str,
}

fn row(text: &str) -> Option<Row<'_>> {
    let (name, rest) = text.split_once("..: ")?;
    let plain = name.trim_end_matches('.').trim_end();
    // Versions differ in what stands before: a tick, a cross, nothing.
    let plain = plain.trim_start_matches(|c: char| !(c.is_ascii_alphabetic() || c == '{'));
    let is_name = plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_tag = plain.starts_with('{') && plain.ends_with('}');
    (!plain.is_empty() && (is_name || is_tag)).then(|| Row { name: plain, rest: rest.trim() })
}

/// Whether a line may be the first of a summary that was cut: a built-in metric, or a trend of any name.
fn is_known(row: &Row<'_>) -> bool {
    const BUILT_IN: [&str; 14] = [
        "checks",
        "checks_total",
        "checks_succeeded",
        "checks_failed",
        "data_received",
        "data_sent",
        "dropped_iterations",
        "http_req_failed",
        "http_reqs",
        "iterations",
        "vus",
        "vus_max",
        "ws_msgs_received",
        "ws_sessions",
    ];
    BUILT_IN.contains(&row.name) || (row.rest.starts_with("avg=") && row.rest.contains(" med="))
}

#[derive(Default)]
struct K6 {
    seen: Vec<String>,
    /// The metric above, which lines with a tag in its place are parts of.
    whole: String,
}

impl Reader for K6 {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some(row) = row(line.text) else { return Fit::Foreign };
        let tag = row.name.strip_prefix('{').map(|tag| tag.trim_end_matches('}').trim());
        let whole = if tag.is_some() { self.whole.clone() } else { row.name.to_owned() };
        if tag.is_some() && whole.is_empty() {
            return Fit::Foreign;
        }
        let key = format!("{whole} {}", tag.unwrap_or_default());
        if self.seen.contains(&key) {
            return Fit::Next;
        }
        let labels =
            [("of", whole.as_str())].into_iter().chain(tag.map(|tag| ("tag", tag))).collect::<Vec<_>>();
        let before = out.given;
        figures(&whole, &labels, row.rest, out);
        if out.given == before {
            return Fit::Foreign;
        }
        self.seen.push(key);
        self.whole = whole;
        Fit::Mine
    }
}

/// The figures of a metric, by their form: a trend, a share, an amount of data, a counter or a gauge.
fn figures(name: &str, labels: &[(&'static str, &str)], rest: &str, out: &mut Out<'_>) {
    // The metrics that have names of their own stand without `of`.
    let own = labels.get(1..).unwrap_or_default();
    if rest.starts_with("avg=") {
        let (metric, labels) = if name == "http_req_duration" { ("latency", own) } else { ("trend", labels) };
        return trend(metric, labels, rest, out);
    }
    let mut words = rest.split_whitespace();
    let Some((value, behind)) = words.next().and_then(leading) else { return };
    let next = words.next().unwrap_or_default();
    let rate = |word: &str| {
        let word = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')).unwrap_or(word);
        leading(word).filter(|(_, behind)| *behind == "/s").map(|(rate, _)| rate)
    };
    match (behind, next) {
        ("%", _) if name == "http_req_failed" => out.put("failed", value, "%", own),
        ("%", _) => out.put("share", value, "%", labels),
        ("", "B" | "kB" | "MB" | "GB" | "TB") => {
            out.put("data", value, next, labels);
            let per_second =
                |unit: &str| ["B/s", "kB/s", "MB/s", "GB/s"].into_iter().find(|known| *known == unit);
            if let (Some((rate, "")), Some(unit)) =
                (words.next().and_then(leading), words.next().and_then(per_second))
            {
                out.put("data_rate", rate, unit, labels);
            }
        }
        ("", _) => {
            match name {
                "http_reqs" => out.put("requests", value, "", own),
                "iterations" => out.put("iterations", value, "", own),
                _ => out.put("count", value, "", labels),
            }
            match rate(next) {
                Some(rate) if name == "http_reqs" => out.put("requests_per_second", rate, "1/s", own),
                Some(rate) => out.put("rate", rate, "1/s", labels),
                None => bounds(next, words, labels, out),
            }
        }
        _ => {}
    }
}

/// `min=8 max=10` of a gauge.
fn bounds<'t>(
    first: &'t str,
    rest: impl Iterator<Item = &'t str>,
    labels: &[(&'static str, &str)],
    out: &mut Out<'_>,
) {
    for (key, word) in std::iter::once(first).chain(rest).filter_map(|word| word.split_once('=')) {
        if let (Some((value, "")), Some(stat)) =
            (leading(word), ["min", "max"].into_iter().find(|stat| *stat == key))
        {
            let labels: Vec<_> = labels.iter().copied().chain([("stat", stat)]).collect();
            out.put("count", value, "", &labels);
        }
    }
}

/// `avg=9.27s min=1.55s med=4.94s max=1m6s p(90)=17.53s`.
fn trend(metric: &str, labels: &[(&'static str, &str)], rest: &str, out: &mut Out<'_>) {
    for (key, word) in rest.split_whitespace().filter_map(|word| word.split_once('=')) {
        let simple = leading(word).and_then(|(value, behind)| {
            // Trends of the user's own may be no times.
            if behind.is_empty() { Some((value, "")) } else { Some((value, unit::time(behind)?)) }
        });
        // `1m6s`
        let several = || duration(word).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| (value, "s"));
        let Some((value, its_unit)) = simple.or_else(several) else { continue };
        latency(key, |label| {
            let labels: Vec<_> = labels.iter().copied().chain([label]).collect();
            out.put(metric, value, its_unit, &labels);
        });
    }
}

/// Name of a trend's field here.
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
