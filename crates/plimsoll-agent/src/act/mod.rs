//! Actions in the middle of a trial: on this host, or on one of its services.

mod fill;
mod rules;

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use plimsoll_model::experiment::{ActionKind, RunProgram, SetSysctls, SignalName};
use plimsoll_model::frame::{Failure, FromAgent, Id, VolumePlace};

use self::fill::Filled;
use crate::folder::give_to_nobody;
use crate::outbox::Outbox;
use crate::sandbox::{Entry, Kind};
use crate::service::Services;
use crate::{child, exec, other, program, settings};

/// Time between two checks whether a program has ended.
const END_POLL: Duration = Duration::from_millis(2);
/// Characters of a program's stderr that an error quotes, from the end.
const STDERR_QUOTED: usize = 1000;

/// An action that the controller requests.
pub(crate) struct ActionRequest {
    pub(crate) action: ActionKind,
    /// The target, if it is a service.
    pub(crate) service: Option<Id>,
    /// The target, if it is a volume.
    pub(crate) volume: Option<VolumePlace>,
}

/// Actions in the middle of a trial, and the effects that outlast them.
#[derive(Default)]
pub(crate) struct Acts {
    filled: Filled,
}

impl Acts {
    /// Runs the action and replies. Slow actions run in a thread, so that the agent still accepts other requests.
    pub(crate) fn act(
        &self,
        outbox: &Outbox,
        services: &Services,
        id: Id,
        asked: ActionRequest,
    ) -> io::Result<()> {
        if let ActionKind::Signal(signal) = &asked.action {
            let sent = asked.service.ok_or_else(|| other("send a signal", "the service does not run"));
            let sent = sent.and_then(|service| services.signal(service, signal_of(signal.signal)));
            return outbox.send(&answer(id, sent.map(|()| String::new())));
        }
        let (outbox, filled) = (outbox.clone(), self.filled.clone());
        let doing = thread::Builder::new().name("act".into());
        doing.spawn(move || outbox.send_or_drop(&answer(id, do_on_host(&asked, &filled)))).map(drop)
    }
}

fn answer(id: Id, done: Result<String, Failure>) -> FromAgent {
    match done {
        Ok(note) => FromAgent::Acted { id, note },
        Err(why) => FromAgent::Failed { id: Some(id), why },
    }
}

fn do_on_host(asked: &ActionRequest, filled: &Filled) -> Result<String, Failure> {
    match &asked.action {
        ActionKind::Run(run) => run_program(run).map(|()| String::new()),
        ActionKind::Set(SetSysctls { sysctls, .. }) => {
            sysctls.iter().try_for_each(|(name, value)| settings::set(name, &value.to_string()))?;
            Ok(String::new())
        }
        ActionKind::Fill(fill) => filled.fill(fill, asked.volume.as_ref()),
        ActionKind::FlushRules(_) => rules::flush(),
        // Services are known where they were started, links and loads by the controller.
        ActionKind::Signal(_)
        | ActionKind::Restart(_)
        | ActionKind::Kill(_)
        | ActionKind::Stop(_)
        | ActionKind::Start(_)
        | ActionKind::Link(_)
        | ActionKind::StartLoad(_)
        | ActionKind::StopLoad(_) => Err(other("do that", "it is not done to a host")),
    }
}

fn signal_of(name: SignalName) -> Signal {
    match name {
        SignalName::Stop => Signal::SIGSTOP,
        SignalName::Continue => Signal::SIGCONT,
        SignalName::HangUp => Signal::SIGHUP,
        SignalName::User1 => Signal::SIGUSR1,
        SignalName::User2 => Signal::SIGUSR2,
    }
}

fn run_program(run: &RunProgram) -> Result<(), Failure> {
    let scratch = program::make_folder()?;
    if !run.privileged {
        give_to_nobody(scratch.path())?;
    }
    let in_scratch = |word: &String| word.replace("{scratch}", &scratch.path().to_string_lossy());
    let argv: Vec<String> = run.command.iter().map(in_scratch).collect();
    let entry = exec::own(&argv, run.privileged, &[], scratch.path())?.environment(&run.env);
    to_its_end(entry.command()?, run.at_most.0).map_err(|error| other(format!("run {}", run.line()), error))
}

/// Runs a program until it ends well.
fn to_its_end(mut command: Command, at_most: Duration) -> Result<(), String> {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let group = child::group_of(&child);
    let ended = stderr_of(&mut child).and_then(|stderr| {
        let status = wait(&mut child, at_most);
        // Its children, too: they would hold its standard error open.
        child::kill(group, Signal::SIGKILL);
        Ok((status?, stderr.join().unwrap_or_default()))
    });
    match ended {
        Ok((Some(status), _)) if status.success() => Ok(()),
        Ok((Some(status), stderr)) => Err(format!("{status}{}", quoted(&stderr))),
        Ok((None, stderr)) => {
            child.wait().ok();
            Err(format!(
                "it did not end within {} s and was killed{}",
                at_most.as_secs_f64(),
                quoted(&stderr)
            ))
        }
        Err(error) => {
            child::kill(group, Signal::SIGKILL);
            child.wait().ok();
            Err(error.to_string())
        }
    }
}

fn wait(child: &mut Child, at_most: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let started = Instant::now();
    loop {
        match child.try_wait()? {
            None if started.elapsed() < at_most => thread::sleep(END_POLL),
            ended => return Ok(ended),
        }
    }
}

fn stderr_of(child: &mut Child) -> io::Result<JoinHandle<String>> {
    let stderr = child.stderr.take();
    thread::Builder::new().name("stderr".into()).spawn(move || end_of(stderr))
}

/// Reads the end of a stream until all writers have closed it.
fn end_of(stderr: Option<ChildStderr>) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    let Some(mut stderr) = stderr else { return String::new() };
    while let Ok(read @ 1..) = stderr.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..read]);
        kept.drain(..kept.len().saturating_sub(STDERR_QUOTED));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn quoted(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() { String::new() } else { format!("; its last words: {stderr}") }
}

/// Runs a program of the machine's with the agent's own rights.
fn run_own(program: &str, arguments: &[&str]) -> Option<Result<(), String>> {
    let found = exec::find(program)?;
    let command = Entry::new(Kind::Privileged, found, arguments).command();
    Some(
        command
            .map_err(|why| why.to_string())
            .and_then(|command| to_its_end(command, Duration::from_secs(60))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, at_most: Duration) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        to_its_end(command, at_most)
    }

    #[test]
    fn a_program_that_fails_is_quoted_and_one_that_does_not_end_is_killed() {
        let long = Duration::from_secs(20);
        assert_eq!(sh("echo fine >&2", long), Ok(()));
        let error = sh("echo no such table >&2; exit 3", long).unwrap_err();
        assert!(error.contains('3') && error.ends_with("its last words: no such table"), "{error}");
        let error = sh("sleep 100 & sleep 100", Duration::from_millis(50)).unwrap_err();
        assert!(error.starts_with("it did not end within 0.05 s and was killed"), "{error}");
        assert_eq!(sh("sleep 100 & exit 0", long), Ok(()), "what it left behind is not waited for");
    }
}
