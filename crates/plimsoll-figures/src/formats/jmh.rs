//! The JSON (`-rf json`) and the table of JMH.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "jmh",
    tool: "JMH (Java Microbenchmark Harness)",
    command: "java -jar benchmarks.jar -rf json",
    measured: &[
        "plain score,benchmark,mode,params: `rawData` of the JSON: each iteration; `Score` of the table. Rates (`ops/s`) are better when higher, times (`s/op`) when lower: `mode` says which",
        "plain score_error,benchmark,mode,params: `scoreError`, `Error`: half of the 99.9 % interval",
        "plain secondary,benchmark,mode,params,of: `secondaryMetrics`, and rows with a colon in their name: what profilers such as `gc` add, percentiles, threads of a group",
        "plain secondary_error,benchmark,mode,params,of: half of the 99.9 % interval of those",
        "plain iteration,benchmark,mode,params: `Iteration N` below `# Benchmark`, without the warm-up",
    ],
    main: &["score", "iteration"],
    checked: Checked::Kept("1.37"),
    marks: &["Benchmark", "ops/", "/op"],
    start: |line| {
        if is_heading(line.text) {
            return Some(Start::Head);
        }
        if line.text.starts_with(MODE) || line.text.starts_with(NAME) {
            return Some(Start::Within);
        }
        row(&line.words().collect::<Vec<_>>()).map(|_| Start::Within)
    },
    reader: Some(|_| Box::<Jmh>::default()),
    json: Some(Document::whole(
        |json| json.items().first().is_some_and(|first| first.has(&["benchmark", "mode", "primaryMetric"])),
        document,
    )),
    ..Format::EMPTY
};

/// Text before the name, the mode, and the parameters of the benchmark whose iterations follow.
const NAME: &str = "# Benchmark: ";
const MODE: &str = "# Benchmark mode: ";
const PARAMETERS: &str = "# Parameters: (";
/// The modes as a running benchmark and as the table names them.
const MODES: [(&str, &str); 4] =
    [("Throughput", "thrpt"), ("Average time", "avgt"), ("Sampling time", "sample"), ("Single shot", "ss")];

/// `Iteration   1: 851585.492 ops/ms`, or `# Warmup Iteration`: the value and its unit, and whether it counts.
fn iteration(text: &str) -> Option<(f64, &str, bool)> {
    let words: Vec<&str> = text.trim_start_matches("# ").split_whitespace().collect();
    let (is_warm_up, rest) = match words.split_first()? {
        (&"Warmup", rest) => (true, rest),
        _ => (false, &words[..]),
    };
    let (["Iteration", nth, value, unit] | ["Iteration", nth, value, "±(99.9%)", _, unit]) = rest else {
        return None;
    };
    number(nth.strip_suffix(':')?)?;
    Some((number(value)?, unit, !is_warm_up))
}

fn is_heading(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.first() == Some(&"Benchmark")
        && words.contains(&"Units")
        && ["Score", "Mean"].iter().any(|score| words.contains(score))
}

/// A row of the table.
struct Row<'t> {
    name: &'t str,
    mode: &'t str,
    score: f64,
    error: Option<f64>,
    unit: &'t str,
}

/// `Bench.sum  thrpt  5  123.456 ± 1.234  ops/s`, before 1.0 without the sign. Secondary results (`Bench.sum:·gc.count`) have any unit.
fn row<'t>(words: &[&'t str]) -> Option<Row<'t>> {
    let ([name, ..], [.., unit]) = (words, words) else { return None };
    let mode = words.iter().position(|word| MODES.iter().any(|(_, short)| short == word))?;
    let (score, error) = match words.get(mode + 1..words.len() - 1)? {
        [score] | [_, score] => (score, None),
        [score, "±", error] | [_, score, "±", error] | [_, score, error] => (score, number(error)),
        _ => return None,
    };
    let of_operations = unit.starts_with("ops/") || unit.ends_with("/op");
    let is_secondary = secondary(name).is_some() && ["MB/sec", "counts", "ms", "#", "---"].contains(unit);
    let row = |score| Row { name, mode: words[mode], score, error, unit };
    (of_operations || is_secondary).then(|| number(score).map(row))?
}

/// `Bench.sum:·gc.count`: the benchmark, and what is secondary to its score.
fn secondary(name: &str) -> Option<(&str, &str)> {
    let (benchmark, of) = name.split_once(':')?;
    Some((benchmark, of.trim_start_matches('·')))
}

/// The unit as elsewhere.
fn usual(unit: &str) -> &str {
    match unit {
        "MB/sec" => "MB/s",
        "counts" | "#" | "---" => "",
        other => other,
    }
}

#[derive(Default)]
struct Jmh {
    /// The names of the parameters, as they stand between brackets in the heading.
    params: Vec<String>,
    /// Whether a heading was read, and the benchmarks since.
    headed: bool,
    seen: Vec<String>,
    /// The benchmark whose iterations follow, its mode, and its parameters.
    running: [String; 3],
}

impl Jmh {
    /// A line of a benchmark that runs.
    fn runs(&mut self, text: &str, out: &mut Out<'_>) -> Option<Fit> {
        if let Some(name) = text.strip_prefix(NAME) {
            self.running[0] = name.trim().to_owned();
            self.running[2].clear();
        } else if let Some(mode) = text.strip_prefix(MODE) {
            let short = MODES.iter().find(|(long, _)| mode.starts_with(long));
            self.running[1] = short.map_or("", |(_, short)| *short).to_owned();
        } else if let Some(params) = text.strip_prefix(PARAMETERS) {
            self.running[2] = params.trim().trim_end_matches(')').replace(" = ", "=").replace(',', "");
        } else if let Some((value, unit, counts)) = iteration(text) {
            let [benchmark, mode, params] = &self.running;
            if counts && !benchmark.is_empty() {
                out.put("iteration", value, unit, &labels(benchmark, mode, params));
            }
        } else if !text.starts_with("# ") {
            return None;
        }
        Some(Fit::Mine)
    }
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
        let Some(Row { name, mode, score, error, unit }) = row(&words) else {
            return self.runs(line.text, out).unwrap_or(Fit::Foreign);
        };
        // Without a heading, a benchmark that comes again is of the next call.
        if self.seen.iter().any(|seen| *seen == words[..words.len().min(2)].join(" ")) && !self.headed {
            return Fit::Next;
        }
        self.seen.push(words[..words.len().min(2)].join(" "));
        let params: Vec<String> =
            self.params.iter().zip(&words[1..]).map(|(name, value)| format!("{name}={value}")).collect();
        let params = params.join(" ");
        let (name, of) = secondary(name).map_or((name, None), |(name, of)| (name, Some(("of", of))));
        let metrics = if of.is_some() { ["secondary", "secondary_error"] } else { ["score", "score_error"] };
        let labels: Vec<_> = labels(name, mode, &params).into_iter().chain(of).collect();
        out.put(metrics[0], score, usual(unit), &labels);
        out.put(metrics[1], error, usual(unit), &labels);
        Fit::Mine
    }
}

/// Labels of a benchmark. Parameters are part of that, where there are any.
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
        for (of, metric) in result.get("secondaryMetrics").map(|all| all.fields()).unwrap_or_default() {
            let labels: Vec<_> = labels.iter().copied().chain([("of", of.trim_start_matches('·'))]).collect();
            let unit = metric.text_of("scoreUnit").unwrap_or_default();
            out.json("secondary", metric.get("score"), usual(&unit), &labels);
            out.json("secondary_error", metric.get("scoreError"), usual(&unit), &labels);
        }
    }
}
