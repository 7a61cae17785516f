//! The answer for people: first the result, then its evidence.

use std::io::{self, Write};
use std::time::Duration;

use plimsoll_assess::Explained;
use plimsoll_judge::compare::Comparison;
use plimsoll_judge::stats::{median, quantile};
use plimsoll_model::shell::shell_word;
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_report::escape::terminal;
use plimsoll_report::text::{Explanation, TextOptions};

use super::answer::Answers;
use super::cells::Cell;
use crate::amount;
use crate::args::CommandMetric;
use crate::measure::{Gauge, Times};

/// Where the causes of a comparison are shown again.
const AGAIN: &str = "These causes again, until the next run or comparison: plimsoll explain latest";
/// The share of its time that a command must wait for a CPU before the text says so.
const WORTH_A_WORD: f64 = 0.02;

/// The heading of the evidence, and what its sides are.
pub(super) const WORSE_COMMAND: (&str, &str, &str) =
    ("What sets the worse command apart from the better one", "better", "worse");

pub(super) fn write(out: &mut dyn Write, answer: &Answers<'_>, options: &TextOptions) -> io::Result<()> {
    if answer.interrupted {
        writeln!(out, "Interrupted. What is known so far:")?;
    }
    for (found, cell) in answer.comparisons.iter().zip(&answer.cells[1..]) {
        writeln!(out, "{}", sentence(answer, &answer.cells[0], cell, found))?;
    }
    writeln!(out)?;
    figures(out, answer)?;
    pairs(out, answer)?;
    if answer.cells.len() > 2 {
        ranking(out, answer)?;
    }
    if let Some(Explained { causes, evidence, profile }) = &answer.explained {
        let why = Explanation { causes, profile: profile.as_ref(), evidence };
        plimsoll_report::text::why(out, WORSE_COMMAND, &why, options)?;
    }
    writeln!(out)?;
    for note in notes(answer) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// `B is 5.1 % slower (95 % interval +4.2 % to +6.0 %), 14 pairs.`
pub(super) fn sentence(answer: &Answers<'_>, first: &Cell, other: &Cell, found: &Comparison) -> String {
    let Verdict { outcome, estimate, interval, confidence, n, .. } = &found.verdict;
    let (a, b) = (terminal(&first.name), terminal(&other.name));
    let ratio = estimate.unwrap_or(1.0);
    let interval =
        interval.map_or_else(|| "no interval yet".into(), |interval| amount::interval(interval, *confidence));
    let pairs = if *n == 1 { "1 pair".into() } else { format!("{n} pairs") };
    let against = if answer.cells.len() > 2 { format!(" against {a}") } else { String::new() };
    let comparative = amount::comparative(answer.gauge.metric(), ratio);
    match outcome {
        Outcome::Same => format!(
            "{a} and {b} are the same within {:.3} % ({b}/{a} {}, {interval}), {pairs}.",
            100.0 * answer.settings.compare.margin,
            amount::change(ratio),
        )
        .replace(".000 %", " %"),
        Outcome::Slower | Outcome::Faster => {
            format!("{b} {comparative}{against}{} ({interval}), {pairs}.", judgement(answer.gauge, *outcome))
        }
        _ => {
            format!("Undecided: {b} {comparative}{against} so far ({interval}), {pairs}.")
        }
    }
}

/// Whether a figure that only the command knows became better or worse.
fn judgement(gauge: &Gauge, outcome: Outcome) -> &'static str {
    match (gauge, outcome) {
        (Gauge::Used(_) | Gauge::Counted(_), _) => "",
        (Gauge::Printed { .. } | Gauge::Phase { .. }, Outcome::Slower) => ", which is worse",
        (Gauge::Printed { .. } | Gauge::Phase { .. }, _) => ", which is better",
    }
}

