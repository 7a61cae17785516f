//! From a command to an agent that has introduced itself.

use std::io::Read;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::Reach;
use plimsoll_model::frame::{self, Frame as _, FromAgent, Greeting, PROTOCOL, ToAgent};

use super::bring::{self, Program};
use super::error::ErrorKind;
use super::running::{RemoteCommand, start};
use super::{Means, RemoteHost, command, kubernetes, slurm, ssh};

/// Longest silence before an agent has answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// Deadline for the end of a command that has closed its output.
const ENDING: Duration = Duration::from_secs(2);
/// Longest description that an agent sends of its machine, in bytes.
const LONGEST_GREETING: u32 = 1 << 20;

/// A command with an agent at its other end.
pub(super) struct Opened {
    pub(super) child: RemoteCommand,
    pub(super) to: ChildStdin,
    pub(super) from: ChildStdout,
    pub(super) greeting: Greeting,
    pub(super) brought: bool,
}

/// Means to reach a host, in words for the middle of a sentence.
pub(super) fn way(host: &RemoteHost) -> String {
    let way = host.reach.describe();
    way.strip_prefix("reached by ").unwrap_or(&way).to_owned()
}

pub(super) fn open(host: &RemoteHost, means: &Means, interrupt: &AtomicBool) -> Result<Opened, ErrorKind> {
    let program = &means.program;
    let (command, brings) = match &host.reach {
        Reach::Ssh(destinations) => {
            let destination = destinations.all().first().map_or("", String::as_str);
            (ssh::command(destination, program, host.lost_after), true)
        }
        Reach::Slurm(asked) => {
            let job = means.allocations.job(&host.name, || slurm::request(asked), interrupt)?;
            (slurm::command(&job, program), true)
        }
        Reach::Kubernetes(asked) => {
            let request = || kubernetes::request(asked, &host.name);
            let pod = means.allocations.job(&host.name, request, interrupt)?;
            (kubernetes::command(&pod, asked, program), true)
        }
        Reach::Command(words) => (command::command(words), false),
    };
    let (mut child, to, from) = start(command)?;
    let happened = Arc::new(Mutex::new(Instant::now()));
    let (sender, receiver) = mpsc::channel();
    let opened = thread::scope(|scope| {
        let silence_ms = u64::try_from(host.lost_after.as_millis()).unwrap_or(u64::MAX);
        let noted = Arc::clone(&happened);
        scope.spawn(move || {
            let on = || *noted.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            // The receiver is gone after a timeout.
            sender.send(converse(program, brings, silence_ms, to, from, on)).ok();
        });
        let since = || happened.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        let given_up = loop {
            match receiver.recv_timeout(LOOK) {
                Ok(opened) => return opened,
                Err(RecvTimeoutError::Disconnected) => return Err(ErrorKind::Silent),
                Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Acquire) => {
                    break ErrorKind::Interrupted;
                }
                Err(RecvTimeoutError::Timeout) if since() >= PATIENCE => {
                    break ErrorKind::TooLong {
                        reach: way(host),
                        seconds: PATIENCE.as_secs(),
                        words: child.words(),
                    };
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        // The conversation ends with its streams.
        child.kill();
        Err(given_up)
    });
    match opened {
        Ok((to, from, greeting, brought)) => Ok(Opened { child, to, from, greeting, brought }),
        Err(ErrorKind::Silent) => {
            let how = child.wait(ENDING);
            child.kill();
            let how = how.unwrap_or_else(|| "it kept running without its output".into());
            Err(ErrorKind::Ended { reach: way(host), how, words: child.words() })
        }
        Err(why) => {
            child.kill();
            Err(why)
        }
    }
}

type Conversation = (ChildStdin, ChildStdout, Greeting, bool);

fn converse(
    program: &Program,
    brings: bool,
    silence_ms: u64,
    mut to: ChildStdin,
    mut from: ChildStdout,
    on: impl Fn(),
) -> Result<Conversation, ErrorKind> {
    let brought = brings && bring::bring(program, &mut to, &mut from, &on)?;
    // The end of its output reveals an agent that has gone.
    frame::write(&mut to, &ToAgent::Greet { protocol: PROTOCOL, silence_ms }).ok();
    let greeting = hear(&mut from)?;
    Ok((to, from, greeting, brought))
}

/// Reads the agent's description of its machine. The error quotes a peer that is no agent.
fn hear(from: &mut impl Read) -> Result<Greeting, ErrorKind> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(|_| ErrorKind::Silent)?;
    let bytes = u32::from_be_bytes(length);
    if bytes > LONGEST_GREETING {
        let mut more = [0; 60];
        let read = from.read(&mut more).unwrap_or(0);
        let said = [&length[..], &more[..read]].concat();
        return Err(ErrorKind::NoFrames { said: String::from_utf8_lossy(&said).into_owned() });
    }
    let mut body = vec![0; bytes as usize];
    from.read_exact(&mut body).map_err(|_| ErrorKind::Silent)?;
    match FromAgent::from_json(&body) {
        Ok(FromAgent::Greeting(greeting)) => Ok(*greeting),
        _ => {
            let said = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            Err(ErrorKind::NoFrames { said })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_agent_is_quoted() {
        let error = hear(&mut "Last login: Tue Nov 24\nanything".as_bytes()).unwrap_err();
        let error = error.of("db").to_string();
        assert!(error.contains("says \"Last login: Tue"), "{error}");
        let mut frame = Vec::new();
        frame::write(&mut frame, &FromAgent::Done { id: 1 }).unwrap();
        assert!(matches!(hear(&mut frame.as_slice()), Err(ErrorKind::NoFrames { .. })));
        assert!(matches!(hear(&mut "La".as_bytes()), Err(ErrorKind::Silent)));
    }

    #[test]
    fn a_command_that_ends_or_is_missing_is_reported_with_its_last_words() {
        let refusal = |words: &[&str]| {
            let host = RemoteHost {
                name: "db".into(),
                reach: Reach::Command(words.iter().map(|word| (*word).to_owned()).collect()),
                address: None,
                may_be_root: false,
                lost_after: Duration::from_secs(30),
            };
            let opened = open(&host, &Means::with(Program::of_bytes(b"")), &AtomicBool::new(false));
            opened.err().expect("there is no agent").of("db").to_string()
        };
        let words = refusal(&["sh", "-c", "echo no route to it >&2; exit 7"]);
        assert!(
            words.contains("ended before an agent answered (exit status: 7); it said: no route to it"),
            "{words}"
        );
        let words = refusal(&["/nowhere/at-all"]);
        assert!(words.starts_with("host db: starting /nowhere/at-all: No such file"), "{words}");
        let words = refusal(&["echo", "I am something else altogether"]);
        assert!(words.contains("says \"I am something else"), "{words}");
    }
}
