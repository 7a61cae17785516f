//! Two stored runs against each other. They were not interleaved, and the answer says what that costs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use plimsoll_model::plan::Plan;
use plimsoll_model::shell::shell_word;
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_report::escape::terminal;
use plimsoll_report::text::{Explanation, TextOptions};
use plimsoll_store::RunEntry;
use serde_json::{Map, Value, json};

use super::environments::differences;
use super::json::{self, COMPARE_SCHEMA};
use crate::args::PlainFormat;
use crate::command::{again, show};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{amount, output, state};
use plimsoll_assess::{self as assess, RunContrast};

/// Measured on unchanged programs on a noisy virtual machine with two CPUs, at a nominal level of 5 %.
const COST: &str = "The runs were not interleaved: whatever else changed between them is part of the difference. Measured on \
                    programs that did not change, one after the other, such comparisons raised a false alarm in 43 to 55 % at a \
                    nominal 5 %, where random pairs raised 3 to 6 %. A factor in one experiment is measured in turns.";

/// The heading of the evidence, and what its sides are.
const WORSE_RUN: (&str, &str, &str) =
    ("What sets the worse run apart from the better one", "better", "worse");
/// The heading if the comparison leans to a side and decides nothing.
const PROBABLY_WORSE_RUN: (&str, &str, &str) =
    ("What sets the probably worse run apart; that it is worse is not certain", "better", "worse");

/// How two runs are compared.
pub(crate) struct Question<'q> {
    pub(crate) store: Option<&'q Path>,
    pub(crate) margin: f64,
    pub(crate) alpha: f64,
    pub(crate) format: PlainFormat,
}

pub(crate) fn run(question: &Question<'_>, a: &str, b: &str) -> Result<Exit, Failure> {
    let store = state::open_to_read(question.store)?;
    let (plan_a, report_a, trials_a) = show::load(&store, a)?;
    let (plan_b, report_b, trials_b) = show::load(&store, b)?;
    let (of_a, of_b) = ((&plan_a, &trials_a[..]), (&plan_b, &trials_b[..]));
    let found = assess::runs(of_a, of_b, question.margin, question.alpha);
    let cells = assess::alone(of_a, of_b);
    if found.is_empty() {
        let entries = [state::find(&store, a)?, state::find(&store, b)?];
        return Err(Failure::Usage(nothing_in_common(&entries, [&plan_a, &plan_b], &cells)));
    }
    let mut differences = differences(&store, &report_a.run, &report_b.run)?;
    let alone = ["A", "B"].into_iter().zip(&cells).filter(|(_, cells)| !cells.is_empty());
    differences.extend(alone.map(|(run, cells)| format!("Only {run} has {}.", terminal(&cells.join("; ")))));
    let runs = (report_a.run.as_str(), report_b.run.as_str());
    match question.format {
        PlainFormat::Text => output::styled(|out, options| text(out, runs, &found, &differences, options)),
        PlainFormat::Json => output::json(&document(runs, &found, &differences)),
    }?;
    let verdicts: Vec<Verdict> = found.into_iter().map(|found| found.comparison.verdict).collect();
    Ok(Exit::of(&verdicts))
}

/// Names the cells of each run where none is in both, and the command that measures all levels in turns.
fn nothing_in_common([a, b]: &[RunEntry; 2], plans: [&Plan; 2], cells: &[Vec<String>; 2]) -> String {
    let runs = format!("the runs {} of {} and {} of {}", a.id, a.experiment, b.id, b.experiment);
    let nothing = format!("{runs} have no cell in common in which both measured a figure");
    let [of_a, of_b] = cells.each_ref().map(|cells| cells.join("; "));
    if of_a == of_b {
        return nothing;
    }
    let levels = plans.map(levels);
    let differ = levels[0].keys().any(|factor| levels[0].get(factor) != levels[1].get(factor));
    let advice = if a.experiment == b.experiment && differ {
        format!(". One run measures all levels in turns: {}", in_turns(a, &levels))
    } else {
        String::new()
    };
    format!("{nothing}: {} has {of_a}, and {} has {of_b}{advice}", a.id, b.id)
}

