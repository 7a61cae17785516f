//! The processes between the controller and an agent, each a hidden stage of the controller's own executable.
//!
//! For a namespace host, the **supervisor** makes the namespaces and forks **init**, process 1 in them, which starts the agent and ends
//! with the agent or the controller. For a local host, the supervisor does it all, and collects the orphans itself.

mod init;
mod scratch;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::errno::Errno;
use nix::sched::unshare;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};

use crate::access;
use crate::control::{HostEnd, Word, orders, read_orders};
use crate::guest;
use crate::own::SCRATCH;
use crate::own_process::fork_alone;
use crate::reexec::{FAILED, Stage, die_with, errno_of, failed, take_control};
use crate::tend::{self, tend};
use crate::volume::Mount;
use nix::unistd::{Pid, getpid};
use scratch::Scratch;
use serde::{Deserialize, Serialize};

/// Orders of a supervisor beside the program. They stand in its arguments, where `ps` shows them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostOrders {
    pub(crate) host: String,
    pub(crate) forward: bool,
    pub(crate) mounts: Vec<Mount>,
    /// Guest that runs in the namespaces, with the agent inside.
    pub(crate) guest: Option<guest::Orders>,
}

struct Orders {
    control: HostEnd,
    controller: Pid,
    host: HostOrders,
    program: PathBuf,
    args: Vec<OsString>,
}

/// The arguments of a supervisor, as [`Orders::from_args`] reads them.
pub(crate) fn arguments(stage: Stage, control: RawFd, host: &HostOrders) -> [OsString; 5] {
    let controller = getpid().to_string();
    let [first, name] = stage.args();
    [first.into(), name.into(), control.to_string().into(), controller.into(), orders(host)]
}

impl Orders {
    fn from_args(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let (control, controller) = take_control(&mut args)?;
        Some(Self {
            control,
            controller,
            host: read_orders(&args.next()?)?,
            program: args.next()?.into(),
            args: args.collect(),
        })
    }

    fn agent(&self) -> Command {
        let mut agent = Command::new(&self.program);
        agent.args(&self.args);
        agent
    }
}

/// Protects this process, its init and its agent from the kernel's out-of-memory killer: they report what happened. That needs CAP_SYS_RESOURCE
/// of the machine (proc_pid_oom_score_adj(5)); without it, the agent's children raise their own scores.
fn stay_when_memory_runs_out() {
    std::fs::write("/proc/self/oom_score_adj", "-900").ok();
}

fn keep_namespace(orders: Orders) -> ExitCode {
    match die_with(orders.controller, Signal::SIGKILL) {
        Ok(true) => {}
        Ok(false) => return ExitCode::from(FAILED),
        Err(errno) => return failed(&orders.control, "asking to die with the controller", errno),
    }
    if let Err(errno) = unshare(access::HOST_NAMESPACES) {
        return failed(&orders.control, "making its namespaces", errno);
    }
    let init = match fork_alone() {
        Ok(None) => return init::run(&orders),
        Ok(Some(child)) => child,
        Err(error) => return failed(&orders.control, "forking its first process", errno_of(&error)),
    };
    orders.control.say(&Word::Pid(init.as_raw().unsigned_abs()));
    // The end of the agent's pipes and of the control socket must not wait for this process.
    drop(orders);
    if let Err(errno) = release_pipes() {
        tracing::error!("plimsoll: host supervisor: letting go of the agent's pipes: {}", errno.desc());
    }
    exit_like(waitpid(init, None))
}

fn keep_local(orders: &Orders) -> ExitCode {
    // SIGTERM, since it has to end its agent's children before it goes: no kernel does that for it.
    match die_with(orders.controller, Signal::SIGTERM).and_then(|alive| {
        prctl::set_child_subreaper(true)?;
        Ok(alive)
    }) {
        Ok(true) => {}
        Ok(false) => return ExitCode::from(FAILED),
        Err(errno) => return failed(&orders.control, "asking for a signal at the controller's death", errno),
    }
    orders.control.say(&Word::Ready);
    let scratch = match Scratch::made() {
        Ok(scratch) => scratch,
        Err(errno) => return failed(&orders.control, "making a folder for the files of its services", errno),
    };
    let status = match start_agent(orders, scratch.path()) {
        Ok(agent) => {
            orders.control.say(&Word::Pid(agent.as_raw().unsigned_abs()));
            orders.control.say(&Word::Started);
            tend(agent, &orders.control)
        }
        Err(code) => return code,
    };
    let killed = tend::kill_descendants();
    if let Err(error) = killed {
        tracing::error!("plimsoll: host supervisor: ending the agent's children: {error}");
    }
    exit_like(status)
}

/// Waits for the controller's order, then starts the agent and leaves the standard streams to it.
fn start_agent(orders: &Orders, scratch: &Path) -> Result<Pid, ExitCode> {
    if !orders.control.wait_for_go() {
        return Err(ExitCode::SUCCESS);
    }
    let started = orders.agent().env(SCRATCH, scratch).spawn();
    let agent = started.map_err(|error| {
        let operation = format!("starting the agent {}", orders.program.display());
        failed(&orders.control, operation, errno_of(&error))
    })?;
    release_pipes().map_err(|errno| failed(&orders.control, "letting go of the agent's pipes", errno))?;
    Ok(Pid::from_raw(agent.id().cast_signed()))
}

/// Closes this process's copies of the agent's stdin and stdout. Standard error stays, for a stage's own messages.
fn release_pipes() -> Result<(), Errno> {
    let null = File::options().read(true).write(true).open("/dev/null").map_err(|e| errno_of(&e))?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)
}

/// Exits with the status of another process; as a shell does, 128 and the signal where a signal ended it.
fn exit_like(status: Result<WaitStatus, Errno>) -> ExitCode {
    let code = match status {
        Ok(WaitStatus::Exited(_, code)) => code,
        Ok(WaitStatus::Signaled(_, signal, _)) => 128 + signal as i32,
        _ => i32::from(FAILED),
    };
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(FAILED))
}

/// The stage that keeps a namespace host.
pub(crate) fn namespace(args: impl Iterator<Item = OsString>) -> ExitCode {
    keep(args, keep_namespace)
}

/// The stage that keeps a local host.
pub(crate) fn local(args: impl Iterator<Item = OsString>) -> ExitCode {
    keep(args, |orders| keep_local(&orders))
}

fn keep(args: impl Iterator<Item = OsString>, host: fn(Orders) -> ExitCode) -> ExitCode {
    let Some(orders) = Orders::from_args(args) else {
        return ExitCode::from(FAILED);
    };
    stay_when_memory_runs_out();
    host(orders)
}
