//! The JSON of pytest-benchmark (`--benchmark-json`), and its table.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pytest-benchmark",
    tool: "pytest-benchmark",
    command: "pytest --benchmark-json=FILE --benchmark-save-data",
    measured: &[
        "lower time,benchmark s: `stats.data`: each round",
        "lower summary_time,benchmark,stat s: `stats`, and the table: min, max, mean, stddev (stdev), median",
    ],
    main: &["time", "summary_time,stat=mean"],
    checked: Checked::Run("3.2.2"),
    marks: &["Name (time in "],
    start: |line| Table::new(line.text).map(|_| Start::Head),
    reader: Some(|_| Box::<Table>::default()),
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

/// Columns of the table.
const STATS: [(&str, &str); 5] =
    [("Min", "min"), ("Max", "max"), ("Mean", "mean"), ("StdDev", "stdev"), ("Median", "median")];

/// `Name (time in ms)   Min   Max   Mean   StdDev   Median   IQR   Outliers   OPS   Rounds   Iterations`, and the rows below it.
#[derive(Default)]
struct Table {
    unit: HeadingTime,
    columns: Vec<String>,
}

impl Table {
    fn new(heading: &str) -> Option<Self> {
        let (its_unit, rest) = heading.strip_prefix("Name (time in ")?.split_once(')')?;
        // `OPS (Kops/s)` is one column.
        let columns = rest.split_whitespace().filter(|word| !word.starts_with('(')).map(str::to_owned);
        Some(Self { unit: HeadingTime::stated(its_unit), columns: columns.collect() })
    }

    /// The name, and the words of each column: from the right, as names may have blanks. A value may stand before its ratio to the best.
    fn cells<'t>(&self, line: &Line<'t>) -> Option<(String, Vec<&'t str>)> {
        let mut words: Vec<&str> = line.words().collect();
        let mut cells = Vec::new();
        for _ in &self.columns {
            let last = words.pop()?;
            cells.push(if last.starts_with('(') { words.pop()? } else { last });
        }
        cells.reverse();
        (!words.is_empty()).then(|| (words.join(" "), cells))
    }
}

impl Reader for Table {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(table) = Self::new(line.text) {
            *self = table;
            return Fit::Mine;
        }
        let Some((name, cells)) = self.cells(line) else { return Fit::Foreign };
        let HeadingTime::Stated(its_unit) = self.unit else {
            return out.refuse("the heading names a unit that is not known");
        };
        let known = |column: &str| STATS.iter().find(|(name, _)| *name == column).map(|(_, stat)| *stat);
        let stats = self.columns.iter().zip(cells).filter_map(|(column, cell)| Some((known(column)?, cell)));
        // A sentence of the legend has words where a row has numbers.
        let values: Option<Vec<(&str, f64)>> =
            stats.map(|(stat, cell)| Some((stat, number(cell)?))).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else { return Fit::Foreign };
        for (stat, value) in values {
            out.put("summary_time", value, its_unit, &[("benchmark", &name), ("stat", stat)]);
        }
        Fit::Mine
    }
}
