//! The answer: one line of verdict, and a row for each benchmark.

use std::io::{self, Write};
use std::time::Duration;

use plimsoll_judge::compare::Comparison;
use plimsoll_judge::stats::median;
use plimsoll_model::units::counted;
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_report::escape::{markdown, terminal};
use plimsoll_report::seconds;
use serde_json::json;

use super::cpu_profile::{FunctionLines, Line, ProfileWithLines};
use super::noise::{Noise, Reach};
use super::sampler::Series;
use super::sides::Side;
use super::trial::{Judged, Trial};
use crate::progress::spark;
use crate::{amount, output};

/// The longest budget that is worth advising, in seconds.
const LONGEST_BUDGET_S: f64 = 86_400.0;
/// The name and version of the JSON form. The number rises when a field changes its meaning or goes away.
const SCHEMA: &str = "plimsoll.ab/1";
/// Number of benchmarks that a comment or a list names one by one.
const LINES: usize = 3;
/// Bars of a sparkline.
const BARS: usize = 16;
/// Longest name in a table, in characters.
const NAME: usize = 48;

/// All that there is to print.
pub(super) struct Report<'a> {
    pub(super) sides: &'a [Side; 2],
    pub(super) series: &'a [Series],
    pub(super) lacking: &'a [(String, usize)],
    pub(super) noise: &'a Noise,
    pub(super) trial: &'a Trial,
    pub(super) judged: Vec<Judged>,
    /// Why a benchmark is worse, or why that is unknown.
    pub(super) why: Option<Result<ProfileWithLines, String>>,
    /// The worst of the judged series.
    pub(super) reach: Reach,
    pub(super) margin: f64,
    pub(super) elapsed: Duration,
    pub(super) budget: Duration,
    pub(super) seed: u64,
    /// The command line that measures the same again.
    pub(super) again: String,
    pub(super) interrupted: bool,
}

impl Report<'_> {
    fn with(&self, outcomes: &[Outcome]) -> Vec<&Judged> {
        self.judged.iter().filter(|one| outcomes.contains(&one.found.verdict.outcome)).collect()
    }

    /// Whether any benchmark is worse.
    pub(super) fn is_worse(&self) -> bool {
        !self.with(&[Outcome::Slower]).is_empty()
    }

    /// The benchmarks, those that need attention first.
    pub(super) fn worst_first(&self) -> Vec<&Judged> {
        let mut order: Vec<&Judged> = self.judged.iter().collect();
        order.sort_by_key(|one| match one.found.verdict.outcome {
            Outcome::Slower => 0,
            Outcome::Invalid => 1,
            Outcome::Undecided => 2,
            Outcome::Faster => 3,
            _ => 4,
        });
        order
    }

    /// The line that says it all.
    pub(super) fn headline(&self) -> String {
        let head = self.side(1);
        if self.trial.blocks == 0 {
            return format!("{head} is the same as {}: identical programs.", self.side(0));
        }
        let (slower, faster) = (self.with(&[Outcome::Slower]), self.with(&[Outcome::Faster]));
        let invalid = self.with(&[Outcome::Invalid]).len();
        let open = self.with(&[Outcome::Undecided]).len();
        if let [only] = self.judged.as_slice() {
            return self.sentence(only);
        }
        let all = self.judged.len();
        let parts =
            [(slower.len(), "worse"), (faster.len(), "better"), (invalid, "invalid"), (open, "undecided")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if parts.is_empty() {
            return format!("{head} is the same in all {all} benchmarks, within {}.", percent(self.margin));
        }
        format!("{head}: of {all} benchmarks, {}.", parts.join(", "))
    }

    fn sentence(&self, one: &Judged) -> String {
        let (head, base) = (self.side(1), self.side(0));
        let Verdict { outcome, estimate, .. } = &one.found.verdict;
        let ratio = estimate.unwrap_or(1.0);
        let comparative = amount::comparative(&self.series[one.series].metric, ratio);
        match outcome {
            Outcome::Same => format!("{head} is the same as {base} within {}.", percent(self.margin)),
            Outcome::Slower | Outcome::Faster => format!("{head} {comparative} than {base}."),
            Outcome::Invalid => format!("Invalid: {base} differs from itself on this machine."),
            _ => format!("Undecided: {head} {comparative} than {base} so far."),
        }
    }

    pub(super) fn side(&self, which: usize) -> String {
        self.sides[which].title()
    }

    /// What the noise was, and what it leaves to find.
    pub(super) fn limits(&self) -> String {
        if self.trial.blocks == 0 {
            return "Nothing was measured: all that the benchmark read is equal".into();
        }
        let spent = format!(
            "{} in {} of {}",
            counted(2 * self.trial.blocks, "pair"),
            seconds(self.elapsed.as_secs_f64()),
            seconds(self.budget.as_secs_f64()),
        );
        if self.reach.needs.is_none() {
            return format!("{spent} ({})", self.metric());
        }
        let shows =
            if self.reach.detectable.is_finite() { percent(self.reach.detectable) } else { "nothing".into() };
        let spreads = self.judged.iter().map(|one| self.noise.spread[one.series]);
        let spread = percent(spreads.fold(0.0, f64::max));
        let metric = self.metric();
        format!("{spent}; neighbouring runs differ by {spread}, so the budget can show {shows} ({metric})")
    }

    /// The judged metric, in words.
    fn metric(&self) -> String {
        let name = self.judged.first().map_or("", |one| self.series[one.series].metric.as_str());
        name.replace('_', " ")
    }

    /// The benchmarks whose difference is too small to be called one.
    fn below_margin(&self) -> Option<String> {
        let small: Vec<&Judged> = self.judged.iter().filter(|one| one.below_margin).collect();
        let named = |one: &&Judged| {
            let change = one.found.verdict.estimate.map_or_else(String::new, amount::change);
            format!("{} {change}", cut(&self.series[one.series].name, NAME))
        };
        let mut changes: Vec<String> = small.iter().take(LINES).map(named).collect();
        changes.extend(small.len().checked_sub(LINES + 1).map(|more| format!("{} more", more + 1)));
        let margin = percent(self.margin);
        (!small.is_empty())
            .then(|| format!("A difference below the margin of {margin}: {}", changes.join(", ")))
    }

    /// What decides what is open.
    fn advice(&self) -> Option<String> {
        let open = self.with(&[Outcome::Undecided]);
        let pairs = open.iter().filter_map(|one| one.found.needed).max();
        let longer = |pairs: usize| {
            let time = 2.0 * pairs as f64 * self.noise.each.as_secs_f64() + self.budget.as_secs_f64() / 10.0;
            if time > LONGEST_BUDGET_S {
                return "a wider --margin or another --metric, since the budget would exceed a day"
                    .to_owned();
            }
            format!("--budget {}s, or a wider --margin", time.ceil())
        };
        let of_reach = || self.reach.hides().then(|| self.reach.remedy());
        pairs.map(longer).or_else(of_reach).filter(|_| !open.is_empty())
    }
}

