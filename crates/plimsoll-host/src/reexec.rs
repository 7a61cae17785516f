//! Stages: processes of this program in another role, and their common start.

use std::ffi::OsString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command, ExitCode};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use std::os::unix::process::CommandExt;
use strum::{IntoStaticStr, VariantArray};

use crate::control::HostEnd;

/// The first argument of every stage; the second is its name.
const STAGE: &str = "__plimsoll-host";

/// Role of a process of this program. The [dispatch](crate::stage()) names the function of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Stage {
    /// Tries whether user namespaces work.
    Try,
    /// Keeps a namespace host.
    Namespace,
    /// Keeps a local host.
    Local,
    /// Is an emulator between two hosts.
    Emulator,
    /// Is the agent that tries how much an emulator carries.
    Pour,
    /// Undoes what a run did to the machine.
    Undo,
    /// Ends commands when their controller dies.
    Guard,
    /// Becomes the daemon that shows a guest the machine's files.
    Share,
}

impl Stage {
    const ALL: &'static [Self] = Self::VARIANTS;

    /// Arguments that request the stage; its own follow.
    pub(crate) fn args(self) -> [&'static str; 2] {
        [STAGE, self.into()]
    }

    /// Stage that the arguments of a process request, without its name; `None` for no request, and an error for an unknown stage.
    pub(crate) fn asked(args: &mut impl Iterator<Item = OsString>) -> Option<Result<Self, ExitCode>> {
        if args.next()? != STAGE {
            return None;
        }
        let name = args.next()?;
        Some(Self::ALL.iter().copied().find(|stage| name == stage.args()[1]).ok_or(ExitCode::from(FAILED)))
    }

    /// A process of this program's own that is this stage.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new(THIS_EXECUTABLE);
        command.args(self.args());
        command
    }
}

/// Path of the running executable, also after its file was replaced.
pub(crate) const THIS_EXECUTABLE: &str = "/proc/self/exe";
/// Exit status of a failed stage. The reason went over the control socket.
pub(crate) const FAILED: u8 = 125;

/// The socket whose number is the next argument.
pub(crate) fn take_socket(args: &mut impl Iterator<Item = OsString>) -> Option<OwnedFd> {
    let number = args.next()?.to_str()?.parse::<i32>().ok()?;
    #[expect(unsafe_code, reason = "a descriptor that was inherited is known by its number alone")]
    // SAFETY: the controller opened this descriptor for this process and passed its number; nothing else here knows it, so it is
    // ours alone. Forged arguments can at worst name a descriptor of this very stage, which then fails.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The control socket and the controller's process id, which are the first arguments of most stages.
pub(crate) fn take_control(args: &mut impl Iterator<Item = OsString>) -> Option<(HostEnd, Pid)> {
    let control = take_socket(args)?;
    let controller = args.next()?.to_str()?.parse::<i32>().ok()?;
    Some((HostEnd::new(control), Pid::from_raw(controller)))
}

/// Lets this process die with its parent; false if the parent had died before.
///
/// The signal is sent when the *thread* that forked this process ends, so that has to be one that lives as long as the controller.
pub(crate) fn die_with(parent: Pid, signal: Signal) -> Result<bool, Errno> {
    prctl::set_pdeathsig(signal)?;
    Ok(getppid() == parent)
}

pub(crate) fn failed(control: &HostEnd, operation: impl Into<String>, errno: Errno) -> ExitCode {
    control.fail(operation, errno);
    ExitCode::from(FAILED)
}

pub(crate) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(Errno::EIO as i32))
}

/// Starts a process that inherits the socket.
pub(crate) fn spawn_with(mut command: Command, control: OwnedFd) -> io::Result<Child> {
    // Done in the child, so that no other child that is started meanwhile inherits the socket.
    let inherit = move || Ok(fcntl(&control, FcntlArg::F_SETFD(FdFlag::empty())).map(drop)?);
    #[expect(unsafe_code, reason = "only the child itself can let itself inherit a descriptor")]
    // SAFETY: the closure makes one system call, fcntl(2), which is async-signal-safe, and allocates nothing.
    unsafe {
        command.pre_exec(inherit);
    }
    spawn(command)
}

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts a process from a thread that lives as long as this process: PR_SET_PDEATHSIG reports the end of the thread that forked,
/// and the caller's thread may end long before.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts processes has ended");
    let spawner = match SPAWNER.get() {
        Some(spawner) => spawner,
        None => {
            let fresh = start_spawner()?;
            SPAWNER.get_or_init(|| Mutex::new(fresh))
        }
    };
    let (answer, answered) = mpsc::channel();
    let order = (command, answer);
    spawner.lock().unwrap_or_else(PoisonError::into_inner).send(order).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn start_spawner() -> io::Result<mpsc::Sender<Order>> {
    let (orders, queue) = mpsc::channel::<Order>();
    thread::Builder::new().name("host-spawner".into()).spawn(move || {
        for (mut command, answer) in queue {
            // The caller has stopped waiting only if it died; then the child's control socket is closed, and the child ends.
            let _unheard = answer.send(command.spawn());
        }
    })?;
    Ok(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(args: &[&str]) -> Option<Result<Stage, ExitCode>> {
        Stage::asked(&mut args.iter().map(OsString::from))
    }

    #[test]
    fn a_stage_is_asked_for_by_its_own_arguments_alone() {
        for &stage in Stage::ALL {
            assert_eq!(asked(&stage.args()).and_then(Result::ok), Some(stage));
        }
        assert!(asked(&["run", "flood-relay"]).is_none());
        assert!(asked(&[]).is_none());
        assert!(asked(&[STAGE, "no such stage"]).is_some_and(|stage| stage.is_err()));
    }
}
