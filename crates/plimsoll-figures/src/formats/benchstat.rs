//! The tables of `benchstat`, of two versions beside one another: today's, and those before 2023.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "benchstat",
    tool: "benchstat",
    command: "benchstat old.txt new.txt",
    measured: &[
        "plain mean,benchmark,of,side ns, B, B/s: the mean of the values, before 2023",
        "plain median,benchmark,of,side ns, B, B/s: the median of the values, today",
        "plain deviation,benchmark,of,side %: what stands behind `±` before 2023: the largest distance from the mean",
        "plain half_interval,benchmark,of,side %: what stands behind `±` today: half of the confidence interval of the median",
        "plain geomean,of,side ns, B, B/s: the geometric mean over the benchmarks",
        "plain change,benchmark,of %: `delta`, `vs base`; none where it is `~`",
        "plain p,benchmark,of: `p`",
        "plain n,benchmark,of,side: `n`",
    ],
    main: &["median", "mean"],
    checked: Checked::Documented("https://pkg.go.dev/golang.org/x/perf/cmd/benchstat"),
    marks: &["/op", " vs base", "delta"],
    start: |line| heading(line.text).map(|_| Start::Head),
    reader: Some(|_| Box::<Benchstat>::default()),
    ..Format::EMPTY
};

const SIDES: [(&str, &str); 2] = [("side", "before"), ("side", "after")];

/// Subject of the table: `name  old time/op  new time/op  delta`, or `| sec/op | sec/op  vs base |`.
fn heading(text: &str) -> Option<String> {
    if text.starts_with("name ") {
        let (_, rest) = text.split_once("old ")?;
        let what = rest.split_whitespace().next()?;
        return (rest.contains("new ") && rest.contains("delta")).then(|| what.to_owned());
    }
    let (first, rest) = text.strip_prefix('|')?.trim().split_once('|')?;
    (rest.contains("vs base") && rest.trim().starts_with(first.trim())).then(|| first.trim().to_owned())
}

/// The unit of a value, by the text after it and by the table's subject: today's tables have prefixes only.
fn unit(behind: &str, of: &str) -> Option<(&'static str, f64)> {
    Some(match (of, behind) {
        (_, "ns") | ("sec/op", "n") => ("ns", 1.0),
        (_, "µs" | "us") | ("sec/op", "µ" | "u") => ("us", 1.0),
        (_, "ms") | ("sec/op", "m") => ("ms", 1.0),
        (_, "s") | ("sec/op", "") => ("s", 1.0),
        (_, "kB") => ("kB", 1.0),
        (_, "MB") => ("MB", 1.0),
        (_, "GB") => ("GB", 1.0),
        (_, "B") | ("B/op", "") => ("B", 1.0),
        ("B/op", "Ki") => ("KiB", 1.0),
        ("B/op", "Mi") => ("MiB", 1.0),
        ("B/op", "Gi") => ("GiB", 1.0),
        ("B/s", "Ki") => ("KiB/s", 1.0),
        ("B/s", "Mi") => ("MiB/s", 1.0),
        ("B/s", "Gi") => ("GiB/s", 1.0),
        (_, "kB/s") => ("kB/s", 1.0),
        (_, "MB/s") => ("MB/s", 1.0),
        (_, "GB/s") => ("GB/s", 1.0),
        ("allocs/op", "") => ("", 1.0),
        ("allocs/op", "k") => ("", 1e3),
        ("allocs/op", "M") => ("", 1e6),
        // A metric of the benchmark's own, in a unit of its own.
        (own, prefix)
            if !["sec/op", "B/op", "B/s", "allocs/op", "time/op", "alloc/op", "speed"].contains(&own) =>
        {
            (
                "",
                match prefix {
                    "" => 1.0,
                    "k" => 1e3,
                    "M" => 1e6,
                    "G" => 1e9,
                    _ => return None,
                },
            )
        }
        _ => return None,
    })
}

#[derive(Default)]
struct Benchstat {
    /// Subject of the table.
    of: String,
    /// Whether the table has bars, as since 2023.
    today: bool,
    /// Whether rows were read since the last heading.
    rows: bool,
}

impl Reader for Benchstat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(of) = heading(line.text) {
            self.of = of;
            self.today = line.text.starts_with('|');
            return Fit::Mine;
        }
        // The names of the files stand between bars above.
        if self.of.is_empty() {
            return Fit::Foreign;
        }
        if line.text.starts_with('|') {
            return Fit::Mine;
        }
        if let Some(values) = line.text.strip_prefix("geomean ") {
            self.geomean(values, out);
            return Fit::Mine;
        }
        self.row(line, out).unwrap_or(Fit::Foreign)
    }

    /// Tables about other things follow, all of one comparison.
    fn goes_on(&self, line: &Line<'_>) -> bool {
        heading(line.text).is_some_and(|of| of != self.of) || !self.rows
    }
}

impl Benchstat {
    /// `65.57n  62.54n  -4.63%`; marks of footnotes where there is no mean.
    fn geomean(&self, values: &str, out: &mut Out<'_>) {
        let of = ("of", self.of.as_str());
        let mut sides = SIDES.into_iter();
        for (value, suffix) in values.split_whitespace().filter_map(leading) {
            if suffix == "%" {
                out.put("change", value, "%", &[("benchmark", "geomean"), of]);
            } else if let (Some((its_unit, factor)), Some(side)) = (unit(suffix, &self.of), sides.next()) {
                out.put("geomean", value * factor, its_unit, &[of, side]);
            }
        }
    }

    fn row(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Option<Fit> {
        let text = line.text.replace('±', " ± ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let first = words.iter().position(|word| *word == "±")?.checked_sub(1).filter(|at| *at > 0)?;
        let name = words[..first].join(" ");
        let mut sides = Vec::new();
        let mut rest = &words[first..];
        while let [value, behind @ ..] = rest {
            let known = leading(value).and_then(|(value, suffix)| Some((value, unit(suffix, &self.of)?)));
            let (spread, behind) = match behind {
                ["±", spread, behind @ ..] => (Some(*spread), behind),
                // `0.00` has no spread.
                _ if sides.len() == 1 && known.is_some() => (None, behind),
                _ => break,
            };
            let (value, (its_unit, factor)) = known?;
            // Infinite where there are too few values.
            let spread = spread.and_then(leading).filter(|(_, behind)| *behind == "%");
            sides.push((value * factor, its_unit, spread.map(|(spread, _)| spread)));
            rest = behind.strip_prefix(&["¹"]).unwrap_or(behind);
        }
        let own = [("benchmark", name.as_str()), ("of", self.of.as_str())];
        let [before, after] = SIDES.map(|side| [own[0], own[1], side]);
        for ((value, its_unit, spread), labels) in sides.iter().zip([&before, &after]) {
            out.put(if self.today { "median" } else { "mean" }, *value, its_unit, labels);
            out.put(if self.today { "half_interval" } else { "deviation" }, *spread, "%", labels);
        }
        for word in rest {
            let word = word.trim_matches(['(', ')']);
            if let Some((change, "%")) = leading(word) {
                out.put("change", change, "%", &own);
            } else if let Some(p) = word.strip_prefix("p=").and_then(number) {
                out.put("p", p, "", &own);
            } else if let Some(n) = word.strip_prefix("n=") {
                let (first, second) = n.split_once('+').unwrap_or((n, n));
                for (n, labels) in [first, second].into_iter().zip([&before, &after]) {
                    out.put("n", number(n), "", labels);
                }
            }
        }
        self.rows = true;
        Some(Fit::Mine)
    }
}
