//! Comparisons that a text already contains: judged from its means, deviations and numbers of values, beside its author's conclusion.

use std::collections::HashMap;
use std::io::{self, Write};

use plimsoll_import::figures::Series;
use plimsoll_judge::compare::{self, CompareSettings, Summary};
use plimsoll_judge::stats::dist;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::Serialize;

use super::Imported;

/// A comparison of a text.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Posted {
    /// Subject of the comparison.
    what: String,
    unit: String,
    means: [f64; 2],
    /// Standard deviations, in the unit of the means.
    deviations: Option<[f64; 2]>,
    /// Assumption behind the deviations.
    #[serde(skip_serializing_if = "str::is_empty")]
    assumes: &'static str,
    /// How many values each mean rests on.
    n: Option<[usize; 2]>,
    /// Conclusion of the author, in words.
    author: Option<String>,
    verdict: Option<Verdict>,
    /// Without the numbers of values: the least on each side with which the means would differ.
    differs_from_n: Option<usize>,
}

/// Means are taken apart from this level on, as by `plimsoll judge compare`.
fn settings() -> CompareSettings {
    CompareSettings::default()
}

/// More values than this on each side are not proposed.
const MOST_VALUES: usize = 10_000;
/// The kernel test robot leaves deviations below 2 % out.
const LKP_LEFT_OUT: f64 = 2.0;

/// Labels that say which figure of a row a series is, and not which row.
const WITHIN_ROW: [&str; 4] = ["side", "statistic", "marked", "of"];

/// The series of a text, each under its rarest label of a row: a table of many rows is not searched as a whole for each of them.
struct Rows<'s> {
    all: &'s [Series],
    by_label: HashMap<(&'s str, &'s str), Vec<usize>>,
    /// Series without a label of a row.
    bare: Vec<usize>,
}

impl<'s> Rows<'s> {
    fn of(all: &'s [Series]) -> Self {
        let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
        for label in all.iter().flat_map(of_row) {
            *counts.entry(label).or_default() += 1;
        }
        let (mut by_label, mut bare): (HashMap<_, Vec<usize>>, Vec<usize>) = Default::default();
        for (place, series) in all.iter().enumerate() {
            match of_row(series).min_by_key(|label| counts[label]) {
                Some(label) => by_label.entry(label).or_default().push(place),
                None => bare.push(place),
            }
        }
        Self { all, by_label, bare }
    }

    /// The series that may belong to the row of another, in the order of the text.
    fn near(&self, series: &Series) -> impl Iterator<Item = &'s Series> {
        let rows = of_row(series).filter_map(|label| self.by_label.get(&label)).flatten();
        let mut places: Vec<usize> = rows.chain(&self.bare).copied().collect();
        places.sort_unstable();
        places.into_iter().map(|place| &self.all[place])
    }
}

fn of_row(series: &Series) -> impl Iterator<Item = (&str, &str)> {
    let labels = series.labels.iter().filter(|(name, _)| !WITHIN_ROW.contains(name));
    labels.map(|(name, value)| (*name, value.as_str()))
}

/// The comparisons of a file.
pub(super) fn of(file: &Imported) -> Vec<Posted> {
    let rows = Rows::of(&file.found.series);
    let all = rows.all;
    let before = all.iter().filter(|series| {
        label(series, "side") == Some("before")
            && ["mean", "median", "value"].contains(&series.metric.as_str())
    });
    let sided = before.filter_map(|before| sided(before, &rows));
    sided.chain(spread(all)).chain(calls(all)).map(judged).collect()
}

fn label<'s>(series: &'s Series, name: &str) -> Option<&'s str> {
    series.labels.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
}

/// The only value of a series.
fn only(series: &Series) -> Option<f64> {
    match series.points.as_slice() {
        [point] => Some(point.value),
        _ => None,
    }
}

