//! The lines of `go test -bench`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "go-bench",
    tool: "go test -bench",
    command: "go test -bench . -benchmem -count 10",
    measured: &[
        "lower time,benchmark ns: `ns/op`",
        "lower memory,benchmark B: `B/op`",
        "lower allocations,benchmark: `allocs/op`",
        "higher throughput,benchmark MB/s: `MB/s`",
        "plain *,benchmark: what a benchmark reports by itself, by its unit",
    ],
    main: &["time"],
    checked: Checked::Kept("go 1.19"),
    marks: &["Benchmark"],
    start: |line| row(line).map(|_| Start::Within),
    reader: Some(|_| Box::<GoBench>::default()),
    ..Format::EMPTY
};

/// `BenchmarkSum-8   1000000   123.4 ns/op   56 B/op`: the name, and each value with its unit.
fn row<'t>(line: &Line<'t>) -> Option<(&'t str, Vec<(f64, &'t str)>)> {
    let words: Vec<&str> = line.words().collect();
    let [name, iterations, values @ ..] = words.as_slice() else { return None };
    iterations.parse::<u64>().ok().filter(|_| name.starts_with("Benchmark") && !values.is_empty())?;
    let pair = |pair: &[&'t str]| match pair {
        // `424328 +22.81%` is of benchcmp: an old and a new value, and what changed.
        [value, unit] => {
            Some((number(value)?, *unit)).filter(|_| number(unit).is_none() && !unit.ends_with('%'))
        }
        _ => None,
    };
    Some((name, values.chunks(2).map(pair).collect::<Option<_>>()?))
}

/// A line above the benchmarks of a package.
fn is_package(line: &Line<'_>) -> bool {
    ["goos: ", "goarch: ", "pkg: "].iter().any(|key| line.text.starts_with(key))
}

#[derive(Default)]
struct GoBench {
    /// Whether benchmarks have been read: the next package is another call.
    rows: bool,
}

impl Reader for GoBench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some((name, values)) = row(line) else {
            let is_known = ["cpu:", "PASS", "ok ", "ok\t"].iter().any(|known| line.text.starts_with(known));
            return match is_package(line) {
                true if self.rows => Fit::Next,
                is_heading => {
                    if is_heading || is_known {
                        Fit::Mine
                    } else {
                        Fit::Foreign
                    }
                }
            };
        };
        self.rows = true;
        let labels = [("benchmark", name)];
        for (value, unit) in values {
            match unit {
                "ns/op" => out.put("time", value, "ns", &labels),
                "B/op" => out.put("memory", value, "B", &labels),
                "allocs/op" => out.put("allocations", value, "", &labels),
                "MB/s" => out.put("throughput", value, "MB/s", &labels),
                other => out.put(other, value, other, &labels),
            }
        }
        Fit::Mine
    }
}
