//! `plimsoll judge`: numbers from anywhere.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use plimsoll_judge::json::{self, BatchSummary, Mark, Test};
use plimsoll_model::verdict::Verdict;

use crate::args::{Decimal, JudgeArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &JudgeArgs) -> Result<Exit, Failure> {
    let test = Test::from_name(&args.test).ok_or_else(|| {
        let names: Vec<&str> = Test::ALL.iter().map(|test| test.name()).collect();
        Failure::Usage(format!("there is no test `{}`: expected one of {}", args.test, names.join(", ")))
    })?;
    let mut input = open(&args.file)?;
    let bad = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", named(&args.file)));
    if args.batch {
        let mut summary = BatchSummary::default();
        output::document(|mut out| {
            summary = json::judge_batch(test, &mut input, &mut out)?;
            Ok(())
        })?;
        return if summary.judged > 0 { Ok(Exit::Holds) } else { Err(bad(&nothing_judged(summary))) };
    }
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(|error| bad(&error))?;
    let mark = args.decimal.map(|decimal| match decimal {
        Decimal::Point => Mark::Point,
        Decimal::Comma => Mark::Comma,
    });
    let answer = json::judge_text(test, text, mark).map_err(|error| bad(&error))?;
    let verdict: Option<Verdict> = serde_json::from_value(answer.clone()).ok();
    match (&verdict, args.format) {
        (Some(verdict), PlainFormat::Text) => {
            output::styled(|out, options| plimsoll_report::text::verdict(out, verdict, options))?;
            output::text(|out| own_fields(out, &answer))
        }
        _ => output::document(|out| plimsoll_report::json::pretty(out, &answer)),
    }?;
    Ok(Exit::of(verdict.as_slice()))
}

/// What only this test has to say, a line each.
pub(crate) fn own_fields(out: &mut dyn io::Write, answer: &serde_json::Value) -> io::Result<()> {
    const COMMON: [&str; 10] =
        ["schema", "id", "claim", "metric", "outcome", "estimate", "interval", "confidence", "n", "reason"];
    for (name, value) in
        answer.as_object().into_iter().flatten().filter(|(name, _)| !COMMON.contains(&name.as_str()))
    {
        match value {
            serde_json::Value::Array(list) if !list.is_empty() => {
                writeln!(out, "{name}:")?;
                for item in list {
                    writeln!(out, "  {item}")?;
                }
            }
            value => writeln!(out, "{name}: {value}")?,
        }
    }
    Ok(())
}

/// Why a batch without a verdict is no success.
fn nothing_judged(summary: BatchSummary) -> String {
    match summary.errors {
        0 => "the input is empty: expected one JSON object per line".into(),
        1 => "the only line cannot be judged; its error is on standard output".into(),
        errors => format!("none of {errors} lines can be judged; their errors are on standard output"),
    }
}

fn named(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

fn open(path: &Path) -> Result<Box<dyn io::BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let cannot = |error: io::Error| Failure::Usage(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().is_ok_and(|kind| kind.is_dir()) {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}
