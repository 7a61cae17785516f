//! The tables of `autocannon`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "autocannon",
    tool: "autocannon",
    command: "autocannon -c 10 -d 10 URL",
    measured: &[
        "higher requests_per_second,stat 1/s: `Req/Sec`: `Avg` (mean), `Stdev`, `Min`, `Max`, of one-second samples",
        "higher requests_per_second,percentile 1/s: `Req/Sec`: the columns with `%`",
        "lower latency,stat ms: `Latency`: `Avg` (mean), `Stdev`, `Max`",
        "lower latency,percentile ms: `Latency`: the columns with `%`",
        "higher throughput,stat MB/s: `Bytes/Sec`: as `Req/Sec`, in powers of 1000",
        "higher throughput,percentile MB/s: `Bytes/Sec`: the columns with `%`",
        "plain requests: `N requests in T`",
        "plain duration s: `N requests in T`",
        "lower errors,kind: `N errors (M timeouts)` and `N non 2xx responses`",
    ],
    main: &["requests_per_second,stat=mean"],
    checked: Checked::Documented("https://github.com/mcollina/autocannon#command-line"),
    marks: &["Stat ", " connections", " requests in "],
    start: |line| {
        let words = words(line.text);
        let is_heading = words.first() == Some(&"Stat") && names(&words[1..]).is_some();
        let within = is_heading || total(&words).is_some();
        within.then_some(Start::Within).or_else(|| is_load(&words).then_some(Start::Perhaps))
    },
    reader: Some(|_| Box::<Autocannon>::default()),
    ..Format::EMPTY
};

/// The words of a line, without the bars of a drawn table.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == '|').filter(|word| !word.is_empty()).collect()
}

/// A label of a column.
type Label = (&'static str, String);

/// The labels of columns with these names, if all of them are known.
fn names(words: &[&str]) -> Option<Vec<Label>> {
    const STATS: [(&str, &str); 4] = [("Avg", "mean"), ("Stdev", "stdev"), ("Min", "min"), ("Max", "max")];
    let label = |word: &&str| match word.strip_suffix('%') {
        Some(percent) => number(percent).map(|_| ("percentile", percent.to_owned())),
        None => STATS.iter().find(|(name, _)| name == word).map(|(_, stat)| ("stat", (*stat).to_owned())),
    };
    words.iter().map(label).collect::<Option<Vec<Label>>>().filter(|names| names.len() > 2)
}

/// `10 connections`, perhaps with a factor of pipelining.
fn is_load(words: &[&str]) -> bool {
    matches!(words, [n, "connections"] | [n, "connections", "with", ..] if number(n).is_some())
}

/// `251k requests in 10.05s, 27.9 MB read`: the requests, the time and its unit.
fn total(words: &[&str]) -> Option<(f64, f64, &'static str)> {
    let [requests, "requests", "in", time, _, _, "read"] = words else { return None };
    let (time, behind) = leading(time.trim_end_matches(','))?;
    Some((count(requests)?, time, unit::time(behind)?))
}

/// The values of a row with the units behind them.
fn values<'t>(words: &[&'t str]) -> Option<Vec<(f64, &'t str)>> {
    let mut found: Vec<(f64, &str)> = Vec::new();
    for word in words {
        match (number(word), found.last_mut()) {
            (Some(value), _) => found.push((value, "")),
            (None, Some((_, unit))) if unit.is_empty() => *unit = word,
            _ => return None,
        }
    }
    Some(found)
}

/// Unit of a byte rate. autocannon counts in powers of 1000.
fn rate_unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "B" => "B/s",
        "kB" => "kB/s",
        "MB" => "MB/s",
        "GB" => "GB/s",
        _ => return None,
    })
}

#[derive(Default)]
struct Autocannon {
    names: Vec<Label>,
    /// Whether the last table of a call has been read.
    ends: bool,
}

impl Reader for Autocannon {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words = words(line.text);
        if let Some((requests, time, its_unit)) = total(&words) {
            self.ends = true;
            out.put("requests", requests, "", &[]);
            out.put("duration", time, its_unit, &[]);
            return Fit::Mine;
        }
        if let Some(fit) = errors(&words, out) {
            return fit;
        }
        let (begins, names) = (is_load(&words), words.split_first().and_then(|(_, rest)| names(rest)));
        if (begins || names.is_some()) && self.ends {
            return Fit::Next;
        }
        match (words.as_slice(), names) {
            (["Stat", ..], Some(names)) => {
                self.names = names;
                Fit::Mine
            }
            (["Latency", "(ms)", rest @ ..], _) => self.row("latency", rest, |_| Some("ms"), out),
            (["Latency", rest @ ..], _) => self.row("latency", rest, unit::time, out),
            (["Req/Sec", rest @ ..], _) => {
                self.row("requests_per_second", rest, |word| word.is_empty().then_some("1/s"), out)
            }
            (["Bytes/Sec", rest @ ..], _) => {
                self.ends = true;
                self.row("throughput", rest, rate_unit, out)
            }
            _ if begins || line.text.starts_with("Req/Bytes counts sampled") => Fit::Mine,
            _ => Fit::Foreign,
        }
    }
}

impl Autocannon {
    /// Reads a row whose values stand below the names, each with a unit that is known.
    fn row(
        &self,
        metric: &str,
        words: &[&str],
        unit: impl Fn(&str) -> Option<&'static str>,
        out: &mut Out<'_>,
    ) -> Fit {
        let found = values(words).filter(|found| found.len() == self.names.len());
        let Some(found) = found.filter(|found| !found.is_empty()) else { return Fit::Foreign };
        let with_units: Option<Vec<(f64, &str)>> =
            found.iter().map(|(value, word)| Some((*value, unit(word)?))).collect();
        let Some(with_units) = with_units else { return out.refuse("a value has a unit that is not known") };
        for ((name, label), (value, unit)) in self.names.iter().zip(with_units) {
            out.put(metric, value, unit, &[(name, label)]);
        }
        Fit::Mine
    }
}

/// `2k errors (5 timeouts)`, `100 2xx responses, 3 non 2xx responses`.
fn errors(words: &[&str], out: &mut Out<'_>) -> Option<Fit> {
    match words {
        [all, "errors", timeouts, "timeouts)"] => {
            let timeouts = count(timeouts.strip_prefix('(')?)?;
            out.put("errors", count(all)?, "", &[("kind", "all")]);
            out.put("errors", timeouts, "", &[("kind", "timeout")]);
        }
        [_, "2xx", "responses,", other, "non", "2xx", "responses"] => {
            out.put("errors", count(other)?, "", &[("kind", "not 2xx")]);
        }
        _ => return None,
    }
    Some(Fit::Mine)
}
