//! The JSON of Google Benchmark (`--benchmark_format=json`).

use super::super::format::{Checked, Document, Format, Measured, Out};
use super::super::json::Json;

pub(super) const FORMAT: Format = Format {
    name: "google-benchmark",
    tool: "Google Benchmark",
    command: "./bench --benchmark_format=json --benchmark_repetitions=10",
    measured: &[
        Measured::lower(
            "real_time",
            "ns",
            &["benchmark"],
            "`real_time` of each repetition; not its aggregates",
        ),
        Measured::lower("cpu_time", "ns", &["benchmark"], "`cpu_time`"),
        Measured::higher("items_per_second", "1/s", &["benchmark"], "`items_per_second`"),
        Measured::higher("bytes_per_second", "B/s", &["benchmark"], "`bytes_per_second`"),
    ],
    main: &["real_time"],
    checked: Checked::Run("1.7.1"),
    json: Some(Document {
        is: |json| {
            let first = json.get("benchmarks").and_then(|all| all.items().into_iter().next());
            first.is_some_and(|first| first.has(&["name", "real_time", "time_unit"]))
        },
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for benchmark in json.get("benchmarks").map(|all| all.items()).unwrap_or_default() {
        if benchmark.text_of("run_type").is_some_and(|kind| kind == "aggregate") {
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
