//! The stages that the program is started as beside being what it is: which arguments ask for which.

use std::ffi::OsString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::Signal;

use crate::reexec::{EMULATOR, FAILED, GUARD, POUR, STAGE, TRY, UNDO, die_with, failed, take_control};
use crate::{access, emulator, guard, guest, pace, supervisor, undo};

/// Runs the hidden stage that these arguments (of the process, with its name) ask for; none if they ask for none, and the process is
/// to go on as what it is.
///
/// To be called first in `main`, before any thread is started.
#[must_use]
pub fn stage(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter();
    if args.next()? == guest::INIT {
        return Some(guest::init::stage());
    }
    if args.next()? != STAGE {
        return None;
    }
    let stage = args.next()?;
    if stage == TRY {
        return Some(try_namespaces());
    }
    if stage == EMULATOR {
        return Some(be_emulator(args));
    }
    if stage == POUR {
        return Some(pace::pour());
    }
    if stage == UNDO {
        return Some(be_undo_process(args));
    }
    if stage == GUARD {
        return Some(guard::stage(args));
    }
    Some(supervisor::stage(&stage, args))
}

fn be_emulator(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some((control, controller)) = take_control(&mut args) else { return ExitCode::from(FAILED) };
    match die_with(controller, Signal::SIGKILL) {
        Ok(true) => emulator::stage(&control, args),
        Ok(false) => ExitCode::from(FAILED),
        Err(errno) => failed(&control, "asking to die with the controller", errno),
    }
}

/// It is not to die with the controller, but to notice its death.
fn be_undo_process(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let number = args.next().and_then(|text| text.to_str()?.parse::<i32>().ok());
    let Some(number) = number else { return ExitCode::from(FAILED) };
    #[expect(unsafe_code, reason = "a descriptor that was inherited is known by its number alone")]
    // SAFETY: the controller opened this descriptor for this process and told its number; nothing else here knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    match fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
        Ok(_) => undo::stage(socket.into()),
        Err(_) => ExitCode::from(FAILED),
    }
}

fn try_namespaces() -> ExitCode {
    match access::attempt() {
        Ok(()) => println!("ok"),
        Err((operation, errno)) => println!("{} {operation}", errno as i32),
    }
    ExitCode::SUCCESS
}
