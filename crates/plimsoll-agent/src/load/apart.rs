//! A load in a process of its own.
//!
//! The process gets the load's specification on its stdin and answers on its stdout, a line of JSON for each answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use plimsoll_load::Control;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{LoadResult, Progress};
use serde::{Deserialize, Serialize};

use super::PROGRESS;
use crate::other;
use crate::service::{die_with_parent, tell};

/// How often it is looked whether the load is to end early.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the process answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Progress(Progress),
    Finished(Box<LoadResult>),
    Failed(Failure),
}

/// `plimsoll agent load`: carries out the load whose specification comes in as JSON on stdin, and dies with the agent.
#[must_use]
pub fn main() -> ExitCode {
    if !die_with_parent() {
        return ExitCode::FAILURE;
    }
    let mut text = String::new();
    let spec: LoadSpec =
        match io::stdin().read_to_string(&mut text).and_then(|_| Ok(serde_json::from_str(&text)?)) {
            Ok(spec) => spec,
            Err(error) => {
                eprintln!("the load's specification cannot be read: {error}");
                return ExitCode::from(2);
            }
        };
    // Whoever does not listen any more has ended, and this process with it.
    let progress = |progress| drop(tell(&Told::Progress(progress)));
    let control = Control { abort: &AtomicBool::new(false), progress: &progress, every: PROGRESS };
    let answer = match plimsoll_load::run(&spec, &control) {
        Ok(result) => Told::Finished(Box::new(result)),
        Err(why) => Told::Failed(why),
    };
    match tell(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Carries out a load in a process of its own, which dies with the calling thread.
pub(super) fn run(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let wrong = |error: io::Error| other("start the load", error);
    let mut child = Command::new("/proc/self/exe")
        .args(["agent", "load"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(wrong)?;
    let answered = converse(&mut child, spec, control);
    // Also where the process has ended: those that it made may not have. That all of them are gone already is no error.
    killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).ok();
    let status = child.wait().map_err(wrong)?;
    answered.unwrap_or_else(|| {
        Err(other("carry out the load", format!("its process ended by itself ({status})")))
    })
}

/// Hands the load over and waits for its end; nothing where the process ended without an answer.
fn converse(
    child: &mut Child,
    spec: &LoadSpec,
    control: &Control<'_>,
) -> Option<Result<LoadResult, Failure>> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let text = match serde_json::to_vec(spec) {
        Ok(text) => text,
        Err(error) => return Some(Err(other("start the load", error))),
    };
    // A process that ended before it read this is noticed by its silence.
    stdin?.write_all(&text).ok();
    let answers = answers(stdout?);
    loop {
        match answers.recv_timeout(LOOK_EVERY) {
            Ok(Told::Progress(progress)) => (control.progress)(progress),
            Ok(Told::Finished(result)) => return Some(Ok(*result)),
            Ok(Told::Failed(why)) => return Some(Err(why)),
            // What is under way is not counted, and all before it is lost with the process.
            Err(RecvTimeoutError::Timeout) if control.abort.load(Ordering::Acquire) => {
                return Some(Ok(LoadResult::default()));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Reads answers in a thread, until the process closes its stdout.
fn answers(stdout: ChildStdout) -> Receiver<Told> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for told in lines.map_while(|line| serde_json::from_str(&line).ok()) {
            if sender.send(told).is_err() {
                return;
            }
        }
    });
    receiver
}
