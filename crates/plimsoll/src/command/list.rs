//! `plimsoll list`.

use serde::Serialize;

use crate::args::{ListArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, shipped};

#[derive(Serialize)]
struct Entry {
    area: String,
    name: String,
    question: String,
}

pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let entries: Vec<Entry> = shipped::all()
        .into_iter()
        .filter_map(|source| {
            let question = plimsoll_model::experiment::parse(&source.text, &[]).ok()?.question;
            Some(Entry { area: source.area?, name: source.name, question })
        })
        .collect();
    match args.format {
        PlainFormat::Json => output::document(|out| plimsoll_report::json::pretty(out, &entries)),
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
