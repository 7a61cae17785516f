//! The tables of `tiotest` (tiobench).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "tiotest",
    tool: "tiotest (tiobench)",
    command: "tiotest -t 4 -f 64",
    measured: &[
        "higher throughput,operation,threads MiB/s: `Rate`",
        "plain duration,operation,threads s: `Time`",
        "plain cpu,operation,threads,mode %: `Usr CPU`, `Sys CPU`",
        "lower latency,operation,threads,stat ms: `Average latency` (mean), `Maximum latency` (max)",
        "lower late,operation,threads,above %: `% >2 sec`, `% >10 sec`",
    ],
    main: &["throughput"],
    checked: Checked::Kept("0.4.2"),
    marks: &["Tiotest results for", "Tiotest latency results", "| Item", "|\tItem"],
    start: |line| {
        if line.text.starts_with("Tiotest results for") {
            return Some(Start::Head);
        }
        let within = line.text.starts_with("Tiotest latency results") || is_heading(line.text);
        within.then_some(Start::Within)
    },
    reader: Some(|_| Box::<Tiotest>::default()),
    ..Format::EMPTY
};

fn is_heading(text: &str) -> bool {
    let title = text.strip_prefix('|').and_then(|rest| rest.trim_start().strip_prefix("Item"));
    title.is_some_and(|rest| rest.starts_with(char::is_whitespace))
        && (text.contains("Rate") || text.contains("latency"))
}

#[derive(Default)]
struct Tiotest {
    threads: Option<String>,
    latency: bool,
    /// The names of the last two columns of latencies: they can be set when it is built.
    above: Vec<String>,
}

/// `40.123 MB/s`: the number before a unit.
fn with(cell: &str, unit: &str) -> Option<f64> {
    number(cell.strip_suffix(unit)?.trim())
}

impl Reader for Tiotest {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(rest) = line.after("Tiotest results for") {
            self.threads =
                rest.split_whitespace().next().filter(|word| number(word).is_some()).map(str::to_owned);
            return Fit::Mine;
        }
        if line.text.starts_with("Tiotest latency results") {
            return Fit::Mine;
        }
        if line.text.starts_with([',', '`', '+', '|']) && line.text.contains("---") {
            return Fit::Mine;
        }
        let cells: Vec<&str> =
            line.text.trim_matches(|c| c == '|' || c == '=' || c == ' ').split('|').map(str::trim).collect();
        let [item, rest @ ..] = cells.as_slice() else { return Fit::Foreign };
        if is_heading(line.text) {
            self.latency = line.text.contains("latency");
            self.above = rest.iter().filter_map(|name| name.strip_prefix("% >")).map(str::to_owned).collect();
            return Fit::Mine;
        }
        match rest {
            [first, second, third, fourth] if line.text.starts_with('|') => {
                self.row(item, [first, second, third, fourth], out)
            }
            _ => Fit::Foreign,
        }
    }
}

impl Tiotest {
    fn row(&self, item: &str, cells: [&str; 4], out: &mut Out<'_>) -> Fit {
        // `Random Write   16 MBs`: the call has the amount.
        let words: Vec<&str> = item.split_whitespace().take_while(|word| number(word).is_none()).collect();
        let operation = words.join(" ").to_lowercase();
        let mut labels: Vec<(&'static str, &str)> = vec![("operation", operation.as_str())];
        labels.extend(self.threads.as_deref().map(|threads| ("threads", threads)));
        let and = |label| [labels.as_slice(), &[label]].concat();
        if self.latency {
            let [mean, max, late, later] = cells;
            let (Some(mean), Some(max)) = (with(mean, "ms"), with(max, "ms")) else { return Fit::Foreign };
            out.put("latency", mean, "ms", &and(("stat", "mean")));
            out.put("latency", max, "ms", &and(("stat", "max")));
            for (above, cell) in self.above.iter().zip([late, later]) {
                out.put("late", number(cell), "%", &and(("above", above)));
            }
            return Fit::Mine;
        }
        let [time, rate, user, system] = cells;
        let (Some(time), Some(rate)) = (with(time, "s"), with(rate, "MB/s")) else { return Fit::Foreign };
        out.put("throughput", rate, "MiB/s", &labels);
        out.put("duration", time, "s", &labels);
        for (mode, cell) in [("user", user), ("system", system)] {
            out.put("cpu", with(cell, "%"), "%", &and(("mode", mode)));
        }
        Fit::Mine
    }
}
