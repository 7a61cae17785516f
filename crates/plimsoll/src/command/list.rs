//! `plimsoll list`.

use serde::Serialize;

use crate::args::{ListArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::shipped::{self, Source};

#[derive(Serialize)]
struct Entry {
    area: String,
    name: String,
    question: String,
}

fn entries() -> Vec<Entry> {
    let entry = |source: Source| {
        Some(Entry { area: source.area?, name: source.name, question: question(&source.text)? })
    };
    shipped::all().into_iter().filter_map(entry).collect()
}

/// The question of an experiment. It stands before the first table, and the rest of the file takes many times longer to parse.
fn question(text: &str) -> Option<String> {
    let head: String = text.split_inclusive('\n').take_while(|line| !line.starts_with('[')).collect();
    match toml::from_str::<toml::Table>(&head).ok()?.remove("question")? {
        toml::Value::String(question) => Some(question),
        _ => None,
    }
}

pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let entries = entries();
    match args.format {
        PlainFormat::Json => output::json(&entries),
        PlainFormat::Text => output::text(|out| {
            let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
            let mut area = "";
            for entry in &entries {
                if entry.area != area {
                    area = &entry.area;
                    writeln!(out, "{area}")?;
                }
                writeln!(out, "  {:width$}  {}", entry.name, entry.question)?;
            }
            Ok(())
        }),
    }?;
    Ok(Exit::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_experiment_is_listed_with_the_question_of_its_file() {
        let questions = shipped::all().into_iter().map(|source| {
            plimsoll_model::experiment::parse(&source.text, &[]).expect("it is valid").question
        });
        let listed: Vec<String> = entries().into_iter().map(|entry| entry.question).collect();
        assert_eq!(listed, questions.collect::<Vec<String>>());
    }
}
