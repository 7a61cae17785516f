//! The lines of `go test -bench`.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::number;

pub(super) const FORMAT: Format = Format {
    name: "go-bench",
    tool: "go test -bench",
    command: "go test -bench . -benchmem -count 10",
    measured: &[
        Measured::lower("time", "ns", &["benchmark"], "`ns/op`"),
        Measured::lower("memory", "B", &["benchmark"], "`B/op`"),
        Measured::lower("allocations", "", &["benchmark"], "`allocs/op`"),
        Measured::higher("throughput", "MB/s", &["benchmark"], "`MB/s`"),
        Measured::plain("*", "", &["benchmark"], "what a benchmark reports by itself, by its unit"),
    ],
    main: &["time"],
    checked: Checked::Kept("go 1.19"),
    text: Some(Text {
        marks: &["Benchmark"],
        start: |line| row(line).map(|_| Start::Within),
        opening: None,
        reader: |_| Box::new(GoBench),
    }),
    ..Format::EMPTY
};

/// `BenchmarkSum-8   1000000   123.4 ns/op   56 B/op`: the name, and each value with its unit.
fn row<'t>(line: &Line<'t>) -> Option<(&'t str, Vec<(f64, &'t str)>)> {
    let words: Vec<&str> = line.words().collect();
    let [name, iterations, values @ ..] = words.as_slice() else { return None };
    iterations.parse::<u64>().ok().filter(|_| name.starts_with("Benchmark") && !values.is_empty())?;
    let pair = |pair: &[&'t str]| match pair {
        [value, unit] => Some((number(value)?, *unit)).filter(|_| number(unit).is_none()),
        _ => None,
    };
    Some((name, values.chunks(2).map(pair).collect::<Option<_>>()?))
}

struct GoBench;

impl Reader for GoBench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some((name, values)) = row(line) else {
            const KNOWN: [&str; 7] = ["goos:", "goarch:", "pkg:", "cpu:", "PASS", "ok ", "ok\t"];
            let known = KNOWN.iter().any(|known| line.text.starts_with(known));
            return if known { Fit::Mine } else { Fit::Foreign };
        };
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
