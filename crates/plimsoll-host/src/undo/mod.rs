//! What has to be undone after a run, and the process that does it: settings of the machine, and folders made outside of any host.
//!
//! The **undo process** is a stage of the controller's own executable. It changes a setting or makes a folder only after it has written down how
//! to undo that, and undoes all of it, the last first, when the controller's end of its socket closes: at the end of the run, or because
//! the controller was killed. What it has to undo also stands in a [journal](journal), so that [`abandoned_journals`] finds it should the undo
//! process itself have been killed.

mod entry;
mod journal;
mod place;
mod setting;
mod stage;

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

pub use journal::{Abandoned, AbandonedJournal, abandoned_journals};
pub use place::private_folder;
pub(crate) use stage::run as stage;

use serde::{Deserialize, Serialize};

use crate::codec;
use crate::error::HostError;
use crate::reexec::{Stage, spawn_with};
use entry::Refusal;

/// What the undo process is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Task {
    /// Give a setting a value.
    Set,
    /// Limit a device by a line.
    Limit,
    /// Make a folder.
    Folder,
    /// Make a control group.
    Group,
}

/// One request. Its answer is a `Result<(), Refusal>`.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    task: Task,
    path: PathBuf,
    value: String,
}

/// Changes that are undone when this is dropped, or when the process dies.
#[derive(Debug)]
pub struct UndoProcess {
    child: Child,
    /// Gone once the undo process was told to undo everything.
    socket: Option<BufReader<UnixStream>>,
}

impl UndoProcess {
    /// Starts one that has nothing to undo yet.
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
        let child = spawn_with(command, theirs).map_err(failed)?;
        Ok(Self { child, socket: Some(BufReader::new(ours)) })
    }

    /// Writes a value to a setting below `/proc/sys` or `/sys`; what it was before is put back in the end.
    ///
    /// # Errors
    /// [`HostError::Setting`] when there is no such setting, it does not take the value, or permission is missing.
    pub fn set(&mut self, path: &Path, value: &str) -> Result<(), HostError> {
        self.ask(Task::Set, path, value)
    }

    /// Makes a folder, for its owner alone, of a name such as `plimsoll-NAME-0123abcd`; it is removed in the end with all that is in it.
    ///
    /// # Errors
    /// [`HostError::Setting`] when it is there already, or cannot be made.
    pub fn make_folder(&mut self, path: &Path) -> Result<(), HostError> {
        self.ask(Task::Folder, path, "")
    }

    /// Limits a device of the machine by a line for one of the files `blkio.throttle.*`; what stood there for it is put back in the end.
    ///
    /// # Errors
    /// [`HostError::Setting`] when there is no such file, it does not take the line, or permission is missing.
    pub(crate) fn limit(&mut self, path: &Path, line: &str) -> Result<(), HostError> {
        self.ask(Task::Limit, path, line)
    }

    /// Makes a control group of such a name; it is removed in the end, once no process is in it.
    ///
    /// # Errors
    /// [`HostError::Setting`] when it is there already, or cannot be made.
    pub(crate) fn make_group(&mut self, path: &Path) -> Result<(), HostError> {
        self.ask(Task::Group, path, "")
    }

    fn ask(&mut self, task: Task, path: &Path, value: &str) -> Result<(), HostError> {
        let error = |why: String, forbidden| HostError::Setting {
            path: path.into(),
            value: value.into(),
            why,
            forbidden,
        };
        let failed = |why: String| error(why, false);
        let plain = |text: &str| !text.contains(['\t', '\n']);
        if !path.to_str().is_some_and(plain) || !plain(value) {
            return Err(failed("a name or a value with tabs or ends of lines".into()));
        }
        let socket = self.socket.as_mut().ok_or_else(|| failed("it is over".into()))?;
        let gone = |error: std::io::Error| failed(format!("the undo process does not answer: {error}"));
        let line = codec::to_line(&Request { task, path: path.into(), value: value.into() }).map_err(gone)?;
        socket.get_mut().write_all(line.as_bytes()).map_err(gone)?;
        let mut answer = String::new();
        if socket.read_line(&mut answer).map_err(gone)? == 0 {
            return Err(failed("the undo process has ended".into()));
        }
        let done: Result<(), Refusal> = codec::from_line(&answer).map_err(gone)?;
        done.map_err(|refusal| error(refusal.why, refusal.forbidden))
    }
}

impl Drop for UndoProcess {
    fn drop(&mut self) {
        self.socket = None;
        // It ends by itself; what it could not undo it has said on standard error, and stands in its journal.
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
        let error = undo.set(Path::new("/proc/sys/vm/swappiness"), "1\n2").unwrap_err();
        assert!(error.to_string().contains("tabs or ends of lines"), "{error}");
    }
}
