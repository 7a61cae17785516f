//! Carries a case out as a user would: `plimsoll run` as a process of its own, whose JSON is read.

use std::path::PathBuf;
use std::process::Output;

use plimsoll_host::Guard;
use plimsoll_model::report::RunReport;
use plimsoll_report::escape::terminal;
use tempfile::TempDir;

use super::cases::{Case, Source};
use super::score::{Attempt, Conclusions, mark};
use crate::failure::Failure;
use crate::measure::{Interrupts, MeasureError, Runner};

/// No further trial of a case begins after this time.
const BUDGET: &str = "75s";
/// The exit statuses of `plimsoll run` that come with verdicts: the claims hold, one fails, or it is open.
const HAS_VERDICTS: [i32; 3] = [0, 1, 4];

/// Where cases are carried out, one after the other.
pub(super) struct Bench {
    runner: Runner,
    /// The experiments of the self-test's own, and what runs leave where no store was named. It goes when this is dropped.
    folder: TempDir,
    store: PathBuf,
}

impl Bench {
    pub(super) fn new(store: Option<PathBuf>, interrupts: Interrupts) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("plimsoll-selftest-").tempdir();
        let folder =
            folder.map_err(|error| Failure::io("make a folder in", &std::env::temp_dir(), &error))?;
        let store = store.unwrap_or_else(|| folder.path().join("runs.sqlite"));
        let runner = Runner::new(interrupts, true)?.guarded(Guard::start()?);
        Ok(Self { runner, folder, store })
    }

    /// Runs a case and compares its verdict with the truth.
    pub(super) fn attempt(&mut self, case: &Case) -> Result<Attempt, Failure> {
        let experiment = match case.experiment {
            Source::Shipped(name) => name.to_owned(),
            Source::Own(text) => {
                let path = self.folder.path().join(case.name).with_extension("toml");
                std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))?;
                path.display().to_string()
            }
        };
        let store = self.store.display().to_string();
        let mut words: Vec<&str> = vec!["--quiet", "run", &experiment, "--quick", "--format", "json"];
        words.extend(["--budget", BUDGET, "--heartbeat", "0s", "--no-live", "--yes", "--store", &store]);
        words.extend(case.words);
        let ran = match self.runner.run_itself(words.into_iter().map(ToOwned::to_owned).collect()) {
            Err(MeasureError::Interrupted) => return Ok(Attempt::NotTried("interrupted".to_owned())),
            ran => ran?,
        };
        if !ran.status.code().is_some_and(|code| HAS_VERDICTS.contains(&code)) {
            return Ok(Attempt::NotTried(why_not(&ran)));
        }
        let report: RunReport = serde_json::from_slice(&ran.stdout).map_err(|error| {
            Failure::could_not(format!("the report of {} cannot be read: {error}", case.name))
        })?;
        let said = Conclusions::of(report)
            .ok_or_else(|| Failure::could_not(format!("the run of {} claimed nothing", case.name)))?;
        let mark = mark(&case.truth, &said);
        Ok(Attempt::Judged { said, mark })
    }
}

/// Reason of a run without a verdict: its first message, since advice comes after it.
fn why_not(ran: &Output) -> String {
    let said = String::from_utf8_lossy(&ran.stderr);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.map(|line| line.strip_prefix("plimsoll: ").unwrap_or(line));
    line.map_or_else(|| ran.status.to_string(), |line| terminal(line).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn a_run_that_could_not_be_carried_out_says_why() {
        let ended = |code: i32, stderr: &str| {
            why_not(&Output {
                status: ExitStatus::from_raw(code << 8),
                stdout: Vec::new(),
                stderr: stderr.into(),
            })
        };
        assert_eq!(ended(3, "\nplimsoll: no loop device is free\n  try: fewer\n"), "no loop device is free");
        assert_eq!(ended(3, ""), "exit status: 3");
    }
}
