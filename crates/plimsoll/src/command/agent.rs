//! `plimsoll agent`: what runs on a host. Not for users; a controller starts it.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_agent::sandbox::{self, Kernel};
use plimsoll_host::Patience;

use crate::messages;

/// Longest wait for a setting of a remote machine that another run holds: the controller waits for the agent meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// The agent itself, or a process of it: `service` becomes a built-in service, `load` carries out a load, `exec` a program that passes the gate.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    if let Err(error) = plimsoll_host::leave_session_keyring() {
        messages::say(format_args!("plimsoll agent: leaving the caller's session keyring: {error}"));
        return ExitCode::FAILURE;
    }
    match args.split_first() {
        None => match plimsoll_agent::run(io::stdin(), io::stdout(), change_settings) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                messages::say(format_args!("plimsoll agent: {error}"));
                ExitCode::FAILURE
            }
        },
        Some((word, [])) if word == "service" => plimsoll_agent::service::main(),
        Some((word, [])) if word == "load" => plimsoll_agent::load_main(),
        Some((word, [])) if word == "exec" => sandbox::main(&Kernel { fork: plimsoll_host::fork_alone }),
        Some(_) => {
            messages::say(
                "plimsoll agent: plimsoll starts this command itself; it exchanges frames over stdin and stdout",
            );
            ExitCode::from(2)
        }
    }
}

/// Changes settings of an existing machine. Dropping the returned value restores them, through a process that outlives this one.
fn change_settings(settings: &BTreeMap<String, String>) -> Result<Box<dyn Any + Send>, String> {
    let never = AtomicBool::new(false);
    let patience = Patience { interrupt: &never, limit: PATIENCE };
    match plimsoll_host::change_machine(settings, patience) {
        Ok(undo) => Ok(Box::new(undo)),
        Err(error) => Err(error.to_string()),
    }
}