/// The levels of each factor, in their order.
fn levels(plan: &Plan) -> BTreeMap<&str, Vec<&str>> {
    let mut factors: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (factor, level) in plan.cells.iter().flat_map(|cell| &cell.levels) {
        let levels = factors.entry(factor).or_default();
        if !levels.contains(&level.as_str()) {
            levels.push(level);
        }
    }
    factors
}

/// The command that carries out a run again, with the levels that another run had as well.
fn in_turns(run: &RunEntry, [own, others]: &[BTreeMap<&str, Vec<&str>>; 2]) -> String {
    let merged = own.iter().map(|(factor, levels)| {
        let further = others.get(factor).into_iter().flatten().filter(|level| !levels.contains(level));
        format!("{factor}={}", levels.iter().chain(further).copied().collect::<Vec<_>>().join(","))
    });
    let merged: Vec<String> = merged.collect();
    let words: Vec<String> = again(run).into_iter().take_while(|word| word != "--seed").collect();
    let is_own = |at: usize| words[at] == "--factor" || at > 0 && words[at - 1] == "--factor";
    let kept = (0..words.len()).filter(|at| !is_own(*at)).map(|at| words[at].as_str());
    let factors = merged.iter().flat_map(|factor| ["--factor", factor.as_str()]);
    kept.chain(factors).map(shell_word).collect::<Vec<_>>().join(" ")
}

fn text(
    out: &mut dyn Write,
    (a, b): (&str, &str),
    found: &[RunContrast],
    differences: &[String],
    options: &TextOptions,
) -> io::Result<()> {
    writeln!(out, "B = run {b} against A = run {a}")?;
    for difference in differences {
        writeln!(out, "{difference}")?;
    }
    for contrast in found {
        let verdict = &contrast.comparison.verdict;
        let cell: String =
            contrast.cell.iter().map(|(factor, level)| format!(", {factor} = {level}")).collect();
        writeln!(out, "\n{}{}:", terminal(&contrast.phase), terminal(&cell))?;
        writeln!(out, "  {}", sentence(contrast))?;
        writeln!(out, "  {}", terminal(&verdict.reason))?;
        let why = Explanation {
            causes: &contrast.causes,
            profile: contrast.profile.as_ref(),
            evidence: &contrast.evidence,
        };
        let sides = if verdict.outcome == Outcome::Undecided { PROBABLY_WORSE_RUN } else { WORSE_RUN };
        plimsoll_report::text::why(out, sides, &why, options)?;
    }
    writeln!(out, "\n{COST}")
}

fn sentence(contrast: &RunContrast) -> String {
    let verdict = &contrast.comparison.verdict;
    let metric = verdict.metric.replace('_', " ");
    let trials = format!("{} and {} trials", contrast.a.len(), contrast.b.len());
    let sure = verdict.interval.map_or_else(
        || trials.clone(),
        |interval| format!("{}; {trials}", amount::interval(interval, verdict.confidence)),
    );
    match (verdict.outcome, verdict.estimate) {
        (Outcome::Invalid, _) | (_, None) => format!("{metric} carries no answer ({trials})."),
        (Outcome::Same, Some(ratio)) => format!("{metric}: the same, {} ({sure}).", amount::change(ratio)),
        (outcome, Some(ratio)) => {
            let judgement = match outcome {
                Outcome::Slower => "worse",
                Outcome::Faster => "better",
                _ => "undecided",
            };
            format!("{metric}: {judgement}, {} ({sure}).", amount::change(ratio))
        }
    }
}

fn document((a, b): (&str, &str), found: &[RunContrast], differences: &[String]) -> Value {
    let notes: Vec<&str> = differences.iter().map(String::as_str).chain([COST]).collect();
    let verdicts = found.iter().map(|contrast| {
        let mut fields: Map<String, Value> = json::verdict(&contrast.comparison);
        fields.insert("phase".into(), json!(contrast.phase));
        fields.insert("cell".into(), json!(contrast.cell));
        fields.insert("values".into(), json!({"a": contrast.a, "b": contrast.b}));
        fields.insert("causes".into(), json!(contrast.causes));
        fields.insert("evidence".into(), json!(contrast.evidence));
        fields.insert("profile".into(), json!(contrast.profile));
        Value::Object(fields)
    });
    json!({
        "schema": COMPARE_SCHEMA,
        "a": a,
        "b": b,
        "interleaved": false,
        "verdicts": verdicts.collect::<Vec<_>>(),
        "notes": notes,
    })
}
