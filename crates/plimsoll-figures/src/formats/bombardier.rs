//! The summary of `bombardier`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "bombardier",
    tool: "bombardier",
    command: "bombardier -c 125 -n 100000 -l URL",
    measured: &[
        "higher requests_per_second,stat 1/s: `Reqs/sec`: mean, stdev, max of samples",
        "lower latency,stat ms: `Latency`: mean, stdev, max",
        "lower latency,percentile,of ms: `Latency Distribution`, with `-l`; `of` where it is of some answers only",
        "higher throughput MiB/s: `Throughput`",
        "plain responses,status: `HTTP codes`",
    ],
    main: &["requests_per_second,stat=mean"],
    checked: Checked::Documented("https://github.com/codesenberg/bombardier#examples"),
    marks: &["Bombarding ", "Statistics ", "Reqs/sec"],
    start: |line| {
        if line.text.starts_with("Bombarding ") {
            return Some(Start::Head);
        }
        (is_heading(line) || line.text.starts_with("Reqs/sec ")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Bombardier>::default()),
    ..Format::EMPTY
};

const STATS: [&str; 3] = ["mean", "stdev", "max"];

fn is_heading(line: &Line<'_>) -> bool {
    line.words().eq(["Statistics", "Avg", "Stdev", "Max"])
}

/// A time with its unit, as `3.67ms` and `1.02s`.
fn time(word: &str) -> Option<(f64, &'static str)> {
    let (value, behind) = leading(word)?;
    Some((value, unit::time(behind)?))
}

#[derive(Default)]
struct Bombardier {
    /// Whether the rate has been read, which is the first figure.
    rate: bool,
    /// Whether percentiles follow, and of which answers.
    distribution: Option<String>,
}

impl Reader for Bombardier {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        match words.as_slice() {
            ["Reqs/sec", values @ ..] if self.rate && values.len() == STATS.len() => Fit::Next,
            ["Statistics", ..] if is_heading(line) => {
                if self.rate {
                    Fit::Next
                } else {
                    Fit::Mine
                }
            }
            ["Reqs/sec", values @ ..] => {
                self.rate = true;
                let values = values.iter().map(|word| Some((number(word)?, "1/s")));
                put("requests_per_second", values.collect(), out)
            }
            ["Latency", "Distribution", of @ ..] => {
                let of = of.join(" ");
                self.distribution = Some(of.trim_matches(['(', ')']).to_owned());
                Fit::Mine
            }
            ["Latency", values @ ..] => put("latency", values.iter().map(|word| time(word)).collect(), out),
            ["Throughput:", rate] => {
                let rate = leading(rate)
                    .and_then(|(value, its_unit)| Some((value, unit::bytes_per_second(its_unit)?)));
                let Some((value, its_unit)) = rate else { return Fit::Foreign };
                out.put("throughput", value, its_unit, &[]);
                Fit::Mine
            }
            [percent, word] if percent.ends_with('%') => self.percentile(percent, word, out),
            ["1xx" | "others", "-", ..] => responses(line.text, out),
            ["HTTP", "codes:"] | ["Errors:"] => Fit::Mine,
            _ if line.text.starts_with("Bombarding ") => Fit::Mine,
            _ => Fit::Foreign,
        }
    }
}

impl Bombardier {
    fn percentile(&self, percent: &str, word: &str, out: &mut Out<'_>) -> Fit {
        let percent = percent.trim_end_matches('%');
        let (Some(of), Some((value, its_unit)), Some(_)) = (&self.distribution, time(word), number(percent))
        else {
            return Fit::Foreign;
        };
        let of = (!matches!(of.as_str(), "" | "Total")).then_some(("of", of.as_str()));
        let labels: Vec<(&'static str, &str)> = [("percentile", percent)].into_iter().chain(of).collect();
        out.put("latency", value, its_unit, &labels);
        Fit::Mine
    }
}

/// Hands on the mean, the deviation and the maximum, if a line has just these.
fn put(metric: &str, values: Option<Vec<(f64, &str)>>, out: &mut Out<'_>) -> Fit {
    let Some(values) = values.filter(|values| values.len() == STATS.len()) else { return Fit::Foreign };
    for (stat, (value, its_unit)) in STATS.iter().zip(values) {
        out.put(metric, value, its_unit, &[("stat", stat)]);
    }
    Fit::Mine
}

/// `1xx - 0, 2xx - 11, 3xx - 0`.
fn responses(text: &str, out: &mut Out<'_>) -> Fit {
    let pair = |part: &'_ str| {
        let (status, count) = part.split_once(" - ")?;
        Some((status.trim().to_owned(), number(count.trim())?))
    };
    let Some(all) = text.split(',').map(pair).collect::<Option<Vec<_>>>() else { return Fit::Foreign };
    for (status, count) in all {
        out.put("responses", count, "", &[("status", &status)]);
    }
    Fit::Mine
}
