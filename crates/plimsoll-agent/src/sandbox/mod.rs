//! The sandbox: every program that an experiment file names enters it on its way from the agent to `execve`, and so do Plimsoll's own services and loads
//! that are processes.
//!
//! ```text
//! agent ── guardian (agent's user) ── init (process 1 of a process namespace) ── the program
//! ```
//!
//! The agent starts `plimsoll agent exec` with a clean environment and hands it an `Entry` on standard input. Program, arguments and environment of the
//! file are data until the last `execve`. The stage then takes these steps, in this order:
//!
//! 1. All descriptors above standard error close at the next `execve`; a session keyring of its own replaces the caller's (`plimsoll_host`).
//! 2. A process namespace: init, the only sibling of the program, cannot be killed from inside, and the agent has no number there.
//! 3. A mount namespace with a read-only tree, an own `/dev`, `/proc`, `/run` and `/tmp` (`tree`), and an IPC namespace.
//! 4. The user and the capabilities that the `Kind` needs (`kind`), and `no_new_privs`.
//! 5. Landlock and the system call filter (`filter`).
//!
//! A user who may not make mounts (a `local` host without user namespaces) gets steps 1, 4 and 5.

mod filter;
mod kind;
mod rights;
mod root;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, pipe2};
use plimsoll_model::frame::Failure;
use serde::{Deserialize, Serialize};

use crate::{child, other};

pub(crate) use kind::Kind;
pub use kind::Need;
pub(crate) use rights::{NOBODY, can_become_nobody, is_single_user, remains_root};
pub(crate) use tree::{closed_on_the_way, is_open};

/// Largest descriptor limit that a program may raise its own to.
const DESCRIPTORS: u64 = 1 << 20;

/// An operation that failed, and why.
pub(crate) type Wrong = (String, io::Error);

fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Wrong {
    let what = what.into();
    move |error| (what, error.into())
}

/// System calls without a safe wrapper, which `plimsoll_host` makes.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Forks a process that has a single thread: the child's number in the parent, nothing in the child.
    pub fork: fn() -> io::Result<Option<Pid>>,
}

/// A program with everything that it gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The complete environment of the program.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) paths: Paths,
}

/// Paths that a program needs beside the read-only tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Paths {
    /// Folders that it may write to.
    pub(crate) writable: Vec<PathBuf>,
    /// Files and folders that it may read below folders which are otherwise hidden.
    pub(crate) visible: Vec<PathBuf>,
    /// Visible paths that lie behind folders which only their owner may enter.
    pub(crate) opened: Vec<PathBuf>,
}

impl Entry {
    pub(crate) fn new(
        kind: Kind,
        program: PathBuf,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self {
            kind,
            program,
            arguments,
            environment: child::passed_environment(&[]),
            paths: Paths::default(),
        }
    }

    /// Adds variables; a later one replaces an earlier one of its name.
    pub(crate) fn environment<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// The command that starts the stage, with this entry on its standard input.
    ///
    /// # Errors
    /// When the kernel has no memory for the entry.
    pub(crate) fn command(&self) -> Result<Command, Failure> {
        let handed = || -> io::Result<File> {
            let mut file = File::from(memfd_create("entry", MFdFlags::MFD_CLOEXEC)?);
            file.write_all(&serde_json::to_vec(self)?)?;
            file.rewind()?;
            Ok(file)
        };
        let handed = handed().map_err(|error| other("hand a program over to the sandbox", error))?;
        let mut command = child::command("exec");
        command.stdin(handed);
        Ok(command)
    }
}

/// `plimsoll agent exec`: enters the sandbox with the entry on standard input, and ends as the program does. Dies with the agent.
pub fn main(kernel: &Kernel) -> ExitCode {
    let entry: Entry = match child::specification("program") {
        Ok(entry) => entry,
        Err(code) => return code,
    };
    entry.pass(kernel).unwrap_or_else(|(what, error)| {
        tracing::error!("cannot start {} in the sandbox: {what}: {error}", entry.program.display());
        ExitCode::FAILURE
    })
}

impl Entry {
    fn pass(&self, kernel: &Kernel) -> Result<ExitCode, Wrong> {
        let null = File::open("/dev/null").map_err(at("open /dev/null"))?;
        dup2_stdin(&null).map_err(at("close its standard input"))?;
        if self.kind == Kind::Privileged {
            return Ok(self.become_program());
        }
        if !rights::may_mount() {
            confine(self.kind, &self.paths)?;
            return Ok(self.become_program());
        }
        unshare(CloneFlags::CLONE_NEWPID).map_err(at("make a process namespace"))?;
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(at("make a pipe"))?;
        match (kernel.fork)().map_err(at("start process 1 of a process namespace"))? {
            Some(init) => {
                drop(writer);
                guard(init, reader)
            }
            None => {
                drop(reader);
                self.be_init(writer)
            }
        }
    }

