//! The summary of `hey`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hey",
    tool: "hey",
    command: "hey -n 2000 -c 8 URL",
    measured: &[
        "higher requests_per_second 1/s: `Requests/sec`",
        "lower latency,stat s: `Average` (mean), `Fastest` (min), `Slowest` (max)",
        "lower latency,percentile s: `Latency distribution`",
        "lower phase_latency,phase,stat s: `Details`: the mean, the fastest and the slowest of each phase",
        "plain duration s: `Total`",
        "plain transfer B: `Total data`",
        "plain responses,status: `Status code distribution`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("0.1.4"),
    marks: &["Total:", "Slowest:", "Fastest:", "Average:"],
    start: |line| (is_total(line.text) || is_stat(line.text)).then_some(Start::Within),
    reader: Some(|_| Box::<Hey>::default()),
    ..Format::EMPTY
};

/// `Total: 0.1080 secs`, which is its first figure.
fn is_total(text: &str) -> bool {
    text.strip_prefix("Total:").is_some_and(|rest| seconds(rest.trim()).is_some())
}

/// `Slowest: 0.1493 secs.`, which the first versions (of `boom` in Go) have at their beginning.
fn is_stat(text: &str) -> bool {
    let (name, rest) = text.split_once(':').unwrap_or_default();
    ["Slowest", "Fastest", "Average"].contains(&name) && seconds(rest.trim()).is_some()
}

/// `0.1080 secs`, and nothing else.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (value, word) = text.split_once(char::is_whitespace)?;
    matches!(word.trim(), "secs" | "sec" | "secs.").then(|| number(value))?
}

/// `50% in 0.0003 secs`: the percentile, the time and its unit.
pub(super) fn percentile(line: &Line<'_>) -> Option<(f64, f64, &'static str)> {
    let mut words = line.words();
    let (percent, "%" | "%%") = leading(words.next()?)? else { return None };
    (words.next()? == "in").then_some(())?;
    let value = number(words.next()?)?;
    Some((percent, value, unit::time(words.next()?.trim_end_matches('.'))?))
}

/// `[200] 2000 responses`: the status, and how many.
pub(super) fn responses<'t>(line: &Line<'t>) -> Option<(&'t str, f64)> {
    let (status, rest) = line.text.strip_prefix('[')?.split_once(']')?;
    let mut words = rest.split_whitespace();
    let count = number(words.next()?)?;
    (words.next()? == "responses").then_some((status, count))
}

#[derive(Default)]
struct Hey {
    seen: bool,
}

impl Reader for Hey {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_total(line.text) && std::mem::replace(&mut self.seen, true) {
            return Fit::Next;
        }
        if let Some((percent, value, its_unit)) = percentile(line) {
            out.put("latency", value, its_unit, &[("percentile", &percent.to_string())]);
            return Fit::Mine;
        }
        if let Some((status, count)) = responses(line) {
            out.put("responses", count, "", &[("status", status)]);
            return Fit::Mine;
        }
        let Some((key, rest)) = line.text.split_once(':') else {
            let bar = line
                .text
                .split_once(" [")
                .is_some_and(|(time, rest)| number(time).is_some() && rest.contains(']'));
            return if bar { Fit::Mine } else { Fit::Foreign };
        };
        let rest = rest.trim();
        let stat = match key {
            "Average" => "mean",
            "Fastest" => "min",
            "Slowest" => "max",
            _ => "",
        };
        match (key, seconds(rest)) {
            ("Total", Some(value)) => out.put("duration", value, "s", &[]),
            (_, Some(value)) if !stat.is_empty() => out.put("latency", value, "s", &[("stat", stat)]),
            ("Requests/sec", _) => {
                let Some(value) = number(rest) else { return Fit::Foreign };
                out.put("requests_per_second", value, "1/s", &[]);
            }
            ("Total data", _) => {
                let Some(value) = rest.strip_suffix(" bytes").and_then(number) else { return Fit::Foreign };
                out.put("transfer", value, "B", &[]);
            }
            ("DNS+dialup" | "DNS-lookup" | "req write" | "resp wait" | "resp read", _) => {
                for (stat, time) in ["mean", "min", "max"].into_iter().zip(rest.split(", ")) {
                    let Some(value) = seconds(time) else { return Fit::Foreign };
                    out.put("phase_latency", value, "s", &[("phase", key), ("stat", stat)]);
                }
            }
            ("Size/request", _) => {}
            _ if rest.is_empty() && is_title(key) => {}
            _ => return Fit::Foreign,
        }
        Fit::Mine
    }
}

fn is_title(key: &str) -> bool {
    ["Response time histogram", "Latency distribution", "Status code distribution", "Error distribution"]
        .contains(&key)
        || key.starts_with("Details (average")
}