fn figures(out: &mut dyn Write, answer: &Answers<'_>) -> io::Result<()> {
    let write = |value: f64| amount::amount(value, answer.gauge.unit());
    let width = answer.cells.iter().map(|cell| cell.name.chars().count()).max().unwrap_or(1);
    for (i, cell) in answer.cells.iter().enumerate() {
        let values = answer.contest.values(i);
        writeln!(
            out,
            "  {:width$}  median {}, from {} to {}  {}",
            terminal(&cell.name),
            write(median(&values)),
            write(quantile(&values, 0.0)),
            write(quantile(&values, 1.0)),
            terminal(&cell.command),
        )?;
        writeln!(out, "  {:width$}  {}", "", times(&answer.times[i]))?;
    }
    Ok(())
}

/// `wall 51.2 ms, user 40.1 ms, system 9.8 ms (medians)`.
fn times(of: &[Times]) -> String {
    let middle = |time: fn(&Times) -> Duration| {
        let seconds: Vec<f64> = of.iter().map(|it| time(it).as_secs_f64()).collect();
        amount::amount(median(&seconds), Some("s"))
    };
    format!(
        "wall {}, user {}, system {} (medians)",
        middle(|it| it.wall),
        middle(|it| it.user),
        middle(|it| it.system)
    )
}

/// No more than this many times the pairs so far are proposed.
const MOST_TIMES: usize = 10;

/// The command that decides what is open: more pairs, where that many are worth their time; else a figure that scatters less, or a wider margin.
fn deciding(answer: &Answers<'_>) -> Option<String> {
    let open = answer.comparisons.iter().find(|found| found.verdict.outcome == Outcome::Undecided)?;
    let pairs = answer.contest.blocks().len();
    let needed = open.needed.unwrap_or(2 * pairs);
    let (option, value, takes) = if needed <= MOST_TIMES * pairs {
        let spent: Duration = answer.times.iter().flatten().map(|times| times.wall).sum();
        let takes = spent.as_secs_f64() * needed as f64 / pairs.max(1) as f64;
        ("--max-pairs", needed.to_string(), format!(" (about {})", plimsoll_report::seconds(takes)))
    } else if matches!(answer.gauge, Gauge::Used(CommandMetric::Wall | CommandMetric::Elapsed)) {
        ("--metric", "cpu".to_owned(), String::new())
    } else {
        let far = |ratio: f64| (100.0 * (ratio - 1.0).abs()).ceil();
        let widest = open.verdict.interval.map(|interval| far(interval.lo()).max(far(interval.hi())));
        ("--margin", format!("{}%", widest.unwrap_or(10.0)), String::new())
    };
    Some(format!("To decide it{takes}: {}", again(&answer.words, option, &value)))
}

/// The command line with another value of an option.
fn again(words: &[String], option: &str, value: &str) -> String {
    let mut kept = vec!["plimsoll".to_owned()];
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if word == option {
            rest.next();
        } else if word.split_once('=').is_none_or(|(name, _)| name != option) {
            kept.push(shell_word(word).into_owned());
        }
    }
    format!("{} {option} {value}", kept.join(" "))
}

/// The ratios of the figures that were measured next to each other: the answer goes by these, and not by the medians of each side.
fn pairs(out: &mut dyn Write, answer: &Answers<'_>) -> io::Result<()> {
    let blocks = answer.contest.blocks();
    let first = terminal(&answer.cells[0].name);
    for (i, (cell, found)) in (1..).zip(answer.cells[1..].iter().zip(&answer.comparisons)) {
        let name = terminal(&cell.name);
        let higher = blocks.iter().filter(|block| block.values[i] > block.values[0]).count();
        writeln!(
            out,
            "  {name}/{first} pair by pair: {}, higher in {higher} of {}{}",
            amount::change(found.verdict.estimate.unwrap_or(1.0)),
            blocks.len(),
            reverse(answer, i, found)
        )?;
    }
    Ok(())
}

