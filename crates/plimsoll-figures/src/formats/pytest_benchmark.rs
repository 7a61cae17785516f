//! The JSON of pytest-benchmark (`--benchmark-json`).

use super::super::format::{Checked, Document, Format, Measured, Out};
use super::super::json::Json;

pub(super) const FORMAT: Format = Format {
    name: "pytest-benchmark",
    tool: "pytest-benchmark",
    command: "pytest --benchmark-json=FILE --benchmark-save-data",
    measured: &[
        Measured::lower("time", "s", &["benchmark"], "`stats.data`: each round"),
        Measured::lower(
            "summary_time",
            "s",
            &["benchmark", "stat"],
            "`stats`: min, max, mean, stddev (stdev), median",
        ),
    ],
    main: &["time", "summary_time,stat=mean"],
    checked: Checked::Run("3.2.2"),
    json: Some(Document {
        is: |json| {
            let first = json.get("benchmarks").and_then(|all| all.items().into_iter().next());
            first.is_some_and(|first| first.has(&["fullname", "stats"]))
        },
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for benchmark in json.get("benchmarks").map(|all| all.items()).unwrap_or_default() {
        let name = benchmark.text_of("fullname").unwrap_or_default();
        let Some(stats) = benchmark.get("stats") else { continue };
        for time in stats.get("data").map(|data| data.items()).unwrap_or_default() {
            out.json("time", Some(time), "s", &[("benchmark", &name)]);
        }
        for (field, stat) in
            [("min", "min"), ("max", "max"), ("mean", "mean"), ("stddev", "stdev"), ("median", "median")]
        {
            out.json("summary_time", stats.get(field), "s", &[("benchmark", &name), ("stat", stat)]);
        }
    }
}
