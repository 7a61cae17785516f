//! `plimsoll judge`: numbers from anywhere.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use plimsoll_judge::json::{self, BatchSummary, Mark, Test};
use plimsoll_model::verdict::Verdict;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_report::html::{self, Told};
use plimsoll_report::text;

use crate::args::{Decimal, JudgeArgs, PageFormat};
use crate::command::import;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, own_fields};

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
    // What is no table of the columns that the test takes may be one of a mail, in its prose.
    let is_table = test != Test::Factors || json::numbers_of_text(test, &text, mark).is_ok();
    let text = if is_table { text } else { import::cross_table(text, args.decimal) };
    // The text of millions of numbers is kept where they are drawn, too, and nowhere else.
    let drawn = matches!(args.format, PageFormat::Html | PageFormat::Mail).then(|| text.clone());
    let answer = json::judge_text(test, text, mark).map_err(|error| bad(&error))?;
    let verdict: Option<Verdict> = serde_json::from_value(answer.clone()).ok();
    match (&verdict, drawn, args.format) {
        (Some(verdict), _, PageFormat::Text) => {
            output::styled(|out, options| text::verdict(out, verdict, options))?;
            output::text(|out| own_fields::text(out, &answer))
        }
        (Some(verdict), Some(text), _) => {
            let numbers = json::numbers_of_text(test, &text, mark).map_err(|error| bad(&error))?;
            let name = named(&args.file);
            let told = Told {
                title: &name,
                asked: &format!("Numbers, judged: {}", test.name()),
                verdict: Some(verdict),
                numbers: &[(name.clone(), numbers)],
                facts: &own_fields::facts(&answer),
                tables: &[],
                again: &format!("plimsoll judge {} {}", test.name(), args.file.display()),
            };
            match args.format {
                PageFormat::Mail => output::text(|out| text::judged_by_mail(out, &told)),
                _ => output::document(|out| html::judged(out, &told, Bundle::Inside)),
            }
        }
        _ => output::document(|out| plimsoll_report::json::pretty(out, &answer)),
    }?;
    Ok(Exit::of(verdict.as_slice()))
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
