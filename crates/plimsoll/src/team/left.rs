//! Runs that a server lacks and this machine's own file has: the controller was killed, or the server was away for too long.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_model::report::RunStatus;
use plimsoll_model::shell::shell_word;
use plimsoll_model::units::counted;
use plimsoll_report::escape::terminal;
use plimsoll_store::{Location, Store, StoreError};

use crate::failure::Failure;
use crate::state;

/// Parts of the file that a server lacks.
struct Undelivered {
    file: String,
    server: String,
    /// The runs that the server knows.
    runs: Vec<LeftRun>,
    /// Number of runs that it does not know: the server was away from their start, or only the file was to hold them.
    unknown: usize,
}

/// A run that the server lacks or has in part.
struct LeftRun {
    id: String,
    experiment: String,
    is_complete: bool,
    /// How many trials ended.
    trials: usize,
    /// Number of trials that the server lacks.
    lacking: usize,
}

/// Runs of this machine's own file that the store at `place` lacks, in words; `None` if that is a file. Runs in progress are left out.
pub(crate) fn left(place: &Location, named: Option<&Store>) -> Result<Option<String>, Failure> {
    if matches!(place, Location::File(_)) {
        return Ok(None);
    }
    let own = Store::open_to_read(&state::own_file()?)?;
    let text = match named {
        Some(named) => compared(&own, named)?.to_string(),
        None => format!(
            "unknown without the server; {} has {}",
            own.place(),
            counted(own.runs(None)?.len(), "run")
        ),
    };
    Ok(Some(text))
}

fn compared(own: &Store, named: &Store) -> Result<Undelivered, StoreError> {
    let there: BTreeMap<String, RunStatus> =
        named.runs(None)?.into_iter().map(|entry| (entry.id, entry.status)).collect();
    let (file, server) = (own.place().to_string(), named.place().to_string());
    let mut left = Undelivered { file, server, runs: Vec::new(), unknown: 0 };
    for entry in own.runs(None)? {
        let Some(status) = there.get(&entry.id) else {
            left.unknown += 1;
            continue;
        };
        let (trials, lacking) = lacking(own, named, &entry.id)?;
        let is_complete = entry.status == RunStatus::Complete;
        let is_there = lacking == 0 && (*status == entry.status || *status == RunStatus::Complete);
        if !is_there && !own.is_going_on(&entry.id) && !named.is_going_on(&entry.id) {
            let experiment = terminal(&entry.experiment).into_owned();
            left.runs.push(LeftRun { id: entry.id, experiment, is_complete, trials, lacking });
        }
    }
    Ok(left)
}

fn lacking(own: &Store, named: &Store, run: &str) -> Result<(usize, usize), StoreError> {
    let (here, there) = (own.ended(run)?, named.ended(run)?);
    Ok((here.len(), here.iter().filter(|number| !there.contains(number)).count()))
}

/// The command that copies a run of a file to a server.
pub(super) fn push(run: &str, from: &str, to: &str) -> String {
    format!("plimsoll push {run} --store {} --to {}", shell_word(from), shell_word(to))
}

impl fmt::Display for Undelivered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runs.len() {
            0 => write!(out, "none")?,
            some => write!(out, "{some}, in {}", self.file)?,
        }
        for run in &self.runs {
            let LeftRun { id, experiment, is_complete, trials, lacking } = run;
            write!(out, "\n  {id} of {experiment}: {} has ", self.server)?;
            match lacking {
                0 => write!(out, "all of its {trials} trials, but not that it is complete")?,
                some => write!(out, "not got {some} of its {trials} trials")?,
            }
            if !is_complete {
                write!(out, "\n    to go on with it: plimsoll run --resume {id}")?;
            }
            write!(out, "\n    to hand it on: {}", push(id, &self.file, &self.server))?;
        }
        match self.unknown {
            0 => Ok(()),
            some => {
                let command = push("RUN", &self.file, &self.server);
                write!(out, "\n  {} of {} not known there: {command}", counted(some, "run"), self.file)
            }
        }
    }
}