/// Warning before a measurement whose budget cannot show what must be found.
pub(super) fn warning(reach: &Reach, detect: f64) -> Option<String> {
    let why = if reach.is_noisy() { "this machine is noisy" } else { "one run takes long" };
    let warning = || format!("{why}: a change of {} takes {}", percent(detect), reach.remedy());
    reach.hides().then(warning)
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 0.1 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }.replace(".0 %", " %")
}

fn outcome(found: &Comparison, lower_is_better: bool) -> &'static str {
    match (found.verdict.outcome, lower_is_better) {
        (Outcome::Same, _) => "same",
        (Outcome::Slower, true) => "slower",
        (Outcome::Slower, false) => "worse",
        (Outcome::Faster, true) => "faster",
        (Outcome::Faster, false) => "better",
        (Outcome::Invalid, _) => "invalid",
        _ => "undecided",
    }
}

impl Report<'_> {
    /// A row of the table, as its cells.
    pub(super) fn row(&self, one: &Judged) -> [String; 7] {
        let series = &self.series[one.series];
        let pairs = &self.trial.pairs[one.series];
        let of = |side: usize| {
            if pairs.is_empty() {
                return "-".into();
            }
            let values: Vec<f64> = pairs.iter().map(|pair| pair[side]).collect();
            let value = median(&values);
            match series.unit.as_str() {
                "" => amount::amount(value, None),
                unit @ ("s" | "bytes") => amount::amount(value, Some(unit)),
                unit => format!("{} {unit}", amount::amount(value, None)),
            }
        };
        let change = one.found.verdict.estimate.map_or_else(|| "-".into(), amount::change);
        [
            cut(&series.name, NAME),
            of(0),
            of(1),
            change,
            range(&one.found.verdict),
            control(&one.control.verdict),
            outcome(&one.found, series.lower_is_better).to_owned(),
        ]
    }
}

/// How far the base differs from itself: an interval, or the estimate of too few pairs for one.
fn control(verdict: &Verdict) -> String {
    match (verdict.interval, verdict.estimate) {
        (None, Some(ratio)) => amount::change(ratio),
        _ => range(verdict),
    }
}

