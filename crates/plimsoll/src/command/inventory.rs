//! `plimsoll inventory`: compares this machine with an expected description.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plimsoll_inventory::saved_outputs::{self, SavedOutputs, Source};
use plimsoll_inventory::{Deviation, Expectation, Inventory, compare, compare_saved};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{InventoryArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{bounded, messages, output};

pub(crate) fn run(args: &InventoryArgs) -> Result<Exit, Failure> {
    let expected = args.expect.as_deref().map(expectation).transpose()?;
    let (found, sources, deviations) = if args.from.is_empty() {
        let inventory = Inventory::read(Path::new("/"));
        let deviations = expected.map(|expected| compare(&expected, &inventory));
        (value(&inventory)?, Vec::new(), deviations)
    } else {
        let saved = saved(&args.from)?;
        for conflict in &saved.conflicts {
            messages::note(conflict);
        }
        let deviations = expected.map(|expected| compare_saved(&expected, &saved));
        (Value::Object(saved.found), saved.sources, deviations)
    };
    match args.format {
        PlainFormat::Json => {
            let mut found = found;
            if !sources.is_empty() {
                found["sources"] = value(&sources)?;
            }
            match &deviations {
                Some(deviations) => output::json(&json!({ "inventory": &found, "deviations": deviations })),
                None => output::json(&found),
            }
        }
        PlainFormat::Text => output::text(|out| {
            match &deviations {
                Some(deviations) => deviating(out, deviations)?,
                None => section(out, &found, 0)?,
            }
            for Source { file, program, taken, left } in &sources {
                writeln!(out, "{file}: {program}: {taken} lines were used, {left} were not")?;
            }
            Ok(())
        }),
    }?;
    Ok(if deviations.is_some_and(|deviations| !deviations.is_empty()) { Exit::Fails } else { Exit::Holds })
}

/// Facts about a machine from saved files.
fn saved(paths: &[PathBuf]) -> Result<SavedOutputs, Failure> {
    let texts = paths.iter().map(|path| {
        let bytes = bounded::bytes(path, bounded::FILE)
            .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
        Ok((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
    });
    let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
    saved_outputs::read(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::could_not(error.to_string()))
}

fn expectation(path: &Path) -> Result<Expectation, Failure> {
    let text = bounded::text(path, bounded::FILE)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
    Expectation::parse(&text)
        .map_err(|error| Failure::File { name: path.display().to_string(), error: Box::new(error) })
}

fn deviating(out: &mut dyn Write, deviations: &[Deviation]) -> io::Result<()> {
    if deviations.is_empty() {
        return writeln!(out, "everything is as expected");
    }
    writeln!(out, "{} not as expected", deviations.len())?;
    for Deviation { path, expected, found } in deviations {
        writeln!(out, "  {path}: expected {expected}, found {}", found.as_deref().unwrap_or("nothing"))?;
    }
    Ok(())
}

/// An object as indented lines, a list of plain values on one line.
fn section(out: &mut dyn Write, value: &Value, depth: usize) -> io::Result<()> {
    for (name, value) in value.as_object().into_iter().flatten() {
        let indent = "  ".repeat(depth);
        match value {
            Value::Object(_) => {
                writeln!(out, "{indent}{name}")?;
                section(out, value, depth + 1)?;
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                writeln!(out, "{indent}{name}")?;
                for item in items {
                    let fields: Vec<String> =
                        item.as_object().into_iter().flatten().map(|(_, value)| plain(value)).collect();
                    writeln!(out, "{indent}  {}", fields.join(": "))?;
                }
            }
            value => writeln!(out, "{indent}{name}: {}", plain(value))?,
        }
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
