//! `plimsoll judge`: numbers from anywhere.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use plimsoll_judge::json::{self, BatchSummary, Mark, Test, TextOptions};
use plimsoll_model::verdict::Verdict;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_report::html::{self, NumbersPage};
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
    let mut input = BufReader::with_capacity(1 << 20, import::read::open(&args.file)?);
    let bad = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", named(&args.file)));
    if args.batch {
        let mut summary = BatchSummary::default();
        output::document(|mut out| {
            summary = json::judge_batch(test, &mut input, &mut out)?;
            Ok(())
        })?;
        return match failed_lines(summary) {
            None => Ok(Exit::Holds),
            Some(why) => Err(bad(&why)),
        };
    }
    let text = read_bounded(&mut input).map_err(|error| bad(&error))?;
    let mark = args.decimal.map(|decimal| match decimal {
        Decimal::Point => Mark::Point,
        Decimal::Comma => Mark::Comma,
    });
    // A text without the test's columns may have its table in the prose of a mail.
    let is_table = test != Test::Factors || json::numbers_of_text(test, &text, mark).is_ok();
    let text = if is_table { text } else { import::cross_table(text, args.decimal) };
    // The text of millions of numbers is kept where they are drawn, too, and nowhere else.
    let drawn = matches!(args.format, PageFormat::Html | PageFormat::Mail).then(|| text.clone());
    let options = TextOptions { mark, paired: args.paired };
    let answer = json::judge_text(test, text, options).map_err(|error| bad(&error))?;
    let verdict: Option<Verdict> = serde_json::from_value(answer.clone()).ok();
    match (&verdict, drawn, args.format) {
        (Some(verdict), _, PageFormat::Text) => {
            output::styled(|out, options| text::verdict(out, verdict, options))?;
            output::text(|out| own_fields::text(out, &answer))
        }
        (Some(verdict), Some(text), _) => {
            let numbers = json::numbers_of_text(test, &text, mark).map_err(|error| bad(&error))?;
            let name = named(&args.file);
            let page = NumbersPage {
                title: &name,
                asked: &format!("Numbers, judged: {}", test.name()),
                verdict: Some(verdict),
                numbers: &[(name.clone(), numbers)],
                facts: &own_fields::facts(&answer),
                tables: &[],
                again: &format!("plimsoll judge {} {}", test.name(), args.file.display()),
            };
            match args.format {
                PageFormat::Mail => output::text(|out| text::judged_by_mail(out, &page)),
                _ => output::document(|out| html::judged(out, &page, Bundle::Inside)),
            }
        }
        _ => output::json(&answer),
    }?;
    Ok(Exit::of(verdict.as_slice()))
}

/// Why a batch is no success; absent where every line got a verdict.
fn failed_lines(BatchSummary { judged, errors }: BatchSummary) -> Option<String> {
    match (judged, errors) {
        (0, 0) => Some("the input is empty: expected one JSON object per line".into()),
        (_, 0) => None,
        (0, 1) => Some("the only line cannot be judged; its error is on standard output".into()),
        (judged, errors) => {
            let lines = judged + errors;
            Some(format!("{errors} of {lines} lines cannot be judged; their errors are on standard output"))
        }
    }
}

/// Largest input in bytes. Ten million numbers fit.
const LARGEST: u64 = 256 << 20;
/// Longest line in bytes.
const LONGEST: usize = 1 << 20;

/// Reads the whole input, within limits.
fn read_bounded(input: &mut dyn BufRead) -> io::Result<String> {
    let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut bytes = Vec::new();
    for number in 1.. {
        let start = bytes.len();
        input.take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes)?;
        if bytes.len() - start > LONGEST {
            return Err(wrong(format!("line {number} is longer than {LONGEST} bytes (1 MiB)")));
        }
        if bytes.len() as u64 > LARGEST {
            return Err(wrong(format!("the input is larger than {LARGEST} bytes (256 MiB)")));
        }
        if bytes.len() == start {
            break;
        }
    }
    String::from_utf8(bytes).map_err(|error| wrong(format!("expected text in UTF-8: {error}")))
}

fn named(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}
