//! The undo process: it undoes a run's changes to settings of the machine, and folders outside of any host.
//!
//! The **undo process** is a stage of the controller's own executable. It changes a setting or makes a folder only after it has written down how
//! to undo that, and undoes all of it, the last first, when the controller's end of its socket closes: at the end of the run, or because
//! the controller was killed. What it has to undo also stands in a [journal](journal), so that [`abandoned_journals`] finds it should the undo
//! process itself have been killed. A setting is [locked](lock) from before its original is read until that is put back.

mod entry;
mod journal;
mod lock;
mod place;
mod setting;
mod stage;

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use journal::{Abandoned, AbandonedJournal, abandoned_journals};
pub use place::private_folder;
pub(crate) use stage::run as stage;

use serde::{Deserialize, Serialize};

use crate::codec;
use crate::error::{HostError, setting_name};
use crate::reexec::{Stage, spawn_with};
use entry::{Entry, Refusal};

/// Kind of a request to the undo process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Task {
    /// Give a setting a value, or keep the one that it has.
    Set,
    /// Do not put back a setting that was kept.
    Forget,
    /// Limit a device by a line.
    Limit,
    /// Make a folder.
    Folder,
    /// Make a control group.
    Group,
}

/// One request.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    task: Task,
    path: PathBuf,
    value: Option<String>,
    /// Whether to wait while another run holds the setting.
    wait: bool,
}

impl Request {
    /// Entry that undoes it.
    fn entry(&self) -> Result<Entry, Refusal> {
        match self.task {
            Task::Set | Task::Forget => Entry::of_setting(&self.path, self.value.as_deref()),
            Task::Limit => Entry::of_limit(&self.path, self.value.as_deref().unwrap_or_default()),
            Task::Folder => Entry::of_folder(&self.path),
            Task::Group => Entry::of_group(&self.path),
        }
    }
}

/// Reply of the undo process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Done,
    Refused(Refusal),
    /// Another run holds the setting. Where the request waits, a second answer follows.
    Held {
        holder: String,
    },
    /// The controller has ended; no process reads this answer.
    Ended,
}

/// How long a run waits for a setting that another run holds.
#[derive(Clone, Copy, Debug)]
pub struct Patience<'a> {
    /// Set when the user wants the wait to end.
    pub interrupt: &'a AtomicBool,
    /// The longest wait.
    pub limit: Duration,
}

impl<'a> Patience<'a> {
    /// Longest wait of a run on this machine. Runs hold a setting for one trial at a time.
    pub const USUAL: Duration = Duration::from_secs(600);

    /// Waits for [`Self::USUAL`], unless interrupted.
    #[must_use]
    pub const fn usual(interrupt: &'a AtomicBool) -> Self {
        Self { interrupt, limit: Self::USUAL }
    }
}

/// Interval at which a waiting run looks whether the user has interrupted it.
const LOOK: Duration = Duration::from_millis(100);

/// Changes that are undone when this is dropped, or when the process dies.
#[derive(Debug)]
pub struct UndoProcess {
    child: Child,
    /// `None` once the undo process has the order to undo everything.
    socket: Option<BufReader<UnixStream>>,
}

impl UndoProcess {
    /// Starts an undo process without entries.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start() -> Result<Self, HostError> {
        let failed =
            |source| HostError::Process { operation: "starting the process that undoes changes", source };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let theirs = OwnedFd::from(theirs);
        let mut command = Stage::Undo.command();
        command
            .arg(theirs.as_raw_fd().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // Ctrl-C on the terminal is for the controller.
            .process_group(0);
        ours.set_read_timeout(Some(LOOK)).map_err(failed)?;
        let child = spawn_with(command, theirs).map_err(failed)?;
        Ok(Self { child, socket: Some(BufReader::new(ours)) })
    }

    /// Writes a value to a setting below `/proc/sys` or `/sys`; the earlier value is restored in the end. Waits while another run holds the setting.
    ///
    /// # Errors
    /// [`HostError::Setting`] when there is no such setting, it does not take the value, permission is missing, or another run holds it too
    /// long.
    pub fn set(&mut self, path: &Path, value: &str, patience: Patience<'_>) -> Result<(), HostError> {
        self.wait_for(Task::Set, path, Some(value), patience)
    }