/// An interval of changes.
fn range(verdict: &Verdict) -> String {
    let bounded = verdict.interval.filter(|interval| interval.lo() > 0.0 && interval.hi().is_finite());
    bounded.map_or_else(
        || "-".into(),
        |interval| format!("{} to {}", amount::change(interval.lo()), amount::change(interval.hi())),
    )
}

/// Columns of the functions.
pub(super) const WHY: [&str; 6] = ["function", "base", "head", "of what was added", "called from", "lines"];
/// The longest name of a function in a table, in characters.
const FUNCTION: usize = 60;

impl ProfileWithLines {
    /// What the profile shows. Times are shares of the base's.
    pub(super) fn sentence(&self) -> String {
        let [base, head] = [self.profile.before.samples, self.profile.after.samples];
        let samples = format!("{base} and {head} samples of base and head");
        match (&self.profile.narrowest, self.functions.is_empty()) {
            (Some(function), _) => format!(
                "Why: {} of the added CPU time is in {} and what it calls ({samples}).",
                percent(function.share.min(1.0)),
                cut(&function.function, FUNCTION),
            ),
            (None, false) => format!("Why: these functions take more CPU time ({samples})."),
            (None, true) => {
                format!("Why is unknown: no function takes more CPU time beyond chance ({samples}).")
            }
        }
    }
}

impl FunctionLines {
    pub(super) fn cells(&self, why: &ProfileWithLines) -> [String; 6] {
        let FunctionLines { function, lines } = self;
        let share = |us: f64| percent(us / why.profile.before.cpu_us);
        let line = |line: &Line| {
            let file = line.file.file_name().unwrap_or_default().to_string_lossy();
            format!("{file}:{} ({})", line.line, percent(line.share))
        };
        [
            cut(&function.function, FUNCTION),
            share(function.before_us),
            share(function.after_us),
            percent(function.share.min(1.0)),
            function.called_by.last().map_or_else(|| "-".into(), |name| cut(name, NAME)),
            lines.iter().map(line).collect::<Vec<_>>().join(", "),
        ]
    }
}

pub(super) const HEADINGS: [&str; 7] =
    ["benchmark", "base", "head", "change", "95 % interval", "base against base", "verdict"];

/// The end of a name that is too long: names of one suite begin alike.
fn cut(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(length - most + 1)).collect()
}

/// For people.
pub(super) fn text(out: &mut dyn Write, answer: &Report<'_>) -> io::Result<()> {
    if answer.interrupted {
        writeln!(out, "Interrupted. What is known so far:")?;
    }
    writeln!(out, "{}\n", answer.headline())?;
    output::table(out, "  ", HEADINGS, answer.judged.iter().map(|one| answer.row(one)))?;
    writeln!(out, "\n{}.", answer.limits())?;
    if let Some(small) = answer.below_margin() {
        writeln!(out, "{}.", terminal(&small))?;
    }
    beside(out, answer)?;
    for (name, side) in answer.lacking {
        writeln!(out, "Only {} has {name}.", answer.side(*side))?;
    }
    if let Some(advice) = answer.advice() {
        writeln!(out, "To decide it: {advice}.")?;
    }
    reasons(out, answer)
}

/// Where the CPU time went that was added, below the verdicts.
fn reasons(out: &mut dyn Write, answer: &Report<'_>) -> io::Result<()> {
    match &answer.why {
        None => Ok(()),
        Some(Err(missing)) => writeln!(out, "Not profiled: {missing}."),
        Some(Ok(why)) => {
            writeln!(out, "\n{}", why.sentence())?;
            if why.functions.is_empty() {
                return Ok(());
            }
            writeln!(out)?;
            output::table(out, "  ", WHY, why.functions.iter().map(|grown| grown.cells(why)))
        }
    }
}

/// Further metrics of the same runs, the steadiest first: the median change of all benchmarks.
fn beside(out: &mut dyn Write, answer: &Report<'_>) -> io::Result<()> {
    let metric = |at: usize| answer.series[at].metric.as_str();
    let mut others: Vec<(f64, String)> = Vec::new();
    for at in 0..answer.series.len() {
        let is_first = (0..at).all(|before| metric(before) != metric(at));
        if !is_first || answer.judged.iter().any(|one| metric(one.series) == metric(at)) {
            continue;
        }
        let (mut ratios, mut spread) = (Vec::new(), 0.0_f64);
        for of_it in (at..answer.series.len()).filter(|of_it| metric(*of_it) == metric(at)) {
            ratios.extend(answer.trial.pairs[of_it].iter().map(|[base, head]| head / base));
            spread = spread.max(answer.noise.spread[of_it]);
        }
        let repeats =
            if spread > 0.0 { format!(" (repeats within {})", percent(spread)) } else { String::new() };
        if !ratios.is_empty() {
            let (name, change) = (metric(at).replace('_', " "), amount::change(median(&ratios)));
            others.push((spread, format!("{name} {change}{repeats}")));
        }
    }
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let parts: Vec<String> = others.into_iter().map(|(_, part)| part).collect();
    if parts.is_empty() { Ok(()) } else { writeln!(out, "Not judged: {}.", parts.join(", ")) }
}