/// Remark that the medians point the other way, where they do.
fn reverse(answer: &Answers<'_>, cell: usize, found: &Comparison) -> String {
    let of = |cell: usize| median(&answer.contest.values(cell));
    let medians = of(cell) / of(0);
    let ratio = found.verdict.estimate.unwrap_or(1.0);
    if medians.ln() * ratio.ln() >= 0.0 {
        return String::new();
    }
    format!(
        "; the medians say {}, because they forget what was measured together: the answer goes by pairs",
        amount::change(medians)
    )
}

/// All pairs, the best cell first.
fn ranking(out: &mut dyn Write, answer: &Answers<'_>) -> io::Result<()> {
    writeln!(out, "\nEvery pair:")?;
    for (a, b, found) in &answer.ranking {
        let Some(ratio) = found.verdict.estimate else { continue };
        let (a, b) = (terminal(&answer.cells[*a].name), terminal(&answer.cells[*b].name));
        let interval = found.verdict.interval.map_or_else(
            || "no interval yet".into(),
            |interval| amount::interval(interval, found.verdict.confidence),
        );
        let judgement = match found.verdict.outcome {
            Outcome::Same => "the same",
            Outcome::Slower => "worse",
            Outcome::Faster => "better",
            _ => "not distinguished",
        };
        let comparative = amount::comparative(answer.gauge.metric(), ratio);
        writeln!(out, "  {b} {comparative} against {a} ({interval}): {judgement}")?;
    }
    let order = order(answer).map(|cell| terminal(&answer.cells[cell].name).into_owned());
    writeln!(out, "Best to worst, by estimate: {}", order.collect::<Vec<_>>().join(", "))
}

/// The cells by their estimated ratio to the first, the best first.
fn order(answer: &Answers<'_>) -> impl Iterator<Item = usize> {
    let ratio = |found: &Comparison| found.verdict.estimate.unwrap_or(1.0);
    let mut ratios: Vec<(usize, f64)> =
        std::iter::once(1.0).chain(answer.comparisons.iter().map(ratio)).enumerate().collect();
    let sign = if answer.gauge.lower_is_better() { 1.0 } else { -1.0 };
    ratios.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
    ratios.into_iter().map(|(cell, _)| cell)
}

/// Describes the time that was subtracted from wall times, if it is worth a sentence.
fn waited(answer: &Answers<'_>) -> Option<String> {
    let shares: Vec<(&Cell, f64)> = answer
        .cells
        .iter()
        .enumerate()
        .filter_map(|(i, cell)| Some((cell, answer.contest.foreign_share(i)?)))
        .collect();
    shares.iter().any(|(_, share)| *share >= WORTH_A_WORD).then(|| {
        let parts = shares.iter().map(|(cell, share)| {
            format!("{:.0} % of the time of {}", 100.0 * share, terminal(&cell.name))
        });
        format!(
            "The CPUs were busy with something else. What the commands waited for them is not counted ({}); --metric elapsed counts it.",
            parts.collect::<Vec<_>>().join(", ")
        )
    })
}

fn notes(answer: &Answers<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let comparisons = answer.comparisons.len();
    let alpha = 100.0 * answer.settings.compare.alpha;
    notes.push(if comparisons > 1 {
        format!(
            "Measured in {} blocks of random order; a chance of {alpha} % of any false alarm is shared by {comparisons} comparisons.",
            answer.contest.blocks().len()
        )
    } else {
        format!("Measured in turns, in random order; the chance of a false alarm is {alpha} %.")
    });
    notes.extend(waited(answer));
    if matches!(answer.gauge, Gauge::Printed { .. }) {
        let better = if answer.gauge.lower_is_better() { "lower" } else { "higher" };
        notes.push(format!("A {better} figure was taken for better."));
    }
    notes.extend(answer.missing.iter().cloned());
    notes.extend(answer.is_kept.then(|| AGAIN.to_owned()));
    notes.push(format!("The order again: --seed {}", answer.seed));
    notes.extend(deciding(answer));
    notes
}
