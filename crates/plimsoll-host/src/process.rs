//! One host's processes, seen from the controller.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::control::{ControllerEnd, Word, is_timeout, pair};
use crate::error::HostError;
use crate::group::Group;
use crate::interrupt::go_on;
use crate::leftovers;
use crate::reexec::{self, Stage, spawn_with};
use crate::spec::{AgentStderr, HostSpec, RigSpec};
use crate::supervisor::{self, HostOrders};

/// Deadline for a host's end, before its supervisor is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Deadline for the last words of an ended guest's init.
const ENDING: Duration = Duration::from_millis(500);
/// Time between two checks for an interrupt during a boot.
const PIECE: Duration = Duration::from_millis(100);

/// The agent's standard streams.
#[derive(Debug)]
pub struct Pipes {
    /// The agent's input. The agent ends when it is closed.
    pub stdin: ChildStdin,
    /// The agent's output.
    pub stdout: ChildStdout,
    /// The agent's standard error, if the rig's description asks for a pipe.
    pub stderr: Option<ChildStderr>,
}

/// A host with running processes. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Process {
    host: String,
    is_guest: bool,
    /// Whether the kernel ends all of its processes with the first; else the supervisor does.
    own_processes: bool,
    supervisor: Child,
    /// `None` once the host has the order to end.
    control: Option<ControllerEnd>,
    pid: Option<u32>,
    notes: Vec<String>,
    /// Count of the machine's OOM kills before the start, if the kernel has one.
    oom_killed_before: Option<u64>,
}

impl Process {
    /// Starts the supervisor, which goes on by itself until the host is ready for its links.
    pub(crate) fn start(
        rig: &RigSpec,
        host: &HostSpec,
        orders: &HostOrders,
        group: Option<&Group>,
    ) -> Result<Self, HostError> {
        let at = |operation: &str| {
            let (host, operation) = (host.name.clone(), operation.to_owned());
            move |source| HostError::Host { host, operation, source }
        };
        let (control, theirs) = pair().map_err(at("making its control socket"))?;
        let door = group.map(Group::door).transpose().map_err(at("opening its control group"))?;
        let supervisor =
            start_supervisor(rig, host, orders, door, theirs).map_err(at("starting its supervisor"))?;
        let (host, own_processes) = (host.name.clone(), host.kind.own().network);
        let is_guest = orders.guest.is_some();
        Ok(Self {
            host,
            is_guest,
            own_processes,
            supervisor,
            control: Some(control),
            pid: None,
            notes: vec![],
            oom_killed_before: oom_killed(),
        })
    }

    /// Waits until namespaces and settings are there.
    pub(crate) fn wait_ready(&mut self) -> Result<(), HostError> {
        self.hear_until("its namespaces were made", None, |word, _| *word == Word::Ready)
    }

    /// Lets the agent start. [`Self::wait_started`] has to follow.
    pub(crate) fn go(&self) -> Result<(), HostError> {
        let control = self.control.as_ref().ok_or_else(|| HostError::Closed(self.host.clone()))?;
        control.go().map_err(|source| self.error("letting the agent start", source))
    }

    /// Waits until the agent was started. With a boot, the wait has a limit and can be interrupted.
    pub(crate) fn wait_started(&mut self, boot: Option<(Duration, &AtomicBool)>) -> Result<(), HostError> {
        let mut started = false;
        self.hear_until("its agent was started", boot, |word, pid| {
            started |= *word == Word::Started;
            started && pid.is_some()
        })
    }

    fn hear_until(
        &mut self,
        doing: &'static str,
        boot: Option<(Duration, &AtomicBool)>,
        mut enough: impl FnMut(&Word, Option<u32>) -> bool,
    ) -> Result<(), HostError> {
        loop {
            let heard = match boot {
                None => self.control()?.hear(),
                Some((patience, interrupt)) => self.hear_within(patience, interrupt)?,
            };
            let heard = heard.map_err(|source| self.error("waiting for its word", source))?;
            let Some(word) = heard else { return Err(self.ended(doing)) };
            match &word {
                Word::Pid(pid) => self.pid = Some(*pid),
                Word::Note(note) => self.notes.push(note.clone()),
                Word::Failed { operation, errno } => {
                    return Err(self.error(operation, io::Error::from_raw_os_error(*errno)));
                }
                Word::Refused { why, console } => {
                    let (host, why, console) = (self.host.clone(), why.clone(), console.clone());
                    return Err(HostError::Boot { host, why, console });
                }
                _ => {}
            }
            if enough(&word, self.pid) {
                return Ok(());
            }
        }
    }

    fn control(&mut self) -> Result<&mut ControllerEnd, HostError> {
        self.control.as_mut().ok_or_else(|| HostError::Closed(self.host.clone()))
    }

    /// The next word, awaited in pieces, so that the user can interrupt the wait.
    fn hear_within(
        &mut self,
        patience: Duration,
        interrupt: &AtomicBool,
    ) -> Result<io::Result<Option<Word>>, HostError> {
        let give_up = Instant::now() + patience;
        let is_over = |heard: &io::Result<_>| !heard.as_ref().is_err_and(is_timeout);
        loop {
            go_on(interrupt)?;
            let control = self.control()?;
            let heard = control.set_patience(PIECE).and_then(|()| control.hear());
            if is_over(&heard) || Instant::now() > give_up {
                return Ok(heard);
            }
        }
    }

    /// The last lines of the console of a guest that has ended; empty for any other host.
    pub(crate) fn last_lines(&mut self) -> String {
        if !self.is_guest {
            return String::new();
        }
        // A silent host has no last words.
        let said =
            self.control.as_mut().and_then(|control| control.hear_rest(ENDING).ok()).unwrap_or_default();
        let mut lines = said.into_iter().filter_map(|word| match word {
            Word::LastLines(lines) => Some(lines),
            _ => None,
        });
        lines.next_back().unwrap_or_default()
    }

