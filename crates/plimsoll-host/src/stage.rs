//! Dispatch of the hidden stages by the program's arguments.

use std::ffi::OsString;
use std::process::ExitCode;

use nix::sys::signal::Signal;

use crate::reexec::{FAILED, Stage, die_with, failed, take_control, take_socket};
use crate::{access, codec, emulator, guard, guest, own_process, pace, supervisor, undo};

/// Runs the hidden stage that these arguments (of the process, with its name) request; returns `None` without a request. Either way, children
/// of this process inherit no descriptor above standard error.
///
/// To be called first in `main`, before any thread is started.
pub fn stage(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    own_process::inherit_nothing();
    let mut args = args.into_iter();
    if args.next()? == guest::INIT {
        return Some(guest::init::stage());
    }
    let stage = match Stage::asked(&mut args)? {
        Ok(stage) => stage,
        Err(code) => return Some(code),
    };
    Some(match stage {
        Stage::Try => try_namespaces(),
        Stage::Namespace => supervisor::namespace(args),
        Stage::Local => supervisor::local(args),
        Stage::Emulator => be_emulator(args),
        Stage::Pour => pace::pour(),
        Stage::Undo => be_undo_process(args),
        Stage::Guard => guard::stage(args),
        Stage::Share => guest::share_stage(args),
    })
}

fn be_emulator(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some((control, controller)) = take_control(&mut args) else { return ExitCode::from(FAILED) };
    match die_with(controller, Signal::SIGKILL) {
        Ok(true) => emulator::stage(&control, args),
        Ok(false) => ExitCode::from(FAILED),
        Err(errno) => failed(&control, "asking to die with the controller", errno),
    }
}

/// Runs the undo process. It must not die with the controller, but notice its death.
fn be_undo_process(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    take_socket(&mut args).map_or(ExitCode::from(FAILED), |socket| undo::stage(socket.into()))
}

fn try_namespaces() -> ExitCode {
    let tried = access::attempt().map_err(|(operation, errno)| (operation, errno as i32));
    match codec::to_line(&tried) {
        Ok(line) => {
            print!("{line}");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(FAILED),
    }
}
