//! `plimsoll new`: writes a commented experiment from four answers.

mod ask;
mod compose;
mod recorded;
mod subject;
mod write;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use plimsoll_model::experiment;
use plimsoll_model::shell::shell_word;
use plimsoll_model::units::{Share, Span};

use crate::args::{NewArgs, NewKind};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{messages, output, recording};
use subject::Subject;

/// The four answers that an experiment is written from.
#[derive(Clone, Debug, PartialEq)]
struct Answers {
    kind: NewKind,
    /// Targets of the load: two with [`NewKind::Compare`], else one.
    subjects: Vec<Subject>,
    good: Bound,
    /// Assumed answers, as comments of the file.
    assumed: Vec<String>,
}

/// Bound of a good result, in the words of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound(String);

impl Bound {
    /// A share for questions about a ratio, a time for the others.
    fn parse(kind: NewKind, text: &str) -> Result<Self, String> {
        let text = text.trim();
        match kind {
            NewKind::Compare | NewKind::Recovery => match Share::from_str(text) {
                Ok(share) if share.0 > 0.0 && share.0 < 1.0 => Ok(Self(share.to_string())),
                _ => {
                    Err(format!("`{text}` is not a bound: expected a share between 0 and 100 %, such as 5%"))
                }
            },
            NewKind::Capacity | NewKind::Promise => match Span::from_str(text) {
                Ok(span) if !span.0.is_zero() => Ok(Self(span.to_string())),
                _ => Err(format!("`{text}` is not a bound: expected a time, such as 50ms or 2s")),
            },
        }
    }

    /// The default bound.
    fn usual(kind: NewKind, subject: &Subject) -> &'static str {
        match (kind, subject) {
            (NewKind::Compare, _) => "5%",
            (NewKind::Recovery, _) => "20%",
            (NewKind::Promise, Subject::Command { .. }) => "1s",
            (NewKind::Capacity | NewKind::Promise, _) => "50ms",
        }
    }
}

pub(crate) fn run(args: &NewArgs) -> Result<Exit, Failure> {
    refuse_existing(&args.file)?;
    let New { text, question, allow } = written(args)?;
    experiment::parse(&text, &[])
        .map_err(|error| Failure::File { name: "the new experiment".into(), error: Box::new(error) })?;
    if args.file == Path::new("-") {
        output::document(|out| out.write_all(text.as_bytes()))?;
        return Ok(Exit::Holds);
    }
    save(&args.file, &text)?;
    let file = args.file.display().to_string();
    let file = shell_word(&file);
    let allow = if allow { " --allow privileged" } else { "" };
    output::text(|out| {
        writeln!(out, "{file} asks: {question}")?;
        writeln!(out, "Its comments name each value to change.")?;
        writeln!(out, "Next: plimsoll check {file} && plimsoll run {file}{allow}")
    })?;
    Ok(Exit::Holds)
}

/// A new experiment.
struct New {
    text: String,
    question: String,
    /// Whether `run` needs consent to programs with the caller's rights.
    allow: bool,
}

fn written(args: &NewArgs) -> Result<New, Failure> {
    if let [from] = args.from.as_slice()
        && recording::is_one(Path::new(from))
    {
        return from_recording(args, Path::new(from));
    }
    let answers = if args.from.is_empty() { ask::answers()? } else { given(args)? };
    let allow = answers.subjects.iter().any(Subject::is_running);
    Ok(New { text: write::experiment(&answers), question: write::question(&answers), allow })
}

fn from_recording(args: &NewArgs, from: &Path) -> Result<New, Failure> {
    if args.kind.is_some_and(|kind| kind != NewKind::Promise) || args.port.is_some() {
        let what = "a recording becomes an experiment of the kind promise, without `--port`";
        return Err(Failure::Usage(what.to_owned()));
    }
    let good = args.good.as_deref().map(|good| Bound::parse(NewKind::Promise, good)).transpose();
    let good = good.map_err(Failure::Usage)?;
    let text = recorded::experiment(from, good.as_ref().map(|good| good.0.as_str()))?;
    let allow = text.contains("\nprivileged = true");
    Ok(New { text, question: recorded::QUESTION.to_owned(), allow })
}

/// The answers of the command line.
fn given(args: &NewArgs) -> Result<Answers, Failure> {
    let kind = args.kind.unwrap_or_default();
    let mut assumed = Vec::new();
    if args.kind.is_none() {
        assumed.push(
            "the question: `--kind` was not given. Others are compare, recovery and capacity.".to_owned(),
        );
    }
    let subjects = args.from.iter().map(|from| Subject::parse(from, args.port));
    let subjects = subjects.collect::<Result<Vec<_>, _>>().map_err(Failure::Usage)?;
    if let Some(why) = misfit(kind, &subjects) {
        return Err(Failure::Usage(why));
    }
    let good = match (&args.good, subjects.first()) {
        (None, Some(subject)) => {
            let usual = Bound::usual(kind, subject);
            assumed.push(format!("the bound of a good result: `--good` was not given, so it is {usual}."));
            usual
        }
        (good, _) => good.as_deref().unwrap_or_default(),
    };
    let good = Bound::parse(kind, good).map_err(Failure::Usage)?;
    Ok(Answers { kind, subjects, good, assumed })
}

/// Why these subjects do not answer the question.
fn misfit(kind: NewKind, subjects: &[Subject]) -> Option<String> {
    match (kind, subjects) {
        (NewKind::Compare, [a, b]) => a.differs_too_much(b),
        (NewKind::Compare, _) => {
            Some("a comparison needs `--from` twice: the present subject and its replacement".into())
        }
        (_, [_]) => None,
        _ => Some("this question is about one subject: give `--from` once, or `--kind compare`".into()),
    }
}

fn refuse_existing(file: &Path) -> Result<(), Failure> {
    if file != Path::new("-") && file.symlink_metadata().is_ok() {
        return Err(Failure::Usage(format!("{} already exists: name another file", file.display())));
    }
    Ok(())
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    let written: io::Result<()> = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut open| open.write_all(text.as_bytes()));
    written.map_err(|error| Failure::io("write", file, &error))?;
    messages::note(format_args!("wrote {}", file.display()));
    Ok(())
}
