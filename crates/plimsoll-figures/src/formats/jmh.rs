//! The JSON (`-rf json`) and the table of JMH.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::number;

pub(super) const FORMAT: Format = Format {
    name: "jmh",
    tool: "JMH (Java Microbenchmark Harness)",
    command: "java -jar benchmarks.jar -rf json",
    measured: &[
        Measured::plain(
            "score",
            "",
            &["benchmark", "mode", "params"],
            "`rawData` of the JSON: each iteration; `Score` of the table. Rates (`ops/s`) are better when higher, times (`s/op`) when lower: `mode` tells which",
        ),
        Measured::plain(
            "score_error",
            "",
            &["benchmark", "mode", "params"],
            "`scoreError`, `Error`: half of the 99.9 % interval",
        ),
    ],
    main: &["score"],
    checked: Checked::Kept("1.37"),
    text: Some(Text {
        marks: &["Benchmark", "ops/", "/op"],
        start: |line| {
            if is_heading(line.text) {
                return Some(Start::Head);
            }
            row(&line.words().collect::<Vec<_>>()).map(|_| Start::Within)
        },
        opening: None,
        reader: |_| Box::<Jmh>::default(),
    }),
    json: Some(Document {
        is: |json| {
            json.items().first().is_some_and(|first| first.has(&["benchmark", "mode", "primaryMetric"]))
        },
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

fn is_heading(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.first() == Some(&"Benchmark") && words.contains(&"Score") && words.contains(&"Units")
}

/// `Bench.sum  thrpt  5  123.456 ± 1.234  ops/s`: the name, the mode, the score and its unit.
fn row<'t>(words: &[&'t str]) -> Option<(&'t str, &'t str, f64, &'t str)> {
    let ([name, .., score, "±", _, unit] | [name, .., score, unit]) = words else { return None };
    let mode = words.iter().find(|word| ["thrpt", "avgt", "sample", "ss"].contains(word))?;
    let of_operations = unit.starts_with("ops/") || unit.ends_with("/op");
    of_operations.then(|| Some((*name, *mode, number(score)?, *unit)))?
}

#[derive(Default)]
struct Jmh {
    /// The names of the parameters, as they stand between brackets in the heading.
    params: Vec<String>,
    /// Whether a heading was read, and the benchmarks since.
    headed: bool,
    seen: Vec<String>,
}

impl Reader for Jmh {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_heading(line.text) {
            let name = |word: &str| Some(word.strip_prefix('(')?.strip_suffix(')')?.to_owned());
            self.params = line.words().filter_map(name).collect();
            self.headed = true;
            return Fit::Mine;
        }
        // `Bench.sum  thrpt  5  123.456 ± 1.234  ops/s`, without the error where there was one iteration.
        let words: Vec<&str> = line.words().collect();
        let Some((name, mode, value, unit)) = row(&words) else { return Fit::Foreign };
        // Without a heading, a benchmark that comes again is of the next call.
        if self.seen.iter().any(|seen| *seen == words[..words.len().min(2)].join(" ")) && !self.headed {
            return Fit::Next;
        }
        self.seen.push(words[..words.len().min(2)].join(" "));
        let error =
            words.iter().position(|word| *word == "±").and_then(|place| number(words.get(place + 1)?));
        let params: Vec<String> =
            self.params.iter().zip(&words[1..]).map(|(name, value)| format!("{name}={value}")).collect();
        let params = params.join(" ");
        let labels = labels(name, mode, &params);
        out.put("score", value, unit, &labels);
        if let Some(error) = error {
            out.put("score_error", error, unit, &labels);
        }
        Fit::Mine
    }
}

/// What tells a benchmark from others. Parameters are part of that, where there are any.
fn labels<'t>(name: &'t str, mode: &'t str, params: &'t str) -> Vec<(&'static str, &'t str)> {
    let all = [("benchmark", name), ("mode", mode), ("params", params)];
    all.into_iter().filter(|(label, value)| *label != "params" || !value.is_empty()).collect()
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for result in json.items() {
        let name = result.text_of("benchmark").unwrap_or_default();
        let mode = result.text_of("mode").unwrap_or_default();
        let params = result.get("params").map(|params| params.fields()).unwrap_or_default();
        let params = params.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.text()?)));
        let params = params.collect::<Vec<_>>().join(" ");
        let labels = labels(&name, &mode, &params);
        let Some(metric) = result.get("primaryMetric") else { continue };
        let unit = metric.text_of("scoreUnit").unwrap_or_default();
        let forks = metric.get("rawData").map(|data| data.items()).unwrap_or_default();
        let values: Vec<Json<'_>> = forks.iter().flat_map(Json::items).collect();
        if values.is_empty() {
            out.json("score", metric.get("score"), &unit, &labels);
        }
        for value in values {
            out.json("score", Some(value), &unit, &labels);
        }
        out.json("score_error", metric.get("scoreError"), &unit, &labels);
    }
}