/// The series of another metric, with these labels in place of those of the same name.
fn beside<'s>(of: &Series, rows: &Rows<'s>, metric: &str, other: &[(&str, &str)]) -> Option<&'s Series> {
    let fits = |series: &&Series| {
        let has = |name: &str, value: &str| {
            let instead = other.iter().find(|(own, _)| *own == name).map(|(_, instead)| *instead);
            instead.or_else(|| label(of, name)) == Some(value)
        };
        series.format == of.format
            && series.metric == metric
            && series.labels.iter().all(|(name, value)| has(name, value))
    };
    rows.near(of).find(fits)
}

/// Tables that name both sides: benchstat, the kernel test robot, mmtests.
fn sided(before: &Series, rows: &Rows<'_>) -> Option<Posted> {
    let after = beside(before, rows, &before.metric, &[("side", "after")])?;
    let means = [only(before)?, only(after)?];
    let both = |metric: &str, other: &[(&str, &str)]| {
        let of = |side| {
            beside(before, rows, metric, &[other, [("side", side)].as_slice()].concat()).and_then(only)
        };
        Some([of("before")?, of("after")?])
    };
    let n = both("n", &[]).map(|n| n.map(|n| n as usize));
    let (deviations, assumes) = match before.format {
        "benchstat" => {
            let farthest = both("deviation", &[]).zip(n).map(|(share, n)| {
                [0, 1].map(|side| at_least(share[side], 0.5) / 100.0 * means[side] / farthest_of(n[side]))
            });
            let interval = both("half_interval", &[]).zip(n).map(|(share, n)| {
                [0, 1]
                    .map(|side| at_least(share[side], 0.5) / 100.0 * means[side] / half_interval_of(n[side]))
            });
            match interval {
                Some(_) => (interval, "deviations from the interval of the median, as of normal values"),
                None => (farthest, "deviations from the largest distance, as of normal values"),
            }
        }
        "lkp" => {
            let of = |side| beside(before, rows, "deviation", &[("side", side)]).and_then(only);
            let share = ["before", "after"].map(|side| of(side).unwrap_or(LKP_LEFT_OUT));
            (
                Some([0, 1].map(|side| share[side] / 100.0 * means[side].abs())),
                "deviations below 2 % taken as 2 %",
            )
        }
        "mmtests" if label(before, "statistic").is_some_and(|of| of.ends_with("mean")) => {
            (both("value", &[("statistic", "Stddev")]), "")
        }
        _ => return None,
    };
    let mut changes = rows.near(before).filter(|series| {
        series.format == before.format && series.metric == "change" && same_besides_side(series, before)
    });
    let change = changes.find_map(|series| Some((series, only(series)?)));
    let p = beside(before, rows, "p", &[]).and_then(only);
    let author = match (change, p) {
        (Some((series, change)), p) => {
            let unit = if series.unit == "%" { " %" } else { " points" };
            let marked = if label(series, "marked").is_some() { ", marked as significant" } else { "" };
            let p = p.map_or_else(String::new, |p| format!(", p = {p}"));
            Some(format!("{change:+}{unit}{p}{marked}"))
        }
        (None, Some(p)) => Some(format!("no difference, p = {p}")),
        (None, None) => None,
    };
    let names = before.labels.iter().filter(|(name, _)| *name != "side").map(|(_, value)| value.as_str());
    Some(Posted {
        what: names.collect::<Vec<_>>().join(" "),
        unit: before.unit.clone(),
        means,
        deviations,
        assumes,
        n,
        author,
        verdict: None,
        differs_from_n: None,
    })
}

/// Whether the labels that two series share, except the side, are the same.
fn same_besides_side(series: &Series, of: &Series) -> bool {
    let shared = of.labels.iter().filter(|(name, _)| *name != "side");
    shared.filter_map(|(name, value)| Some((label(series, name)?, value))).all(|(own, value)| own == value)
}