    /// Restores in the end a setting that something else changes meanwhile, and keeps other runs from it until then.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(crate) fn keep(&mut self, path: &Path, patience: Patience<'_>) -> Result<(), HostError> {
        self.wait_for(Task::Set, path, None, patience)
    }

    /// Like [`Self::keep`], unless another run holds the setting. Returns whether it is ours.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(crate) fn keep_unless_held(&mut self, path: &Path) -> Result<bool, HostError> {
        Ok(matches!(self.ask(Task::Set, path, None, false)?, Reply::Done))
    }

    /// Gives up restoring a kept setting.
    ///
    /// # Errors
    /// [`HostError::Setting`] when the journal cannot be written.
    pub(crate) fn forget(&mut self, path: &Path) -> Result<(), HostError> {
        self.ask(Task::Forget, path, None, false).map(drop)
    }

    /// Makes a folder, for its owner alone, of a name such as `plimsoll-NAME-0123abcd`; it is removed in the end with all that is in it.
    ///
    /// # Errors
    /// [`HostError::Setting`] when it is there already, or cannot be made.
    pub fn make_folder(&mut self, path: &Path) -> Result<(), HostError> {
        self.ask(Task::Folder, path, None, false).map(drop)
    }

    /// Limits a device of the machine by a line for one of the files `blkio.throttle.*`; its earlier line is restored in the end.
    ///
    /// # Errors
    /// [`HostError::Setting`] when there is no such file, it does not take the line, or permission is missing.
    pub(crate) fn limit(&mut self, path: &Path, line: &str, patience: Patience<'_>) -> Result<(), HostError> {
        self.wait_for(Task::Limit, path, Some(line), patience)
    }

    /// Makes a control group of such a name; it is removed in the end, once no process is in it.
    ///
    /// # Errors
    /// [`HostError::Setting`] when it is there already, or cannot be made.
    pub(crate) fn make_group(&mut self, path: &Path) -> Result<(), HostError> {
        self.ask(Task::Group, path, None, false).map(drop)
    }

    /// Changes a setting, when it is this run's turn.
    fn wait_for(
        &mut self,
        task: Task,
        path: &Path,
        value: Option<&str>,
        patience: Patience<'_>,
    ) -> Result<(), HostError> {
        let Reply::Held { holder } = self.ask(task, path, value, true)? else { return Ok(()) };
        let setting = setting_name(path);
        let limit = patience.limit.as_secs();
        tracing::warn!("{setting} is held by {holder}; waiting for it for up to {limit} s");
        let give_up = Instant::now() + patience.limit;
        let mut line = String::new();
        let failed = loop {
            match self.hear(&mut line) {
                Ok(()) => return answer(path, value, &line).map(drop),
                Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    break refusal(path, value, format!("the undo process does not answer: {error}"));
                }
                Err(_) if patience.interrupt.load(Ordering::Acquire) => break HostError::Interrupted,
                Err(_) if Instant::now() > give_up => {
                    break refusal(path, value, format!("{holder} has held it for longer than {limit} s"));
                }
                Err(_) => {}
            }
        };
        // A late reply must not count for another request.
        self.socket = None;
        Err(failed)
    }

    /// Sends a request, and returns the first reply.
    fn ask(&mut self, task: Task, path: &Path, value: Option<&str>, wait: bool) -> Result<Reply, HostError> {
        let failed = |why: String| refusal(path, value, why);
        let plain = |text: &str| !text.contains(['\t', '\n']);
        if !path.to_str().is_some_and(plain) || !value.is_none_or(plain) {
            return Err(failed("a name or a value with tabs or ends of lines".into()));
        }
        let gone = |error: io::Error| failed(format!("the undo process does not answer: {error}"));
        let request = Request { task, path: path.into(), value: value.map(str::to_owned), wait };
        let request = codec::to_line(&request).map_err(gone)?;
        let socket = self.socket.as_mut().ok_or_else(|| failed("it is over".into()))?;
        socket.get_mut().write_all(request.as_bytes()).map_err(gone)?;
        let mut line = String::new();
        loop {
            match self.hear(&mut line) {
                Ok(()) => return answer(path, value, &line),
                // The undo process is busy with the request.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(gone(error)),
            }
        }
    }

    /// Reads on until the end of a reply, or the next check for an interrupt.
    fn hear(&mut self, line: &mut String) -> io::Result<()> {
        let ended = || io::Error::other("it has ended");
        match self.socket.as_mut().ok_or_else(ended)?.read_line(line)? {
            0 => Err(ended()),
            _ => Ok(()),
        }
    }
}

/// The reply in a line, as the result of a request for this setting.
fn answer(path: &Path, value: Option<&str>, line: &str) -> Result<Reply, HostError> {
    match codec::from_line(line) {
        Ok(Reply::Refused(Refusal { why, forbidden })) => Err(HostError::Setting {
            path: path.into(),
            value: value.unwrap_or_default().into(),
            why,
            forbidden,
        }),
        Ok(answer) => Ok(answer),
        Err(error) => Err(refusal(path, value, error.to_string())),
    }
}

/// Error of a setting that more rights would not have changed.
fn refusal(path: &Path, value: Option<&str>, why: String) -> HostError {
    HostError::Setting { path: path.into(), value: value.unwrap_or_default().into(), why, forbidden: false }
}

impl Drop for UndoProcess {
    fn drop(&mut self) {
        self.socket = None;
        // It ends by itself. Its errors are on standard error, and the remaining entries in its journal.
        let _status = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_cannot_be_written_down_in_a_line_is_refused() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let child = Command::new("true").spawn().unwrap();
        let mut undo = UndoProcess { child, socket: Some(BufReader::new(ours)) };
        let interrupt = AtomicBool::new(false);
        let patience = Patience::usual(&interrupt);
        let error = undo.set(Path::new("/proc/sys/vm/swappiness"), "1\n2", patience).unwrap_err();
        assert!(error.to_string().contains("tabs or ends of lines"), "{error}");
    }
}