    /// Becomes the program; returns only where that fails.
    fn become_program(&self) -> ExitCode {
        let error = self.program().exec();
        tracing::error!("{}: {error}", self.program.display());
        ExitCode::from(127)
    }

    fn program(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Process 1 of the program's namespace: confines itself, starts the program, and collects orphans until the program ends. The kernel kills what is
    /// left then.
    fn be_init(&self, status: OwnedFd) -> Result<ExitCode, Wrong> {
        confine(self.kind, &self.paths)?;
        let program = match self.program().spawn() {
            Ok(program) => Pid::from_raw(program.id().cast_signed()),
            Err(error) => {
                tracing::error!("{}: {error}", self.program.display());
                return Ok(ExitCode::from(127));
            }
        };
        loop {
            let ended = match waitpid(None, None) {
                Ok(WaitStatus::Exited(pid, code)) if pid == program => code << 8,
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => signal as i32,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(errno) => return Err(at("wait for the program")(errno)),
            };
            // The guardian may be gone.
            File::from(status).write_all(&ended.to_ne_bytes()).ok();
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Waits for init, and ends as the program ended. Signals of the agent reach the whole process group, and are the program's to handle.
fn guard(init: Pid, status: OwnedFd) -> Result<ExitCode, Wrong> {
    SigSet::all().thread_block().map_err(at("block signals"))?;
    let ended = loop {
        match waitpid(init, None::<WaitPidFlag>) {
            Err(Errno::EINTR) => {}
            ended => break ended.map_err(at("wait for the program"))?,
        }
    };
    let mut raw = [0; size_of::<i32>()];
    let status = match (File::from(status).read_exact(&mut raw), ended) {
        (Ok(()), _) => ExitStatus::from_raw(i32::from_ne_bytes(raw)),
        (Err(_), WaitStatus::Exited(_, code)) => ExitStatus::from_raw(code << 8),
        (Err(_), WaitStatus::Signaled(_, signal, _)) => ExitStatus::from_raw(signal as i32),
        (Err(_), _) => ExitStatus::from_raw(1 << 8),
    };
    if let Some(signal) = status.signal().and_then(|number| Signal::try_from(number).ok()) {
        // The program may have left a core file; its guardian leaves none.
        setrlimit(Resource::RLIMIT_CORE, 0, 0).ok();
        let mut set = SigSet::empty();
        set.add(signal);
        // The first of two ends the runtime's own handler of SIGSEGV.
        for _ in 0..2 {
            raise(signal).ok();
            set.thread_unblock().ok();
        }
        return Ok(ExitCode::from(128_u8.wrapping_add(signal as u8)));
    }
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Confines this process, which has a single thread, and everything that it starts: steps 3 to 5.
pub(crate) fn confine(kind: Kind, paths: &Paths) -> Result<(), Wrong> {
    let here = std::env::current_dir().map_err(at("find the working folder"))?;
    let need = kind.need();
    let proc = if rights::may_mount() { Some(tree::arrange(&need, paths)?) } else { None };
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && hard < DESCRIPTORS
    {
        // A user who may not raise it keeps the limit.
        setrlimit(Resource::RLIMIT_NOFILE, soft, DESCRIPTORS).ok();
    }
    rights::take(&need, proc.as_ref())?;
    // The old working folder may be hidden now, together with its parents, so its path is entered again.
    let places = [here.as_path()].into_iter().chain(paths.writable.iter().map(PathBuf::as_path));
    let entered = places.chain([Path::new("/")]).any(|place| std::env::set_current_dir(place).is_ok());
    entered.then_some(()).ok_or_else(|| at("enter a folder")(Errno::EACCES))?;
    if need.is_foreign {
        filter::landlock(&paths.writable)?;
        filter::system_calls()?;
    }
    // The change of user has cleared it (prctl(2)).
    child::die_with_parent().then_some(()).ok_or_else(|| at("die with the agent")(Errno::ESRCH))
}

/// Leaves a load of the agent's own, which is a process, the capabilities of its kind.
pub(crate) fn limit(kind: Kind) -> Result<(), Wrong> {
    rights::take(&kind.need(), None)
}