    /// How the agent ended by itself, in words; empty while it runs.
    pub(crate) fn end_in_words(&mut self) -> String {
        let give_up = Instant::now() + ENDING;
        loop {
            match self.status() {
                Ok(Some(status)) => {
                    let killed = oom_killed().zip(self.oom_killed_before);
                    return end_in_words(status, killed.map(|(now, before)| now.saturating_sub(before)));
                }
                // Its pipes close a moment before its supervisor has ended.
                Ok(None) if Instant::now() < give_up => thread::sleep(PIECE / 20),
                _ => return String::new(),
            }
        }
    }

    /// Adds a note for readers of its figures.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn ended(&mut self, doing: &'static str) -> HostError {
        let how = match self.supervisor.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        HostError::Ended { host: self.host.clone(), doing, how }
    }

    fn error(&self, operation: &str, source: io::Error) -> HostError {
        HostError::Host { host: self.host.clone(), operation: operation.into(), source }
    }

    /// The host's network namespace. It lives as long as this is open, so it must not be kept.
    pub(crate) fn network(&mut self) -> Result<OwnedFd, HostError> {
        if self.status()?.is_some() {
            return Err(self.ended("links to it were made"));
        }
        let path = format!("/proc/{}/ns/net", self.supervisor.id());
        let open = File::open(&path).map(OwnedFd::from);
        open.map_err(|source| self.error(&format!("opening {path}"), source))
    }

    /// The first process of a namespace host, or the agent of a local one.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Notes for readers of its figures.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The agent's streams, once.
    pub(crate) fn take_pipes(&mut self) -> Option<Pipes> {
        let stdin = self.supervisor.stdin.take()?;
        let stdout = self.supervisor.stdout.take()?;
        Some(Pipes { stdin, stdout, stderr: self.supervisor.stderr.take() })
    }

    /// How the agent ended, if it has.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>, HostError> {
        self.supervisor.try_wait().map_err(|source| self.error("asking after its supervisor", source))
    }

    /// Orders the host to end. Ordering all hosts of a rig before waiting for the first makes them end side by side.
    pub(crate) fn request_end(&mut self) {
        self.control = None;
    }

    /// Ends the host and waits until its last process is gone.
    pub(crate) fn end(&mut self) -> Result<(), HostError> {
        self.request_end();
        let give_up = Instant::now() + GRACE;
        let mut pause = Duration::from_micros(200);
        while self.status()?.is_none() {
            if Instant::now() > give_up {
                return self.end_by_force();
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Kills the supervisor of a namespace host: init dies with it, and all others with init. The supervisor of a local host goes on, since it
    /// collects the remaining processes.
    fn end_by_force(&mut self) -> Result<(), HostError> {
        if !self.own_processes {
            let source = io::Error::new(io::ErrorKind::TimedOut, "a process does not die, even when killed");
            return Err(self.error("waiting for its processes to end", source));
        }
        self.supervisor.kill().map_err(|source| self.error("killing its supervisor", source))?;
        self.supervisor.wait().map(drop).map_err(|source| self.error("waiting for its supervisor", source))
    }
}

/// Processes that the OOM killer has killed since the machine started, also those of a control group with a limit (`oom_kill` of /proc/vmstat, Linux 4.13).
fn oom_killed() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The end of an agent, from its supervisor's exit status and the OOM kills meanwhile.
fn end_in_words(status: ExitStatus, oom_killed: Option<u64>) -> String {
    // As in a shell, 128 and more stand for a signal.
    let number = status.signal().or_else(|| status.code()?.checked_sub(128));
    let signal = number.and_then(|number| Signal::try_from(number).ok());
    let Some(signal) = signal else { return format!("its process ended with {status}") };
    let by = match oom_killed {
        _ if signal != Signal::SIGKILL => "",
        None => "; this kernel does not count what its OOM killer kills",
        Some(0) => {
            "; the kernel's OOM killer killed no process meanwhile, so another process or a user sent the signal"
        }
        Some(_) => {
            "; the kernel's OOM killer killed at least one process meanwhile, because memory had run out"
        }
    };
    format!("its process was ended by {signal}{by}")
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error has no reader here, and the controller's end ends the host in any case.
        let _unheard = self.end();
    }
}

fn start_supervisor(
    rig: &RigSpec,
    host: &HostSpec,
    orders: &HostOrders,
    door: Option<File>,
    control: OwnedFd,
) -> io::Result<Child> {
    let stage = if host.kind.own().network { Stage::Namespace } else { Stage::Local };
    let executable = rig.supervisor.clone().unwrap_or_else(|| PathBuf::from(reexec::THIS_EXECUTABLE));
    let mut command = Command::new(executable);
    command
        .args(supervisor::arguments(stage, control.as_raw_fd(), orders))
        .arg(&rig.program)
        .args(&rig.args)
        .env(leftovers::MARKER, leftovers::own_mark()?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(match rig.stderr {
            AgentStderr::Inherit => Stdio::inherit(),
            AgentStderr::Pipe => Stdio::piped(),
        })
        // Ctrl-C on the terminal is for the controller, which then ends its hosts in order.
        .process_group(0);
    if let Some(mut door) = door {
        let join = move || door.write_all(b"0");
        #[expect(
            unsafe_code,
            reason = "all of a host's memory counts only where its first process joins before it starts"
        )]
        // SAFETY: the closure makes one system call, write(2), which is async-signal-safe, and allocates nothing.
        unsafe {
            command.pre_exec(join);
        }
    }
    spawn_with(command, control)
}
