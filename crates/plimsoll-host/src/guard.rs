//! Ends a controller's commands when the controller dies, for whatever reason.
//!
//! The **guard** is a stage of the controller's own executable that waits for the end of a pipe which only the controller holds open. It knows
//! commands by their process group, in a nameless file that both share, so that nothing wakes it during measurements; and by a mark in their
//! environment, which all their children inherit.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, killpg};
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

use crate::error::HostError;
use crate::leftovers;
use crate::reexec::Stage;

/// Environment variable of commands and their children. Its value is that of [`crate::MARKER`], but the doctor does not look for this one: a
/// command may leave a process behind on purpose, such as a server for further measurements.
const MARK: &str = "PLIMSOLL_COMMAND_OF";
/// Message to a guard without anything to end.
const DISMISSED: u8 = b'd';
/// Number of searches for processes that were started meanwhile.
const ROUNDS: usize = 50;
/// Pause between two searches.
const PAUSE: Duration = Duration::from_millis(10);

/// Ends commands when it is dropped, or when the process dies.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// `None` once the guard has its order.
    pipe: Option<ChildStdin>,
    /// Process group of the running command, or 0.
    group: File,
    mark: String,
}

impl Guard {
    /// Starts a guard without a command.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start() -> Result<Self, HostError> {
        let failed = |source| HostError::Process { operation: "starting the guard of commands", source };
        let started = || {
            let group = tempfile::tempfile()?;
            let mark = leftovers::own_mark()?;
            let mut child = Stage::Guard
                .command()
                .arg(&mark)
                .stdin(Stdio::piped())
                .stdout(group.try_clone()?)
                .stderr(Stdio::null())
                // Ctrl-C on the terminal is for the controller.
                .process_group(0)
                .spawn()?;
            let pipe = child.stdin.take();
            Ok(Self { child, pipe, group, mark })
        };
        started().map_err(failed)
    }

    /// Marks a command, before it is started.
    pub fn mark(&self, command: &mut Command) {
        command.env(MARK, &self.mark);
    }

    /// Sets the process group of the running command.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn watch(&self, group: i32) -> io::Result<()> {
        self.group.write_all_at(&group.to_ne_bytes(), 0)
    }

    /// Ends the guard, but no process.
    pub fn dismiss(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // A guard that is gone ends nothing either.
            pipe.write_all(&[DISMISSED]).ok();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _status = self.child.wait();
    }
}

/// Waits for the controller's end, and ends its processes.
pub(crate) fn stage(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut deaf = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGQUIT] {
        deaf.add(signal);
    }
    let (Ok(()), Some(mark)) = (deaf.thread_block(), args.next()) else { return ExitCode::FAILURE };
    let mut order = Vec::new();
    // A pipe that cannot be read has no controller at its other end.
    io::stdin().read_to_end(&mut order).ok();
    if order == [DISMISSED] {
        return ExitCode::SUCCESS;
    }
    if let Some(group) = watched().filter(|group| *group > 1) {
        // The group may be gone.
        killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL).ok();
    }
    let entry = [MARK.as_bytes(), b"=", mark.as_encoded_bytes()].concat();
    let mut without = 0;
    for _ in 0..ROUNDS {
        without = if end_marked(&entry) == 0 { without + 1 } else { 0 };
        // A process in the middle of an exec has no readable environment, so the search is repeated.
        if without == 2 {
            return ExitCode::SUCCESS;
        }
        thread::sleep(PAUSE);
    }
    ExitCode::FAILURE
}

/// Process group in the shared file.
fn watched() -> Option<i32> {
    let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

/// Kills all processes with this entry in their environment. Returns their number.
fn end_marked(entry: &[u8]) -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let pids = entries.flatten().filter_map(|file| file.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| end_if_marked(*pid, entry).is_some()).count()
}

/// Kills one process if it has the entry. The look comes after the open: the descriptor stands for one process, even if its number is reused.
fn end_if_marked(pid: i32, entry: &[u8]) -> Option<()> {
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).any(|own| own == entry).then_some(())?;
    pidfd_send_signal(&process, rustix::process::Signal::KILL).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ended_by_its_mark_and_no_other() {
        let entry = format!("{MARK}=test:{}", std::process::id());
        let sleeper =
            |value: String| Command::new("sleep").arg("60").env(MARK, value).spawn().expect("it starts");
        let mut marked = sleeper(format!("test:{}", std::process::id()));
        let mut other = sleeper(format!("test:{}0", std::process::id()));
        // A child that has just started its program has no environment yet.
        let has_started =
            |child: &Child| fs::read(format!("/proc/{}/environ", child.id())).is_ok_and(|it| !it.is_empty());
        while !(has_started(&marked) && has_started(&other)) {
            thread::sleep(PAUSE);
        }
        assert_eq!(end_marked(entry.as_bytes()), 1);
        assert!(!marked.wait().expect("it ends").success());
        assert!(other.try_wait().expect("asked").is_none(), "it was left alone");
        other.kill().expect("it lives");
        other.wait().expect("it ends");
    }
}
