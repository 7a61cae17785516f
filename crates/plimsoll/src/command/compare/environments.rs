//! Environments of two stored runs, and their differences: the first thing to know of a difference between their figures.

use std::collections::BTreeSet;

use plimsoll_inventory::{Deviation, Expectation};
use plimsoll_report::escape::terminal;
use plimsoll_store::{RunEntry, Store};

use crate::failure::Failure;
use crate::{command, environment, state};

/// The most lines of a file that are listed as missing from the other.
const LINES: usize = 4;

/// Differences between two runs as sentences; one sentence says so where there are none.
pub(crate) fn differences(store: &Store, a: &str, b: &str) -> Result<Vec<String>, Failure> {
    let (a, b) = (state::find(store, a)?, state::find(store, b)?);
    let mut sentences = of_files(&a, &b);
    let [of_a, of_b] = [&a, &b].map(|run| environment::versions(store, run));
    sentences.extend(of_programs(&of_a?, &of_b?));
    sentences.extend(machines(store, &a.id, &b.id)?);
    Ok(sentences)
}

/// Differences between the experiment files and settings.
fn of_files(a: &RunEntry, b: &RunEntry) -> Vec<String> {
    let mut sentences = Vec::new();
    if a.experiment != b.experiment {
        sentences.push(format!(
            "The experiments differ: {} and {}.",
            terminal(&a.experiment),
            terminal(&b.experiment)
        ));
    } else if a.source != b.source {
        let lines = |run: &RunEntry| {
            let lines = run.source.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(ToOwned::to_owned).collect::<BTreeSet<String>>()
        };
        let (of_a, of_b) = (lines(a), lines(b));
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            let all: Vec<String> =
                one.difference(other).map(|line| format!("`{}`", terminal(line))).collect();
            match all.len() {
                0 => "nothing of its own".to_owned(),
                n if n > LINES => format!("{} and {} more lines", all[..LINES].join(", "), n - LINES),
                _ => all.join(", "),
            }
        };
        sentences.push(format!(
            "The experiment's file differed: A had {}, and B had {}.",
            only(&of_a, &of_b),
            only(&of_b, &of_a)
        ));
    }
    let settings = [a, b].map(|run| {
        let words = command::settings_of_run(run);
        // Two runs that are to differ in nothing have different seeds.
        let end = words.iter().position(|word| word == "--seed").unwrap_or(words.len());
        if end == 0 { "none".to_owned() } else { terminal(&words[..end].join(" ")).into_owned() }
    });
    if settings[0] != settings[1] {
        sentences.push(format!("The settings differed: {} in A, and {} in B.", settings[0], settings[1]));
    }
    sentences
}

/// Programs whose versions differed, by their names.
fn of_programs(a: &[(String, String)], b: &[(String, String)]) -> Vec<String> {
    let both = a.iter().filter_map(|(name, of_a)| {
        let (_, of_b) = b.iter().find(|(other, _)| other == name)?;
        (of_a != of_b).then(|| {
            format!("{} differed: {} in A, and {} in B.", terminal(name), terminal(of_a), terminal(of_b))
        })
    });
    both.collect()
}

/// Differences between the hosts of the two runs.
fn machines(store: &Store, a: &str, b: &str) -> Result<Vec<String>, Failure> {
    let (of_a, of_b) = (store.inventories(a)?, store.inventories(b)?);
    if of_a.is_empty() || of_b.is_empty() {
        return Ok(vec![
            "What the machines were is not stored with both runs, so it cannot be compared.".into(),
        ]);
    }
    let mut sentences: Vec<String> = Vec::new();
    for (host, found) in &of_b {
        let Some(expected) = of_a.get(host) else { continue };
        let read =
            Expectation::parse(&expected.to_string()).ok().zip(serde_json::from_value(found.clone()).ok());
        let Some((expected, found)) = read else {
            sentences.push(format!("An inventory of `{}` cannot be read.", terminal(host)));
            continue;
        };
        for Deviation { path, expected, found } in plimsoll_inventory::compare(&expected, &found) {
            let found = found.as_deref().unwrap_or("nothing");
            // Hosts of one machine differ in the same things.
            let line = format!("The machine differed: {path} was {expected} in A, and {found} in B.");
            if !sentences.contains(&line) {
                sentences.push(line);
            }
        }
    }
    if sentences.is_empty() {
        sentences.push("The machine was the same in both runs, as far as its inventory shows.".into());
    }
    Ok(sentences)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::report::RunStatus;

    use super::*;

    fn run(source: &str, set: &[&str]) -> RunEntry {
        RunEntry {
            id: "run".into(),
            experiment: "it".into(),
            source: source.into(),
            settings: serde_json::to_value(crate::args::PlanArgs {
                origin: "it".into(),
                set: set.iter().map(|set| (*set).to_owned()).collect(),
                ..crate::args::PlanArgs::default()
            })
            .unwrap(),
            seed: source.len() as u64,
            started_unix_s: 0,
            elapsed: Duration::ZERO,
            status: RunStatus::Complete,
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_differs_in_file_settings_and_programs_is_reported_and_nothing_else() {
        assert_eq!(of_files(&run("x = 1", &[]), &run("x = 1", &[])), Vec::<String>::new());
        let a = run("x = 1\n  y = 2\n", &["loads.some.http.concurrency=3"]);
        let b = run("x = 1\ny = 3", &[]);
        assert_eq!(
            of_files(&a, &b),
            [
                "The experiment's file differed: A had `y = 2`, and B had `y = 3`.",
                "The settings differed: --set loads.some.http.concurrency=3 in A, and none in B.",
            ]
        );
        let of =
            |version: &str| [("Plimsoll", version), ("x", "1")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(of_programs(&of("1"), &of("1")), Vec::<String>::new());
        assert_eq!(of_programs(&of("1"), &of("2")), ["Plimsoll differed: 1 in A, and 2 in B."]);
    }
}