/// Tables of people with two columns of `12.3 ± 0.4`.
fn spread(all: &[Series]) -> Vec<Posted> {
    let mut rows: Vec<(&str, Vec<Series>)> = Vec::new();
    let mut places: HashMap<(&str, u32), usize> = HashMap::new();
    for series in all.iter().filter(|series| series.format == "table") {
        let Some(row) = label(series, "row") else { continue };
        for points in series.points.chunk_by(|one, next| one.run == next.run) {
            let place = *places.entry((row, points[0].run)).or_insert(rows.len());
            if place == rows.len() {
                rows.push((row, Vec::new()));
            }
            rows[place].1.push(Series { points: points.to_vec(), ..series.head() });
        }
    }
    let of_row = |(row, cells): (&str, Vec<Series>)| {
        let cells: Vec<&Series> = cells.iter().collect();
        let spreads = cells.iter().copied().filter(|of| label(of, "of") == Some("±"));
        let both: Vec<&Series> = spreads.collect();
        let [before, after] = both.as_slice() else { return None };
        let in_row = || cells.iter().copied();
        let plain =
            |metric: &str| in_row().find(|series| series.metric == metric && label(series, "of").is_none());
        let sides = [plain(&before.metric)?, plain(&after.metric)?];
        // A column of ratios is no other side of a column of times.
        let is_ratio =
            ["relative", "ratio", "speedup", "slowdown"].contains(&after.metric.to_lowercase().as_str());
        if is_ratio || sides[0].unit != sides[1].unit {
            return None;
        }
        let means = [only(sides[0])?, only(sides[1])?];
        let deviation = |series: &Series, mean: f64| {
            let value = only(series)?;
            Some(if series.unit == "%" { value / 100.0 * mean.abs() } else { value })
        };
        let deviations = [deviation(before, means[0])?, deviation(after, means[1])?];
        let count = |name: &str| in_row().find(|of| of.metric.eq_ignore_ascii_case(name)).and_then(only);
        let n = ["n", "runs", "samples", "iterations"].into_iter().find_map(count).map(|n| [n as usize; 2]);
        let n = n.or_else(|| Some([stated(&before.metric)?, stated(&after.metric)?]));
        let concludes = |series: &&Series| {
            let name = series.metric.to_lowercase();
            ["change", "delta", "diff", "gain", "vs"].iter().any(|word| name.contains(word))
        };
        let author = in_row().find(concludes).and_then(|of| Some((only(of)?, &of.unit)));
        Some(Posted {
            what: format!("{row}: {} -> {}", before.metric, after.metric),
            unit: sides[0].unit.clone(),
            means,
            deviations: Some(deviations),
            assumes: "the number after ± taken as the standard deviation",
            n,
            author: author.map(|(change, unit)| format!("{change:+} {unit}")),
            verdict: None,
            differs_from_n: None,
        })
    };
    rows.into_iter().filter_map(of_row).collect()
}

