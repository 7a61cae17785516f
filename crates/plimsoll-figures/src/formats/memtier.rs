//! The totals of `memtier_benchmark`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "memtier",
    tool: "memtier_benchmark",
    command: "memtier_benchmark -s HOST --hide-histogram",
    measured: &[
        "higher operations_per_second,operation 1/s: `Ops/sec`",
        "plain hits_per_second,operation 1/s: `Hits/sec`",
        "plain misses_per_second,operation 1/s: `Misses/sec`",
        "lower latency,operation,stat ms: `Latency`, `Avg. Latency` (mean)",
        "lower latency,operation,percentile ms: `p50 Latency` and the like",
        "higher throughput,operation KiB/s: `KB/sec`",
    ],
    main: &["operations_per_second,operation=Totals"],
    checked: Checked::Documented("https://github.com/RedisLabs/memtier_benchmark"),
    marks: &["Ops/sec"],
    start: |line| columns(line.text).map(|_| Start::Head),
    reader: Some(|_| Box::<Memtier>::default()),
    ..Format::EMPTY
};

/// The names of the columns behind the first; those with a blank in them are joined.
fn columns(text: &str) -> Option<Vec<String>> {
    let joined = text.strip_prefix("Type ")?.replace(" Latency", "_Latency").replace("__", "_ ");
    let known = joined.contains("Ops/sec") && joined.contains("KB/sec");
    // A column that is called `Latency` alone follows blanks.
    known.then(|| joined.split_whitespace().map(|name| name.trim_matches('_').to_owned()).collect())
}

#[derive(Default)]
struct Memtier {
    columns: Vec<String>,
}

impl Reader for Memtier {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(columns) = columns(line.text) {
            self.columns = columns;
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().collect();
        if let [operation @ ("Sets" | "Gets" | "Waits" | "Totals"), cells @ ..] = words.as_slice()
            && cells.len() == self.columns.len()
        {
            for (column, cell) in self.columns.iter().zip(cells) {
                let Some(value) = number(cell) else { continue };
                let own = ("operation", *operation);
                let percentile = column.strip_prefix('p').and_then(|name| name.strip_suffix("_Latency"));
                match (column.as_str(), percentile) {
                    ("Ops/sec", _) => out.put("operations_per_second", value, "1/s", &[own]),
                    ("Hits/sec", _) => out.put("hits_per_second", value, "1/s", &[own]),
                    ("Misses/sec", _) => out.put("misses_per_second", value, "1/s", &[own]),
                    ("KB/sec", _) => out.put("throughput", value, "KiB/s", &[own]),
                    ("Latency" | "Avg._Latency", _) => {
                        out.put("latency", value, "ms", &[own, ("stat", "mean")]);
                    }
                    (_, Some(percentile)) => {
                        out.put("latency", value, "ms", &[own, ("percentile", percentile)]);
                    }
                    _ => {}
                }
            }
            return Fit::Mine;
        }
        // The cumulative distribution, of which the percentiles above are a part.
        let of_histogram = matches!(words.as_slice(), ["SET" | "GET" | "WAIT", time, share] if number(time).is_some() && number(share).is_some());
        let known = of_histogram
            || line.text.starts_with("Request Latency Distribution")
            || words.starts_with(&["Type", "<=", "msec"]);
        if known { Fit::Mine } else { Fit::Foreign }
    }
}
