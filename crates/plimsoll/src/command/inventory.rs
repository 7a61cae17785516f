//! `plimsoll inventory`: what this machine is, against what it should be.

use std::io::{self, Write};
use std::path::Path;

use plimsoll_probe::inventory::{Deviation, Expectation, Inventory, compare};
use serde_json::{Value, json};

use crate::args::{InventoryArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &InventoryArgs) -> Result<Exit, Failure> {
    let inventory = Inventory::read(Path::new("/"));
    let deviations = match &args.expect {
        Some(path) => Some(compare(&expectation(path)?, &inventory)),
        None => None,
    };
    match args.format {
        PlainFormat::Json => output::document(|out| match &deviations {
            Some(deviations) => {
                let answer = json!({ "inventory": &inventory, "deviations": deviations });
                plimsoll_report::json::pretty(out, &answer)
            }
            None => plimsoll_report::json::pretty(out, &inventory),
        }),
        PlainFormat::Text => output::text(|out| match &deviations {
            Some(deviations) => deviating(out, deviations),
            None => {
                let found = serde_json::to_value(&inventory).map_err(io::Error::from)?;
                section(out, &found, 0)
            }
        }),
    }?;
    Ok(if deviations.is_some_and(|deviations| !deviations.is_empty()) { Exit::Fails } else { Exit::Holds })
}

fn expectation(path: &Path) -> Result<Expectation, Failure> {
    let text = std::fs::read_to_string(path)
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