/// `before (n=10)`.
fn stated(heading: &str) -> Option<usize> {
    let heading = heading.to_lowercase().replace(' ', "");
    let (_, rest) = heading.split_once("n=")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Two calls of `perf stat -r N` in one text.
fn calls(all: &[Series]) -> Vec<Posted> {
    let mut of_metric: HashMap<&str, &Series> = HashMap::new();
    for series in all.iter().filter(|series| series.format == "perf-stat") {
        of_metric.entry(&series.metric).or_insert(series);
    }
    let of = |error: &Series| {
        let what =
            label(error, "of").filter(|_| error.format == "perf-stat" && error.metric == "standard_error")?;
        let series = of_metric.get(what)?;
        let ([a, b], [error_a, error_b]) = (series.points.as_slice(), error.points.as_slice()) else {
            return None;
        };
        if a.run == b.run || [error_a.run, error_b.run] != [a.run, b.run] {
            return None;
        }
        let runs = of_metric.get("runs").and_then(|runs| {
            let of =
                |run| runs.points.iter().find(|point| point.run == run).map(|point| point.value as usize);
            Some([of(a.run)?, of(b.run)?])
        });
        let n = runs.unwrap_or([UNSTATED; 2]);
        let deviation = |mean: f64, share: f64, n: usize| share / 100.0 * mean * (n as f64).sqrt();
        Some(Posted {
            what: what.to_owned(),
            unit: series.unit.clone(),
            means: [a.value, b.value],
            deviations: Some([
                deviation(a.value, error_a.value, n[0]),
                deviation(b.value, error_b.value, n[1]),
            ]),
            assumes: if runs.is_some() { "" } else { "3 runs each, since none are stated" },
            n: Some(n),
            author: None,
            verdict: None,
            differs_from_n: None,
        })
    };
    all.iter().filter_map(of).collect()
}

/// The fewest runs that show a scatter at all, where `perf stat` does not say how many there were.
const UNSTATED: usize = 3;

/// A share that was rounded to whole percents is at least this.
fn at_least(share: f64, least: f64) -> f64 {
    if share > 0.0 { share } else { least }
}

/// The median of the largest distance of `n` normal values from their mean, in standard deviations.
fn farthest_of(n: usize) -> f64 {
    let n = n.max(2) as f64;
    dist::normal_quantile(f64::midpoint(1.0, 0.5_f64.powf(1.0 / n))) * ((n - 1.0) / n).sqrt()
}

/// Half of the 95 % interval of the median of `n` normal values, in standard deviations: the error of the median is √(π/2) of the mean's.
fn half_interval_of(n: usize) -> f64 {
    let n = n.max(2) as f64;
    dist::t_quantile(0.975, n - 1.0) * (std::f64::consts::FRAC_PI_2 / n).sqrt()
}

/// Judges a comparison with means, deviations and n. Without n it names the least n that would decide.
fn judged(mut posted: Posted) -> Posted {
    let Some(deviations) = posted.deviations else { return posted };
    let summary =
        |side: usize, n: usize| Summary { mean: posted.means[side], deviation: deviations[side], n };
    let judge = |n: [usize; 2]| {
        compare::summaries(&posted.what, &summary(0, n[0]), &summary(1, n[1]), &settings()).ok()
    };
    let verdict = posted.n.and_then(judge).map(|found| found.verdict);
    let differs = |n: usize| judge([n; 2]).is_some_and(|found| found.p <= settings().alpha);
    let is_tried = posted.n.is_none() && judge([2; 2]).is_some();
    posted.differs_from_n = is_tried.then(|| least(differs)).flatten();
    posted.verdict = verdict;
    posted
}

/// The least number of values that decides: more decide as well.
fn least(decides: impl Fn(usize) -> bool) -> Option<usize> {
    let mut enough = compare::FEWEST;
    while !decides(enough) {
        enough = (2 * enough <= MOST_VALUES).then_some(2 * enough)?;
    }
    let mut low = if enough == compare::FEWEST { enough } else { enough / 2 + 1 };
    while low < enough {
        let middle = usize::midpoint(low, enough);
        if decides(middle) { enough = middle } else { low = middle + 1 }
    }
    Some(enough)
}

/// Writes the comparisons of a text beside what their author concludes.
pub(super) fn text(out: &mut dyn Write, all: &[Posted]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "comparisons that the text contains, judged from its means, deviations and n:")?;
    for posted in all {
        let [before, after] = posted.means;
        writeln!(out, "  {}: {before} -> {after} {}", posted.what, posted.unit)?;
        writeln!(out, "    {}", conclusion(posted))?;
        if !posted.assumes.is_empty() && posted.deviations.is_some() {
            writeln!(out, "    assumed: {}", posted.assumes)?;
        }
        if let Some(author) = &posted.author {
            writeln!(out, "    the author: {author}")?;
        }
    }
    Ok(())
}

