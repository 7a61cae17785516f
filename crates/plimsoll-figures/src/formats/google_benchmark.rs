//! The JSON (`--benchmark_format=json`) and the console of Google Benchmark.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "google-benchmark",
    tool: "Google Benchmark",
    command: "./bench --benchmark_format=json --benchmark_repetitions=10",
    measured: &[
        "lower real_time,benchmark ns: `real_time` of each repetition; not its aggregates",
        "lower cpu_time,benchmark ns: `cpu_time`",
        "higher items_per_second,benchmark 1/s: `items_per_second`",
        "higher bytes_per_second,benchmark B/s: `bytes_per_second`",
        "plain counter,benchmark,counter 1/s: other counters of the console; `1/s` only where it prints `/s`",
    ],
    main: &["real_time"],
    checked: Checked::Run("1.7.1"),
    marks: &["Benchmark"],
    start: |line| is_heading(line.text).then_some(Start::Head),
    reader: Some(|_| Box::new(Console)),
    json: Some(Document::whole(
        |json| {
            let first = json.get("benchmarks").and_then(|all| all.items().into_iter().next());
            first.is_some_and(|first| first.has(&["name", "real_time", "time_unit"]))
        },
        document,
    )),
    ..Format::EMPTY
};

/// Whether a name is that of a statistic over the repetitions of a benchmark.
fn is_aggregate(name: &str) -> bool {
    ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"].iter().any(|statistic| name.ends_with(statistic))
}

/// `name   446 ms   446 ms   2 counter=value`: the name, and both times with their unit.
fn row<'t>(line: &Line<'t>) -> Option<(&'t str, [(f64, &'static str); 2])> {
    let words: Vec<&str> = line.words().collect();
    let at = words.windows(5).position(|words| {
        let times = number(words[0]).is_some() && number(words[2]).is_some() && number(words[4]).is_some();
        times && is_unit(words[1]) && is_unit(words[3])
    })?;
    let time = |at: usize| Some((number(words[at])?, unit::time(words[at + 1])?));
    let name = words.get(at.checked_sub(1)?)?;
    Some((name, [time(at)?, time(at + 2)?]))
}

fn is_unit(word: &str) -> bool {
    ["ns", "us", "ms", "s"].contains(&word)
}

fn is_heading(text: &str) -> bool {
    text.starts_with("Benchmark")
        && text.contains("Time")
        && text.contains("CPU")
        && text.contains("Iterations")
}

struct Console;

impl Reader for Console {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_heading(line.text) {
            return Fit::Mine;
        }
        let Some((name, times)) = row(line) else {
            let is_aggregate = line.words().next().is_some_and(is_aggregate);
            return if is_aggregate { Fit::Mine } else { Fit::Foreign };
        };
        if is_aggregate(name) {
            return Fit::Mine;
        }
        if name == "..." {
            return out.refuse("the name of the benchmark is left out");
        }
        let labels = [("benchmark", name)];
        for (metric, (value, its_unit)) in ["real_time", "cpu_time"].into_iter().zip(times) {
            out.put(metric, value, its_unit, &labels);
        }
        // Before version 1.4 the rate stands alone: `145.585MB/s`.
        if let Some((value, behind)) = line.words().last().and_then(leading)
            && let Some(its_unit) = bytes_per_second(behind)
        {
            out.put("bytes_per_second", value, its_unit, &labels);
        }
        for (counter, value) in counters(line) {
            let rate = value.strip_suffix("/s").and_then(count);
            match (counter.as_str(), rate) {
                ("items_per_second", Some(rate)) => out.put("items_per_second", rate, "1/s", &labels),
                ("bytes_per_second", _) => {
                    if let Some((value, behind)) = leading(value)
                        && let Some(its_unit) = bytes_per_second(behind)
                    {
                        out.put("bytes_per_second", value, its_unit, &labels);
                    }
                }
                (name, rate) => {
                    if let Some(value) = rate.or_else(|| count(value)) {
                        let its_unit = if rate.is_some() { "1/s" } else { "" };
                        out.put("counter", value, its_unit, &[labels[0], ("counter", name)]);
                    }
                }
            }
        }
        Fit::Mine
    }
}

/// `FOM: GB/s=266.619/s MB=800`: names, which may have blanks, and values.
fn counters<'t>(line: &Line<'t>) -> Vec<(String, &'t str)> {
    let (mut found, mut name) = (Vec::new(), Vec::new());
    // The iterations are the last number before the counters.
    for word in line.words() {
        match word.split_once('=') {
            Some((end, value)) => {
                name.push(end);
                found.push((name.join(" "), value));
                name.clear();
            }
            None if number(word).is_some() => name.clear(),
            None => name.push(word),
        }
    }
    found
}

/// The console has `1.5Gi/s` or, before version 1.8, `1.5G/s`, and at first `1.5GB/s`, in powers of 1024.
fn bytes_per_second(behind: &str) -> Option<&'static str> {
    Some(match behind {
        "Ki/s" | "k/s" | "kB/s" => "KiB/s",
        "Mi/s" | "M/s" | "MB/s" => "MiB/s",
        "Gi/s" | "G/s" | "GB/s" => "GiB/s",
        _ => return None,
    })
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for benchmark in json.get("benchmarks").map(|all| all.items()).unwrap_or_default() {
        if benchmark.text_of("run_type").is_some_and(|kind| kind == "aggregate") {
            continue;
        }
        // Before version 1.5 only the name marks an aggregate.
        let is_old = benchmark.get("run_type").is_none();
        if is_old && benchmark.text_of("name").is_some_and(|name| is_aggregate(&name)) {
            continue;
        }
        let name = benchmark.text_of("run_name").or_else(|| benchmark.text_of("name")).unwrap_or_default();
        let unit = benchmark.text_of("time_unit").unwrap_or_default();
        let labels = [("benchmark", name.as_str())];
        for metric in ["real_time", "cpu_time"] {
            out.json(metric, benchmark.get(metric), &unit, &labels);
        }
        out.json("items_per_second", benchmark.get("items_per_second"), "1/s", &labels);
        out.json("bytes_per_second", benchmark.get("bytes_per_second"), "B/s", &labels);
    }
}
