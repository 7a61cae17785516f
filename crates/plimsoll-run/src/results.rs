//! Measurements of the tasks of a run on a queue, in a folder that all machines see.
//!
//! ```text
//! FOLDER/block-3/n1/trial-7.json     a trial that ended on n1
//! FOLDER/block-3/n1/end.json         how the task ended on n1; written last
//! ```
//!
//! A file is there whole or not at all. A block belongs to one machine, and is never merged with another machine's part. A task that restarts on
//! the same machine goes on.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_model::note::Note;
use plimsoll_model::observation::{Fault, TrialRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const END: &str = "end.json";

/// The folder.
#[derive(Clone, Debug)]
pub struct Results(PathBuf);

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// Reason why the run cannot go on, with advice for the user.
    pub error: Option<(String, Option<String>)>,
    /// The fault that spoilt consecutive trials, so that the task gave up.
    pub fault: Option<Fault>,
    /// Notes for readers of the figures.
    pub notes: Vec<Note>,
    /// Description of the machine, for the store.
    pub measured_on: serde_json::Value,
}

/// A finished block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its machine.
    pub machine: String,
    /// Its trials, in order.
    pub trials: Vec<TrialRecord>,
    /// How its task ended.
    pub end: TaskEnd,
}

impl Results {
    /// Results in this folder.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Keeps a trial that has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_trial(&self, block: u32, machine: &str, trial: &TrialRecord) -> io::Result<()> {
        let folder = self.of_block(block).join(machine);
        fs::create_dir_all(&folder)?;
        put(&folder.join(format!("trial-{}.json", trial.number)), trial)
    }

    /// The trials that have ended on a machine, in order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn trials(&self, block: u32, machine: &str) -> io::Result<Vec<TrialRecord>> {
        let folder = self.of_block(block).join(machine);
        let trials = names_of_trials(&folder)?.into_iter().map(|name| get(&folder.join(name)));
        let mut trials: Vec<TrialRecord> = trials.collect::<io::Result<_>>()?;
        trials.sort_by_key(|trial| trial.number);
        Ok(trials)
    }

    /// Keeps how a task ended, when all of its trials are kept.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_end(&self, block: u32, machine: &str, end: &TaskEnd) -> io::Result<()> {
        let folder = self.of_block(block).join(machine);
        fs::create_dir_all(&folder)?;
        put(&folder.join(END), end)
    }

    /// A block whose task has ended; `None` before that. Of several machines the first counts: one of them was only thought to be lost.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ended(&self, block: u32) -> io::Result<Option<Block>> {
        let folder = self.of_block(block);
        let mut machines = names(&folder)?;
        machines.sort();
        let Some(machine) = machines.into_iter().find(|machine| folder.join(machine).join(END).exists())
        else {
            return Ok(None);
        };
        let end = get(&folder.join(&machine).join(END))?;
        Ok(Some(Block { trials: self.trials(block, &machine)?, machine, end }))
    }

    /// Number of finished trials of an unfinished block, on the machine that is furthest.
    pub fn begun(&self, block: u32) -> usize {
        let folder = self.of_block(block);
        let of = |machine: &String| names_of_trials(&folder.join(machine)).map_or(0, |names| names.len());
        names(&folder).unwrap_or_default().iter().map(of).max().unwrap_or(0)
    }

    /// Removes the end of a task before it runs again.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget_end(&self, block: u32, machine: &str) -> io::Result<()> {
        match fs::remove_file(self.of_block(block).join(machine).join(END)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    fn of_block(&self, block: u32) -> PathBuf {
        self.0.join(format!("block-{block}"))
    }
}

/// Names in a folder; empty without the folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let named =
                |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
            entries?.map(named).collect()
        }
    }
}

/// Names of the trials' files.
fn names_of_trials(folder: &Path) -> io::Result<Vec<String>> {
    let is_of_trial = |name: &String| name.starts_with("trial-") && name.ends_with(".json");
    Ok(names(folder)?.into_iter().filter(is_of_trial).collect())
}

fn put(path: &Path, what: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    write_whole(path, |begun| fs::write(begun, &text))
}

/// Replaces a file with the output of `write`: it is there whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_whole(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let begun = path.with_extension("part");
    write(&begun)?;
    // Other machines may see the name before the contents.
    File::open(&begun)?.sync_all()?;
    fs::rename(&begun, path)
}

fn get<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(number: u32) -> TrialRecord {
        TrialRecord { number, block: 1, ..TrialRecord::default() }
    }

    #[test]
    fn a_block_is_of_one_machine_and_over_when_its_task_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::at(folder.path());
        assert_eq!(results.ended(1).unwrap(), None);
        results.put_trial(1, "n2", &trial(1)).unwrap();
        assert_eq!((results.ended(1).unwrap(), results.begun(1)), (None, 1));
        for number in [2, 1] {
            results.put_trial(1, "n1", &trial(number)).unwrap();
        }
        let end =
            TaskEnd { error: None, fault: None, notes: Vec::new(), measured_on: serde_json::Value::Null };
        results.put_end(1, "n1", &end).unwrap();
        let expected = Block { machine: "n1".into(), trials: vec![trial(1), trial(2)], end };
        assert_eq!(results.ended(1).unwrap(), Some(expected));
        results.forget_end(1, "n1").unwrap();
        results.forget_end(1, "n3").unwrap();
        assert_eq!(results.ended(1).unwrap(), None);
        assert_eq!(results.trials(1, "n1").unwrap().len(), 2, "what ended is kept");
    }
}