fn conclusion(posted: &Posted) -> String {
    let change = (posted.means[1] / posted.means[0] - 1.0) * 100.0;
    match (&posted.verdict, posted.deviations, posted.n, posted.differs_from_n) {
        (Some(verdict), ..) => {
            let found = match verdict.outcome {
                Outcome::Same => "the same",
                Outcome::Undecided => "undecided",
                _ => "they differ",
            };
            let interval = verdict.interval.map_or_else(String::new, |Interval(low, high)| {
                format!(
                    " (95 % interval {:+.2} to {:+.2} %, n = {} and {})",
                    (low - 1.0) * 100.0,
                    (high - 1.0) * 100.0,
                    posted.n.map_or(0, |n| n[0]),
                    posted.n.map_or(0, |n| n[1])
                )
            });
            format!("{found}: {change:+.2} %{interval}")
        }
        (None, Some(_), None, Some(n)) => {
            format!(
                "not decided, since n is not in the text: {change:+.2} % is significant from {n} values on each side on"
            )
        }
        (None, Some(_), Some(_), _) => format!("these means cannot be judged as a ratio ({change:+.2} %)"),
        (None, Some(_), None, None) => format!("not decided, since n is not in the text ({change:+.2} %)"),
        _ => format!("not decided, since no deviation is in the text ({change:+.2} %)"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_import::figures::{self, Options};

    use super::*;

    fn posted(text: &str) -> Vec<Posted> {
        let found = figures::read(text, &Options::default()).expect("readable");
        of(&Imported { name: String::new(), found })
    }

    #[test]
    fn a_table_of_benchstat_is_judged_beside_its_author() {
        let found = posted(
            "name     old time/op  new time/op  delta\nParse-8  1.50µs ± 1%  1.20µs ± 2%  -20.00%  (p=0.008 n=5+5)\n\
             Scan-8   1.50µs ± 9%  1.47µs ± 8%     ~     (p=0.421 n=5+5)\n",
        );
        let outcomes: Vec<Outcome> =
            found.iter().map(|posted| posted.verdict.as_ref().expect("a verdict").outcome).collect();
        assert_eq!(outcomes, [Outcome::Faster, Outcome::Undecided]);
        assert_eq!(found[0].author.as_deref(), Some("-20 %, p = 0.008"));
        assert_eq!(found[1].author.as_deref(), Some("no difference, p = 0.421"));
    }

    #[test]
    fn the_robots_table_lacks_n_and_says_from_which_on_it_decides() {
        let found = posted(
            "         %stddev     %change         %stddev\n             \\          |                \\\n\
             \x20    10000 ±  3%     -20.0%       8000 ±  4%  bench.ops\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].verdict.is_none());
        assert!(matches!(found[0].differs_from_n, Some(3..=5)), "{found:?}");
        assert_eq!(found[0].author.as_deref(), Some("-20 %"));
    }

    #[test]
    fn two_columns_with_deviations_are_judged_by_their_n() {
        let text = "| test | before (n=10) | after (n=10) | change |\n|---|---|---|---|\n| read | 12.3 ± 0.4 ms | 11.1 ± 0.3 ms | -9.8% |\n\
                    | write | 120 ± 9 | 121 ± 8 | +0.8% |\n";
        let found = posted(text);
        let outcomes: Vec<Outcome> =
            found.iter().map(|posted| posted.verdict.as_ref().expect("a verdict").outcome).collect();
        assert_eq!(outcomes, [Outcome::Faster, Outcome::Undecided]);
        assert_eq!((found[0].unit.as_str(), found[0].author.as_deref()), ("ms", Some("-9.8 %")));
    }

    #[test]
    fn a_table_of_many_rows_is_judged_row_by_row() {
        let rows =
            (0..20_000).map(|n| format!("P{n}-8  1.50µs ± 1%  1.20µs ± 2%  -20.00%  (p=0.008 n=5+5)\n"));
        let found = posted(&format!("name  old time/op  new time/op  delta\n{}", rows.collect::<String>()));
        assert_eq!(found.len(), 20_000);
        assert!(found.iter().all(|posted| posted.author.as_deref() == Some("-20 %, p = 0.008")));
        let rows = (0..20_000).map(|n| format!("| r{n} | 12.3 ± 0.4 ms | 11.1 ± 0.3 ms | -9.8% |\n"));
        let head = "| test | before (n=10) | after (n=10) | change |\n|---|---|---|---|\n";
        let found = posted(&format!("{head}{}", rows.collect::<String>()));
        assert_eq!(found.len(), 20_000);
        assert!(found.iter().all(|posted| posted.verdict.is_some()));
    }
}