/// For a pull request: at most five lines, which are the comment, then a blank one and the table.
pub(super) fn as_markdown(out: &mut dyn Write, answer: &Report<'_>) -> io::Result<()> {
    writeln!(out, "**Plimsoll: {}**", markdown(&answer.headline()))?;
    let order = answer.worst_first();
    for one in order.iter().take(LINES) {
        writeln!(out, "- {}", line(answer, one))?;
    }
    let more = order.len().saturating_sub(LINES);
    let more = if more > 0 { format!("{more} more below. ") } else { String::new() };
    writeln!(out, "- {more}{}.", answer.limits())?;
    markdown_table(out, HEADINGS, answer.judged.iter().map(|one| answer.row(one)))?;
    let small = answer.below_margin().map(|small| markdown(&small));
    for sentence in small.into_iter().chain(answer.advice()) {
        writeln!(out, "\n{sentence}.")?;
    }
    let Some(Ok(why)) = &answer.why else { return Ok(()) };
    writeln!(out, "\n{}", markdown(&why.sentence()))?;
    if why.functions.is_empty() {
        return Ok(());
    }
    markdown_table(out, WHY, why.functions.iter().map(|grown| grown.cells(why)))
}

fn markdown_table<const N: usize>(
    out: &mut dyn Write,
    headings: [&str; N],
    mut rows: impl Iterator<Item = [String; N]>,
) -> io::Result<()> {
    writeln!(out, "\n| {} |\n|{}", headings.join(" | "), " --- |".repeat(N))?;
    rows.try_for_each(|row| writeln!(out, "| {} |", row.map(|cell| markdown(&cell)).join(" | ")))
}

fn line(answer: &Report<'_>, one: &Judged) -> String {
    let [name, _, _, change, interval, _, verdict] = answer.row(one);
    format!(
        "{} {change} ({interval}) {verdict} {}",
        markdown(&name),
        sparkline(&answer.trial.pairs[one.series])
    )
}

/// The ratios of head to base over time, between the least and the greatest.
fn sparkline(pairs: &[[f64; 2]]) -> String {
    let each = pairs.len().div_ceil(BARS).max(1);
    let ratio =
        |chunk: &[[f64; 2]]| median(&chunk.iter().map(|[base, head]| head / base).collect::<Vec<_>>());
    let ratios: Vec<f64> = pairs.chunks(each).map(ratio).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    spark(ratios.iter().map(|ratio| ratio - least), BARS)
}

/// For programs.
pub(super) fn json(answer: &Report<'_>) -> serde_json::Value {
    let side = |which: usize| {
        let Side { name, commit, .. } = &answer.sides[which];
        json!({"name": name, "commit": commit.as_ref().map(|commit| &commit.hash)})
    };
    let benchmark = |one: &Judged| {
        let series = &answer.series[one.series];
        json!({
            "benchmark": series.name,
            "unit": series.unit,
            "lower_is_better": series.lower_is_better,
            "verdict": one.found.verdict,
            "below_margin": one.below_margin,
            "p": one.found.p,
            "base_against_base": one.control.verdict,
            "spread": finite(answer.noise.spread[one.series]),
            "pairs": answer.trial.pairs[one.series],
        })
    };
    let series = answer.series.iter().enumerate().map(|(at, series)| {
        json!({
            "benchmark": series.name,
            "metric": series.metric,
            "spread": finite(answer.noise.spread[at]),
            "pairs": answer.trial.pairs[at],
        })
    });
    json!({
        "schema": SCHEMA,
        "base": side(0),
        "head": side(1),
        "benchmarks": answer.judged.iter().map(benchmark).collect::<Vec<_>>(),
        "series": series.collect::<Vec<_>>(),
        "why": answer.why.as_ref().map(|why| match why {
            Ok(why) => json!({
                "samples": [why.profile.before.samples, why.profile.after.samples],
                "narrowest": why.profile.narrowest,
                "functions": why.functions,
            }),
            Err(missing) => json!({"missing": missing}),
        }),
        "blocks": answer.trial.blocks,
        "elapsed_s": answer.elapsed.as_secs_f64(),
        "budget_s": answer.budget.as_secs_f64(),
        "detectable": finite(answer.reach.detectable),
        "noise_runs": answer.noise.runs,
        "seed": answer.seed,
        "interrupted": answer.interrupted,
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
