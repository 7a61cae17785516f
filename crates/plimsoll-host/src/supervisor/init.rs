//! Process 1 of a namespace host.

use std::process::ExitCode;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::sethostname;

use super::scratch::Scratch;
use super::{Orders, exit_like, release_pipes, start_agent};
use crate::control::{HostEnd, Word};
use crate::guest;
use crate::own::settings;
use crate::reexec::failed;
use crate::tend::tend;

/// Readies the namespaces, starts the agent, and ends with it or with the controller. The kernel then ends the rest.
pub(super) fn run(orders: &Orders) -> ExitCode {
    if let Err((operation, errno)) = prepare(orders) {
        return failed(&orders.control, operation, errno);
    }
    let scratch = match scratch(&orders.control) {
        Ok(scratch) => scratch,
        Err(errno) => {
            return failed(&orders.control, "making a folder for the files of its services", errno);
        }
    };
    for mount in &orders.host.mounts {
        let made = if scratch.is_own() { mount.make() } else { Err(Errno::EPERM) };
        if let Err(errno) = made {
            return failed(&orders.control, format!("mounting the volume at {}", mount.at.display()), errno);
        }
    }
    orders.control.say(&Word::Ready);
    if let Some(guest) = &orders.host.guest {
        return keep_guest(guest, orders);
    }
    match start_agent(orders, scratch.path()) {
        Ok(agent) => {
            orders.control.say(&Word::Started);
            exit_like(tend(agent, &orders.control))
        }
        Err(code) => code,
    }
}

/// Boots the guest in which the agent runs, and ends with it.
fn keep_guest(guest: &guest::Orders, orders: &Orders) -> ExitCode {
    if !orders.control.wait_for_go() {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = orders.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let guest = match guest::boot(guest, &orders.program, &args, &orders.control) {
        Ok(guest) => guest,
        Err(error) => return guest::tell(&orders.control, error),
    };
    if let Err(errno) = release_pipes() {
        return failed(&orders.control, "letting go of the agent's pipes", errno);
    }
    orders.control.say(&Word::Started);
    let status = tend(guest.pid(), &orders.control);
    orders.control.say(&Word::LastLines(guest.last_lines()));
    exit_like(status)
}

fn prepare(orders: &Orders) -> Result<(), (String, Errno)> {
    let at = |operation: &str| {
        let operation = operation.to_owned();
        move |errno| (operation, errno)
    };
    // The supervisor's death. An earlier death, or a number that means nothing in here, does not matter: the control
    // socket reports the controller's death in any case.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(at("asking to die with the supervisor"))?;
    sethostname(&orders.host.host).map_err(at("setting the host name"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(at("keeping its mounts to itself"))?;
    mount_proc(&orders.control);
    settings(orders.host.forward)
}

/// Shows the host's own processes in `/proc`. Containers that hide parts of `/proc` forbid it; the machine's is then left in place.
fn mount_proc(control: &HostEnd) {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    if let Err(errno) = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>) {
        let why = errno.desc();
        control.say(&Word::Note(format!(
            "/proc shows the processes of the whole machine, because the kernel refused to mount another: {why}"
        )));
    }
}

/// Folder for the files of services. Without `/dev/shm`, or without the right to mount, it is a folder among other users' ones.
fn scratch(control: &HostEnd) -> Result<Scratch, Errno> {
    Scratch::mounted().or_else(|errno| {
        let why = errno.desc();
        control.say(&Word::Note(format!(
            "files of services are kept among those of the machine, because the kernel refused a file system of the host's own: {why}"
        )));
        Scratch::made()
    })
}
