//! The tables of `locust`, today's and those before version 2.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "locust",
    tool: "locust",
    command: "locust --headless -u 10 -r 10 -t 30s",
    measured: &[
        "plain requests,name: `# reqs`",
        "lower failures,name: `# fails`",
        "lower latency,name,stat ms: `Avg` (mean), `Min`, `Max`, `Med`, `Median`",
        "lower latency,name,percentile ms: `Response time percentiles`",
        "higher requests_per_second,name 1/s: `req/s`",
        "lower failures_per_second,name 1/s: `failures/s`",
    ],
    main: &["requests_per_second,name=Aggregated", "requests_per_second"],
    checked: Checked::Documented("https://docs.locust.io/en/stable/running-without-web-ui.html"),
    marks: &["# reqs"],
    start: |line| columns(line.text).map(|_| Start::Head),
    reader: Some(|_| Box::<Locust>::default()),
    ..Format::EMPTY
};

/// The names of the columns behind the name of the request.
fn columns(text: &str) -> Option<Vec<String>> {
    let (_, behind) = text.split_once("Name ")?;
    let text = behind.replace("# ", "#").replace('|', " ");
    let names: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    (names.iter().any(|name| name == "#reqs") && names.len() > 3).then_some(names)
}

#[derive(Default)]
struct Locust {
    columns: Vec<String>,
}

impl Reader for Locust {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(columns) = columns(line.text) {
            self.columns = columns;
            return Fit::Mine;
        }
        if line.text.starts_with("Response time percentiles")
            || line.text.chars().all(|c| matches!(c, '-' | '|' | '+'))
        {
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().filter(|word| *word != "|").collect();
        let Some(at) =
            words.len().checked_sub(self.columns.len()).filter(|at| *at > 0 && !self.columns.is_empty())
        else {
            return Fit::Foreign;
        };
        let (name, cells) = words.split_at(at);
        // The share of failures stands behind their number.
        let value = |cell: &str| {
            let (value, behind) = leading(cell)?;
            (behind.is_empty() || behind.starts_with('(')).then_some(value)
        };
        let Some(values) = cells.iter().map(|cell| value(cell)).collect::<Option<Vec<f64>>>() else {
            return Fit::Foreign;
        };
        let name = name.join(" ");
        let own = ("name", name.as_str());
        for (column, value) in self.columns.iter().zip(values) {
            match column.as_str() {
                "#reqs" => out.put("requests", value, "", &[own]),
                "#fails" => out.put("failures", value, "", &[own]),
                "req/s" => out.put("requests_per_second", value, "1/s", &[own]),
                "failures/s" => out.put("failures_per_second", value, "1/s", &[own]),
                "Avg" => out.put("latency", value, "ms", &[own, ("stat", "mean")]),
                "Min" => out.put("latency", value, "ms", &[own, ("stat", "min")]),
                "Max" => out.put("latency", value, "ms", &[own, ("stat", "max")]),
                "Med" | "Median" => out.put("latency", value, "ms", &[own, ("stat", "median")]),
                column => {
                    if let Some(percentile) = column.strip_suffix('%') {
                        out.put("latency", value, "ms", &[own, ("percentile", percentile)]);
                    }
                }
            }
        }
        Fit::Mine
    }

    /// The table of percentiles is of the same call, whose requests it counts again.
    fn goes_on(&self, line: &Line<'_>) -> bool {
        columns(line.text).is_some_and(|columns| columns.iter().any(|name| name.ends_with('%')))
    }
}
