//! The JSON of pytest-benchmark (`--benchmark-json`), and its table.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pytest-benchmark",
    tool: "pytest-benchmark",
    command: "pytest --benchmark-json=FILE --benchmark-save-data",
    measured: &[
        "lower time,benchmark s: `stats.data`: each round",
        "lower summary_time,benchmark,stat s: `stats`, and the table: min, max, mean, stddev (stdev), median, iqr",
        "higher operations_per_second,benchmark 1/s: `ops`, and `OPS` of the table",
        "plain rounds,benchmark: `rounds`",
    ],
    main: &["time", "summary_time,stat=mean"],
    checked: Checked::Run("3.2.2"),
    marks: &["Name (time in "],
    start: |line| Table::new(line.text).map(|_| Start::Head),
    reader: Some(|_| Box::<Table>::default()),
    json: Some(Document::whole(
        |json| {
            let first = json.get("benchmarks").and_then(|all| all.items().into_iter().next());
            first.is_some_and(|first| first.has(&["fullname", "stats"]))
        },
        document,
    )),
    ..Format::EMPTY
};

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for benchmark in json.get("benchmarks").map(|all| all.items()).unwrap_or_default() {
        let name = benchmark.text_of("fullname").unwrap_or_default();
        let Some(stats) = benchmark.get("stats") else { continue };
        for time in stats.get("data").map(|data| data.items()).unwrap_or_default() {
            out.json("time", Some(time), "s", &[("benchmark", &name)]);
        }
        for (column, stat) in STATS {
            let field = column.to_lowercase();
            out.json("summary_time", stats.get(&field), "s", &[("benchmark", &name), ("stat", stat)]);
        }
        out.json("operations_per_second", stats.get("ops"), "1/s", &[("benchmark", &name)]);
        out.json("rounds", stats.get("rounds"), "", &[("benchmark", &name)]);
    }
}

/// Columns of the table.
const STATS: [(&str, &str); 6] = [
    ("Min", "min"),
    ("Max", "max"),
    ("Mean", "mean"),
    ("StdDev", "stdev"),
    ("Median", "median"),
    ("IQR", "iqr"),
];

/// `Name (time in ms)   Min   Max   Mean   StdDev   Median   IQR   Outliers   OPS   Rounds   Iterations`, and the rows below it.
#[derive(Default)]
struct Table {
    unit: HeadingTime,
    columns: Vec<String>,
    /// Factor of `OPS`, where the heading states a known unit or none.
    thousands: Option<f64>,
}

impl Table {
    fn new(heading: &str) -> Option<Self> {
        let (its_unit, rest) = heading.strip_prefix("Name (time in ")?.split_once(')')?;
        // `OPS (Kops/s)` is one column.
        let columns = rest.split_whitespace().filter(|word| !word.starts_with('(')).map(str::to_owned);
        let of_rates = rest.split_once(" (").and_then(|(_, rest)| rest.split_once(')')).map(|(unit, _)| unit);
        let thousands = match of_rates {
            None => Some(1.0),
            Some("Kops/s") => Some(1e3),
            Some("Mops/s") => Some(1e6),
            Some(_) => None,
        };
        Some(Self { unit: HeadingTime::stated(its_unit), columns: columns.collect(), thousands })
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
        let columns = || self.columns.iter().zip(&cells);
        let stats = columns().filter_map(|(column, cell)| Some((known(column)?, *cell)));
        // A sentence of the legend has words where a row has numbers.
        let values: Option<Vec<(&str, f64)>> =
            stats.map(|(stat, cell)| Some((stat, number(cell)?))).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else { return Fit::Foreign };
        for (stat, value) in values {
            out.put("summary_time", value, its_unit, &[("benchmark", &name), ("stat", stat)]);
        }
        for (column, cell) in columns() {
            match (column.as_str(), number(cell), self.thousands) {
                ("OPS", Some(value), Some(factor)) => {
                    out.put("operations_per_second", value * factor, "1/s", &[("benchmark", &name)]);
                }
                ("Rounds", Some(value), _) => out.put("rounds", value, "", &[("benchmark", &name)]),
                _ => {}
            }
        }
        Fit::Mine
    }
}
