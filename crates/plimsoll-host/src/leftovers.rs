//! Processes of hosts whose controller is gone.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::process;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::HostError;

/// Environment variable of every process of a host; its value names the controller: process id, start time (in
/// clock ticks since boot), and the inode of the process namespace in which the id is valid.
pub const MARKER: &str = "PLIMSOLL_CONTROLLER";

/// A process that a run left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its process id.
    pub pid: u32,
    /// Its command line, with blanks between the arguments; empty for a process that is ending.
    pub command: String,
    /// The process id that its controller had.
    pub controller: u32,
}

/// The controller of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pid: u32,
    started: u64,
    namespace: u64,
}

impl Mark {
    /// The mark of a process that is alive.
    ///
    /// # Errors
    /// `NotFound` when there is no such process, or it has ended and only waits for its parent to collect its exit status.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let ends_early = || io::Error::other("/proc/PID/stat ends early");
        let (state, started) = state_and_start(&stat).ok_or_else(ends_early)?;
        if matches!(state, "Z" | "X" | "x") {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { pid, started, namespace: fs::metadata("/proc/self/ns/pid")?.ino() })
    }

    fn from_environment(environment: &[u8]) -> Option<Self> {
        let entry = environment
            .split(|byte| *byte == 0)
            .find_map(|entry| entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="))?;
        Self::parse(std::str::from_utf8(entry).ok()?)
    }

    /// Reads what [`own_mark`] wrote, and nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let mut next = || fields.next();
        let mark = Self {
            pid: next()?.parse().ok()?,
            started: next()?.parse().ok()?,
            namespace: next()?.parse().ok()?,
        };
        (mark.to_string() == text).then_some(mark)
    }

    /// Whether the controller is known to be gone. One that counts processes in another namespace cannot be looked up from here, and
    /// is taken to be alive.
    pub(crate) fn is_gone(self) -> bool {
        let here = fs::metadata("/proc/self/ns/pid").is_ok_and(|m| m.ino() == self.namespace);
        here && Self::of(self.pid).map_or_else(|e| e.kind() == io::ErrorKind::NotFound, |now| now != self)
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.pid, self.started, self.namespace)
    }
}

/// The marker's value for hosts of this process.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn own_mark() -> io::Result<String> {
    Mark::of(process::id()).map(|mark| mark.to_string())
}

/// Finds the processes of hosts whose controller is gone, among those whose environment this process may read: the user's own, or
/// everybody's for root.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn leftovers() -> Result<Vec<Leftover>, HostError> {
    let entries = fs::read_dir("/proc").map_err(|source| HostError::Read { path: "/proc".into(), source })?;
    let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(orphan).collect())
}

/// The process, if its controller is gone; `None` for one that has ended meanwhile, or belongs to another user.
fn orphan(pid: u32) -> Option<Leftover> {
    let mark = Mark::from_environment(&fs::read(format!("/proc/{pid}/environ")).ok()?)?;
    if !mark.is_gone() {
        return None;
    }
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
    Some(Leftover { pid, command, controller: mark.pid })
}

impl Leftover {
    /// Kills the process; another that has got its id since is left alone.
    ///
    /// # Errors
    /// When the kernel does not allow it.
    pub fn remove(&self) -> Result<(), HostError> {
        let failed = |source: io::Error| HostError::Leftover { pid: self.pid, source };
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
        // The look comes after the open: the descriptor stands for one process, even if its number is reused.
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(errno) => return Err(failed(errno.into())),
        };
        if orphan(self.pid).is_none_or(|now| now.controller != self.controller) {
            return Ok(());
        }
        match pidfd_send_signal(&process, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(errno) => Err(failed(errno.into())),
        }
    }
}

/// The 3rd and the 22nd field of `/proc/PID/stat`, counted from behind the name in brackets (proc(5)).
fn state_and_start(stat: &str) -> Option<(&str, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(mark: &str) -> Child {
        Command::new("sleep").arg("60").env(MARKER, mark).spawn().expect("sleep starts")
    }

    fn found(child: &Child) -> Option<Leftover> {
        leftovers().expect("/proc is readable").into_iter().find(|l| l.pid == child.id())
    }

    #[test]
    fn a_process_whose_controller_is_gone_is_found_and_ended_and_no_other() {
        let mut controller = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let mark = Mark::of(controller.id()).expect("it lives").to_string();
        let (mut orphan, mut cared_for) = (sleeper(&mark), sleeper(&own_mark().expect("it lives")));
        assert_eq!(found(&orphan), None, "its controller is alive");

        controller.kill().expect("killed");
        controller.wait().expect("waited");
        let leftover = found(&orphan).expect("its controller is gone");
        assert_eq!(leftover.command, "sleep 60");
        assert_eq!(found(&cared_for), None, "its controller is this test");

        leftover.remove().expect("allowed");
        assert!(!orphan.wait().expect("waited").success());
        leftover.remove().expect("being gone already is no error");
        cared_for.kill().expect("it was left alone");
        cared_for.wait().expect("waited");
    }

    #[test]
    fn a_controller_is_gone_when_its_number_belongs_to_a_later_process() {
        let own = Mark::of(process::id()).expect("it lives");
        assert!(!own.is_gone());
        assert!(Mark { started: own.started + 1, ..own }.is_gone());
        assert!(!Mark { started: own.started + 1, namespace: own.namespace + 1, ..own }.is_gone());
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_yet_is_gone() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let mark = Mark::of(child.id()).expect("it lives");
        assert!(!mark.is_gone());
        child.kill().expect("killed");
        while !fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it is there").contains(") Z ")
        {
            std::thread::yield_now();
        }
        assert!(mark.is_gone());
        child.wait().expect("waited");
    }

    #[test]
    fn the_mark_is_read_as_it_was_written() {
        let mark = Mark { pid: 12, started: 34, namespace: 56 };
        let environment = format!("HOME=/\0{MARKER}={mark}\0X=y\0");
        assert_eq!(Mark::from_environment(environment.as_bytes()), Some(mark));
        assert_eq!(Mark::from_environment(b"PLIMSOLL_CONTROLLER_X=1:2:3\0"), None);
        for other in ["1:x:3", "1:2:3:4", "01:2:3", "1:2:3.new", "+1:2:3"] {
            assert_eq!(Mark::parse(other), None, "{other}");
        }
    }
}
