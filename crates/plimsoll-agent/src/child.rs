//! Children of the agent that are this program again, as `plimsoll agent ROLE`: they die with the agent. Some of them get a
//! specification as JSON on their stdin, and answer on their stdout, a line of JSON for each answer.

use std::ffi::{CString, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::oom_killer;

/// Variables of the agent that every program gets: search path, language, time zone, and the mark by which processes of a run are found
/// (`plimsoll_host::MARKER`).
const PASSED: [&str; 5] = ["PATH", "LANG", "LANGUAGE", "TZ", "PLIMSOLL_CONTROLLER"];
/// Prefix of further names.
const PASSED_BEGINNING: &str = "LC_";

/// Variables of the agent that a program gets: the usual ones, and `more` by name.
pub(crate) fn passed_environment(more: &[String]) -> Vec<(OsString, OsString)> {
    let passed = |name: &OsString| {
        PASSED.iter().any(|passed| name == passed)
            || name.as_bytes().starts_with(PASSED_BEGINNING.as_bytes())
            || more.iter().any(|passed| name == passed.as_str())
    };
    std::env::vars_os().filter(|(name, _)| passed(name)).collect()
}

/// Limits a command's environment to the variables that every program gets.
pub(crate) fn clean_environment(command: &mut Command) {
    command.env_clear().envs(passed_environment(&[]));
}

/// The command that starts a child in a role, with little of the agent's environment.
pub(crate) fn command(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", role]);
    clean_environment(&mut command);
    command
}

/// Like [`command`], for a child that gets a specification and replies.
pub(crate) fn answering(role: &str) -> Command {
    let mut command = command(role);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Names this process after its role, for ps(1): it was started through a link, whose name (`exe`) it has.
pub(crate) fn call_itself(name: &str) {
    if let Ok(name) = CString::new(name) {
        // A name without effect is no reason to do nothing. The kernel cuts it off after 15 bytes.
        let _ = prctl::set_name(&name);
    }
}

/// Sends a child its specification. A child that ended before it read this is noticed by its silence.
pub(crate) fn hand_over(child: &mut Child, spec: &impl Serialize) -> io::Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        let text = serde_json::to_vec(spec)?;
        stdin.write_all(&text).ok();
    }
    Ok(())
}

/// Replies of a child, until it closes its stdout. Other lines are skipped.
///
/// # Errors
/// When no reader thread can be started, as at a limit on processes.
pub(crate) fn replies<T: DeserializeOwned + Send + 'static>(stdout: ChildStdout) -> io::Result<Receiver<T>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("answers".into()).spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for reply in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            if sender.send(reply).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// The process group that a child leads.
pub(crate) fn group_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id fits in an i32"))
}

/// Signals a process group; that it is gone already is no error.
pub(crate) fn kill(group: Pid, signal: Signal) {
    killpg(group, signal).ok();
}

/// In a child: makes it die with the agent, and reads the specification of `what`; else the child's exit status.
pub(crate) fn specification<T: DeserializeOwned>(what: &str) -> Result<T, ExitCode> {
    oom_killer::go_first();
    if !die_with_parent() {
        return Err(ExitCode::FAILURE);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).and_then(|_| Ok(serde_json::from_str(&text)?)).map_err(|error| {
        tracing::error!("the {what}'s specification cannot be read: {error}");
        ExitCode::from(2)
    })
}

/// In a child: sends the agent a reply, as one line of JSON on stdout.
pub(crate) fn reply(reply: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, reply)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

/// In a child: asks the kernel to kill this process when its parent dies; false where the parent is gone already.
pub(crate) fn die_with_parent() -> bool {
    let parent = nix::unistd::getppid();
    prctl::set_pdeathsig(Signal::SIGKILL).is_ok() && nix::unistd::getppid() == parent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_few_variables_are_passed_on() {
        let names: Vec<_> = passed_environment(&[]).into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().any(|name| name == "PATH"), "{names:?}");
        assert!(names.iter().all(|name| !name.as_bytes().starts_with(b"CARGO")), "{names:?}");
        let more = passed_environment(&["CARGO_MANIFEST_DIR".to_owned()]);
        assert_eq!(more.len(), names.len() + 1);
    }
}
