//! A load in a process of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use nix::sys::signal::Signal;
use plimsoll_load::Control;
use plimsoll_model::frame::{Failure, LoadKind, LoadSpec};
use plimsoll_model::observation::{LoadResult, Progress};
use serde::{Deserialize, Serialize};

use super::PROGRESS;
use crate::sandbox::{self, Kind};
use crate::{child, other};

/// Time between two checks for an abort.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A reply of the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LoadReply {
    Progress(Progress),
    Finished(Box<LoadResult>),
    Failed(Failure),
}

/// Row of a load in the table of the sandbox.
pub(crate) fn kind_of(load: &LoadKind) -> Kind {
    match load {
        LoadKind::Kernel(load) if load.path.changes_the_network() => Kind::NetworkLoad,
        _ => Kind::Load,
    }
}

/// `plimsoll agent load`: carries out the load whose specification comes in as JSON on stdin, and dies with the agent.
pub fn main() -> ExitCode {
    let spec: LoadSpec = match child::specification("load") {
        Ok(spec) => spec,
        Err(code) => return code,
    };
    if let Err((what, error)) = sandbox::limit(kind_of(&spec.kind)) {
        tracing::error!("{what}: {error}");
        return ExitCode::FAILURE;
    }
    // The agent reads until it ends, and this process ends with it.
    let progress = |progress| drop(child::reply(&LoadReply::Progress(progress)));
    let control = Control { abort: &AtomicBool::new(false), progress: &progress, every: PROGRESS };
    let answer = match plimsoll_load::run(&spec, &control) {
        Ok(result) => LoadReply::Finished(Box::new(result)),
        Err(why) => LoadReply::Failed(why),
    };
    match child::reply(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Carries out a load in a process of its own, which dies with the calling thread.
pub(super) fn run(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let wrong = |error: io::Error| other("start the load", error);
    let mut child = child::answering("load").process_group(0).spawn().map_err(wrong)?;
    let answered = converse(&mut child, spec, control);
    // Also where the process has ended: those that it made may not have.
    child::kill(child::group_of(&child), Signal::SIGKILL);
    let status = child.wait().map_err(wrong)?;
    answered.unwrap_or_else(|| {
        Err(other("carry out the load", format!("its process ended by itself ({status})")))
    })
}

/// Sends the load and waits for its end; `None` if the process ended without a reply.
fn converse(
    child: &mut Child,
    spec: &LoadSpec,
    control: &Control<'_>,
) -> Option<Result<LoadResult, Failure>> {
    if let Err(error) = child::hand_over(child, spec) {
        return Some(Err(other("start the load", error)));
    }
    let answers = match child::replies(child.stdout.take()?) {
        Ok(answers) => answers,
        Err(error) => return Some(Err(other("start the load", error))),
    };
    loop {
        match answers.recv_timeout(LOOK_EVERY) {
            Ok(LoadReply::Progress(progress)) => (control.progress)(progress),
            Ok(LoadReply::Finished(result)) => return Some(Ok(*result)),
            Ok(LoadReply::Failed(why)) => return Some(Err(why)),
            // Requests in flight do not count, and earlier ones are lost with the process.
            Err(RecvTimeoutError::Timeout) if control.abort.load(Ordering::Acquire) => {
                return Some(Ok(LoadResult::default()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}
