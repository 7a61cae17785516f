//! Files for the tasks of a run on a queue, in a folder that their machines see as well: the run, and this very program.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_host::private_folder;
use plimsoll_model::report::RunStatus;
use plimsoll_run::{Limits, write_whole};
use plimsoll_store::RunEntry;
use serde::{Deserialize, Serialize};

/// The folder in it with what tasks said.
pub(crate) const MESSAGES: &str = "messages";
const RUN: &str = "run.json";

/// A run, as its tasks have to know it.
#[derive(Serialize, Deserialize)]
pub(crate) struct TaskRun {
    #[serde(flatten)]
    entry: RunEntry,
    max_trials: u32,
    aa_test: u32,
}

impl TaskRun {
    pub(crate) fn new(entry: &RunEntry, limits: &Limits) -> Self {
        let (elapsed, status, notes) = (Duration::ZERO, RunStatus::Interrupted, Vec::new());
        let entry = RunEntry { elapsed, status, notes, ..entry.clone() };
        Self { entry, max_trials: limits.max_trials, aa_test: limits.aa_test }
    }

    /// Puts it into a folder, with the program; the folder is for this user alone, since tasks execute what is in it. Where the program is there.
    pub(crate) fn put(&self, folder: &Path) -> io::Result<PathBuf> {
        if let Some(parent) = folder.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        private_folder(folder, true)?;
        fs::create_dir_all(folder.join(MESSAGES))?;
        let text = serde_json::to_vec(self)?;
        write_whole(&folder.join(RUN), |path| fs::write(path, &text))?;
        let this = fs::read("/proc/self/exe")?;
        // Tasks that another controller has left may still need the one that is there.
        for number in 1..=u32::MAX {
            let path = folder.join(format!("plimsoll-{number}"));
            match fs::read(&path) {
                Ok(there) if there == this => return Ok(path),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    write_whole(&path, |path| {
                        fs::write(path, &this)?;
                        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                    })?;
                    return Ok(path);
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn get(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(folder.join(RUN))?)?)
    }

    /// The run, of which a task knows nothing but what it is.
    pub(crate) fn entry(self) -> (RunEntry, Limits) {
        let limits = Limits {
            min_trials: self.max_trials,
            max_trials: self.max_trials,
            budget: None,
            aa_test: self.aa_test,
        };
        (self.entry, limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_out_is_what_the_task_gets() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("queue/run");
        let entry = RunEntry {
            id: "a".into(),
            experiment: "web".into(),
            source: "question = \"?\"".into(),
            settings: serde_json::json!({ "set": [] }),
            seed: u64::MAX,
            started_unix_s: 7,
            elapsed: Duration::ZERO,
            status: RunStatus::Interrupted,
            notes: Vec::new(),
        };
        let limits = Limits { min_trials: 2, max_trials: 5, budget: None, aa_test: 4 };
        let program = TaskRun::new(&entry, &limits).put(&place).unwrap();
        let (got, theirs) = TaskRun::get(&place).unwrap().entry();
        assert_eq!(got, entry);
        assert_eq!((theirs.max_trials, theirs.aa_test), (5, 4));
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        let same = || fs::read(&program).unwrap() == fs::read("/proc/self/exe").unwrap();
        assert!(same(), "it is this very program");
        assert_eq!(TaskRun::new(&entry, &limits).put(&place).unwrap(), program, "a second time, too");
        let open = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        open(0o777);
        assert!(TaskRun::new(&entry, &limits).put(&place).is_err(), "others could put another program there");
        open(0o700);
        fs::write(&program, "of another version, which a task may still need").unwrap();
        assert_ne!(TaskRun::new(&entry, &limits).put(&place).unwrap(), program);
        assert!(!same(), "it stays as it is");
    }
}
