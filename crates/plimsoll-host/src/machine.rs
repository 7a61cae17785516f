//! What is of the whole machine: the CPUs that may be used, and settings under `/proc/sys` that are changed for a while.
//!
//! Settings are written by a process of their own, a hidden stage of the controller's executable, which reads each before it writes it,
//! waits until the controller lets go, and puts all of them back. The kernel closes the socket between the two when the controller
//! dies, by whatever signal, so they are put back then, too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, getpid};
use plimsoll_model::experiment::sysctl;

use crate::control::{ControllerEnd, HostEnd, Word, pair};
use crate::error::HostError;
use crate::keeper::{self, errno_of};
use crate::process::spawn_with;

/// The CPUs that this process may use, by rising number.
///
/// # Errors
/// When the kernel does not tell.
pub fn usable_cpus() -> Result<Vec<u32>, HostError> {
    let failed = |errno: Errno| HostError::Process {
        operation: "asking which CPUs may be used",
        source: errno.into(),
    };
    let set = sched_getaffinity(Pid::from_raw(0)).map_err(failed)?;
    // Asking beyond the end of the set is an error, and no CPU is there.
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect())
}

/// Settings of the machine that were changed. Dropping this puts them back.
#[derive(Debug)]
pub struct MachineSettings {
    child: Child,
    /// Gone once it was told to put them back.
    control: Option<ControllerEnd>,
}

impl MachineSettings {
    /// Writes these settings, each a dotted name and its value, all of them or none.
    ///
    /// # Errors
    /// When one cannot be read or written, which needs root of the machine; those that were written before it are put back.
    pub fn change(settings: &BTreeMap<String, String>) -> Result<Self, HostError> {
        Self::change_by(Path::new(keeper::THIS_EXECUTABLE), settings)
    }

    /// The same by another executable, whose `main` hands its arguments to [`stage`](crate::stage).
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn change_by(executable: &Path, settings: &BTreeMap<String, String>) -> Result<Self, HostError> {
        let starting =
            |source| HostError::Settings { operation: "starting the process that keeps them".into(), source };
        let (control, theirs) = pair().map_err(starting)?;
        let child = start_stage(executable, settings, theirs).map_err(starting)?;
        let mut changed = Self { child, control: Some(control) };
        changed.hear()?;
        Ok(changed)
    }

    fn hear(&mut self) -> Result<(), HostError> {
        let waiting = |source| HostError::Settings {
            operation: "waiting for the process that keeps them".into(),
            source,
        };
        let control = self.control.as_mut().expect("it is there until this is dropped");
        match control.hear().map_err(waiting)? {
            Some(Word::Ready) => Ok(()),
            Some(Word::Failed { operation, errno }) => {
                Err(HostError::Settings { operation, source: io::Error::from_raw_os_error(errno) })
            }
            other => Err(waiting(io::Error::other(format!("it said {other:?}")))),
        }
    }
}

impl Drop for MachineSettings {
    fn drop(&mut self) {
        drop(self.control.take());
        // What it could not put back it has said on standard error.
        let _ended = self.child.wait();
    }
}

fn start_stage(
    executable: &Path,
    settings: &BTreeMap<String, String>,
    control: OwnedFd,
) -> io::Result<Child> {
    let mut command = Command::new(executable);
    command
        .args([keeper::STAGE, keeper::SETTINGS])
        .args([control.as_raw_fd().to_string(), getpid().to_string()])
        .args(settings.iter().map(|(name, value)| format!("{name}={value}")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // A Ctrl-C at the terminal is the controller's.
        .process_group(0);
    spawn_with(command, control)
}

/// The stage: changes the settings, waits until the controller lets go or is gone, and puts them back.
pub(crate) fn stage(control: &HostEnd, args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut before = Vec::new();
    for argument in args {
        let changed = change(&argument.to_string_lossy());
        match changed {
            Ok(setting) => before.push(setting),
            Err((operation, errno)) => {
                put_back(before);
                return keeper::failed(control, operation, errno);
            }
        }
    }
    control.say(&Word::Ready);
    // Nothing is ever said to it, so this is the controller's end of the socket being closed.
    control.wait_for_go();
    put_back(before);
    ExitCode::SUCCESS
}

/// A setting as it was.
struct Before {
    file: PathBuf,
    value: Vec<u8>,
}

fn change(setting: &str) -> Result<Before, (String, Errno)> {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let file = sysctl::path(name).ok_or_else(|| (format!("looking for {name}"), Errno::ENOENT))?;
    let before = fs::read(&file).map_err(|error| (format!("reading {name}"), errno_of(&error)))?;
    fs::write(&file, value).map_err(|error| (format!("setting {name} = {value}"), errno_of(&error)))?;
    Ok(Before { file, value: before })
}

/// In the opposite order, so that settings that bound each other fit at every step.
fn put_back(before: Vec<Before>) {
    for setting in before.into_iter().rev() {
        if let Err(error) = fs::write(&setting.file, &setting.value) {
            eprintln!(
                "plimsoll: {} could not be put back to {}: {error}",
                setting.file.display(),
                String::from_utf8_lossy(&setting.value).trim_end()
            );
        }
    }
}
