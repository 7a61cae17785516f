//! The four questions on a terminal.

use std::io::{self, BufRead, IsTerminal};

use clap::ValueEnum;

use super::subject::Subject;
use super::{Answers, Bound, misfit};
use crate::args::NewKind;
use crate::failure::Failure;
use crate::messages;

/// Asks for all answers.
pub(super) fn answers() -> Result<Answers, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let what = "there is no terminal to ask on: name the subject of the load, such as --from http://127.0.0.1:8080, --from 'COMMAND' or --from docker-compose.yml:SERVICE";
        return Err(Failure::Usage(what.into()));
    }
    let kind = ask(
        "What do you want to know?\n  1  compare   which of two is faster?\n  2  recovery  does it recover from a flood?\n  \
         3  capacity  how much can it carry?\n  4  promise   is it as fast as promised?\nNumber or name [4]: ",
        kind,
    )?;
    let mut subjects = vec![one(
        "What gets the load? The address of a running server (http://127.0.0.1:8080), a command line, or docker-compose.yml:SERVICE: ",
    )?];
    if kind == NewKind::Compare {
        subjects.push(one("And what replaces it? The same kind of thing: ")?);
    }
    if let Some(why) = misfit(kind, &subjects) {
        return Err(Failure::Usage(why));
    }
    where_it_listens(&mut subjects)?;
    let usual = subjects.first().map_or("", |subject| Bound::usual(kind, subject));
    let good = ask(&format!("{} [{usual}]: ", bound_question(kind)), |answer| {
        Bound::parse(kind, if answer.is_empty() { usual } else { answer })
    })?;
    Ok(Answers { kind, subjects, good, assumed: Vec::new() })
}

fn kind(answer: &str) -> Result<NewKind, String> {
    match answer {
        "1" => Ok(NewKind::Compare),
        "2" => Ok(NewKind::Recovery),
        "3" => Ok(NewKind::Capacity),
        "4" | "" => Ok(NewKind::Promise),
        name => NewKind::from_str(name, true).map_err(|_| format!("`{name}` is none of the four")),
    }
}

fn one(question: &str) -> Result<Subject, Failure> {
    ask(question, |answer| Subject::parse(answer, None))
}

/// The third question: the path on a running server, or the port of a command line.
fn where_it_listens(subjects: &mut [Subject]) -> Result<(), Failure> {
    match subjects.first() {
        Some(Subject::Running { path, .. }) if path == "/" => {
            let asked = ask("Which path do clients ask for? [/]: ", |answer| match answer {
                "" => Ok("/".to_owned()),
                path if path.starts_with('/') && !path.contains(char::is_whitespace) => Ok(path.to_owned()),
                other => Err(format!("`{other}` is not a path: expected one that begins with `/`")),
            })?;
            for subject in subjects {
                if let Subject::Running { path, .. } = subject {
                    path.clone_from(&asked);
                }
            }
        }
        Some(Subject::Command { .. }) => {
            let question =
                "On which port does it listen? A number; or nothing, if it is a command that ends: ";
            let port = ask(question, port)?;
            if port.is_some() {
                subjects.iter_mut().for_each(|subject| serve(subject, port));
            }
        }
        Some(Subject::Server { .. }) => {
            let port = ask("Which port stands for {port}? A number; or nothing, for a free one: ", port)?;
            subjects.iter_mut().for_each(|subject| serve(subject, port));
        }
        _ => {}
    }
    Ok(())
}

fn port(answer: &str) -> Result<Option<u16>, String> {
    if answer.is_empty() {
        return Ok(None);
    }
    answer.parse().ok().filter(|&port: &u16| port > 0).map(Some).ok_or(format!("`{answer}` is not a port"))
}

fn serve(subject: &mut Subject, port: Option<u16>) {
    if let Subject::Command { words } | Subject::Server { words, .. } = subject {
        *subject = Subject::Server { words: std::mem::take(words), port };
    }
}

fn bound_question(kind: NewKind) -> &'static str {
    match kind {
        NewKind::Compare => "Which difference is too small to matter?",
        NewKind::Recovery => "How much may be lost for good?",
        NewKind::Capacity => "How long may an answer take?",
        NewKind::Promise => "How long may nine answers in ten take?",
    }
}

/// Asks until an answer can be read.
fn ask<T>(question: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Failure> {
    loop {
        messages::ask(question);
        let mut answer = String::new();
        let length = io::stdin().lock().read_line(&mut answer);
        if length.map_err(|error| Failure::could_not(format!("cannot read the answer: {error}")))? == 0 {
            return Err(Failure::Usage("there was no answer, so nothing is written".into()));
        }
        match read(answer.trim()) {
            Ok(answer) => return Ok(answer),
            Err(why) => messages::say(format_args!("  {why}")),
        }
    }
}
