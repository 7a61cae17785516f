//! From a command to an agent that has told what it is.

use std::convert::Infallible;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use plimsoll_model::experiment::Reach;
use plimsoll_model::frame::{self, FromAgent, Here, PROTOCOL, ToAgent};

use super::bring::{self, Program};
use super::error::Why;
use super::{RemoteHost, command, ssh};

/// How long nothing may happen until an agent has answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether the host is still wanted.
const LOOK: Duration = Duration::from_millis(50);
/// How long a command may take to end that has closed its output.
const ENDING: Duration = Duration::from_secs(2);
/// How long the last words of a command that has ended are waited for.
const WORDS: Duration = Duration::from_millis(500);
/// What an agent tells of itself is never longer, in bytes.
const LONGEST_HERE: u32 = 1 << 20;
/// How much is kept of what a command writes to its standard error: its end, in bytes.
const KEPT: usize = 2000;

/// A command with an agent at its other end.
pub(super) struct Opened {
    pub(super) child: Running,
    pub(super) to: ChildStdin,
    pub(super) from: ChildStdout,
    pub(super) here: Here,
    pub(super) brought: bool,
}

/// A command that runs, with what it started here.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    words: Words,
}

impl Running {
    /// Ends it at once, where it has not ended yet.
    pub(super) fn kill(&mut self) {
        // Once it was waited for, its number may be another's.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // It leads a process group of its own, in which the client of a jump host may be as well.
        if let Ok(group) = i32::try_from(self.child.id()) {
            killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
        }
        self.child.wait().ok();
    }

    /// Waits for its end, for so long; how it ended.
    pub(super) fn wait(&mut self, at_most: Duration) -> Option<String> {
        let until = Instant::now() + at_most;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status.to_string()),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    }

    /// The last that it wrote to its standard error. Of a command that has ended that is all that it wrote last: it is waited for until it was read.
    pub(super) fn words(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            self.words.wait(WORDS);
        }
        let words = self.words.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// The end of what a command writes to its standard error.
#[derive(Debug, Default)]
struct Words {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Closed by whoever listens when there is no more to hear.
    listening: Option<Receiver<Infallible>>,
}

impl Words {
    fn listen(&mut self, mut stderr: ChildStderr) -> io::Result<()> {
        let kept = Arc::clone(&self.kept);
        let (listens, listening) = mpsc::channel();
        self.listening = Some(listening);
        let listen = move || {
            let _until_its_end = listens;
            let mut chunk = [0; 1024];
            while let Ok(read @ 1..) = stderr.read(&mut chunk) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..read]);
                let too_many = kept.len().saturating_sub(KEPT);
                kept.drain(..too_many);
            }
        };
        thread::Builder::new().name("remote-stderr".into()).spawn(listen).map(drop)
    }

    /// Waits until all was heard, for so long: what the command has started may hold its standard error open.
    fn wait(&self, at_most: Duration) {
        if let Some(listening) = &self.listening {
            listening.recv_timeout(at_most).ok();
        }
    }
}

/// How a host is reached, in words for the middle of a sentence.
pub(super) fn way(host: &RemoteHost) -> String {
    let told = host.reach.describe();
    told.strip_prefix("reached by ").unwrap_or(&told).to_owned()
}

pub(super) fn open(host: &RemoteHost, program: &Program, interrupt: &AtomicBool) -> Result<Opened, Why> {
    let (command, brings) = match &host.reach {
        Reach::Ssh(destinations) => {
            let destination = destinations.all().first().map_or("", String::as_str);
            (ssh::command(destination, program, host.lost_after), true)
        }
        Reach::Command(words) => (command::command(words), false),
    };
    let (mut child, to, from) = start(command)?;
    let happened = Arc::new(Mutex::new(Instant::now()));
    let (tell, told) = mpsc::channel();
    let opened = thread::scope(|scope| {
        let silence_ms = u64::try_from(host.lost_after.as_millis()).unwrap_or(u64::MAX);
        let noted = Arc::clone(&happened);
        scope.spawn(move || {
            let on = || *noted.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            // Nobody waits any more where this cannot be told.
            tell.send(converse(program, brings, silence_ms, to, from, on)).ok();
        });
        let since = || happened.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        let given_up = loop {
            match told.recv_timeout(LOOK) {
                Ok(opened) => return opened,
                Err(RecvTimeoutError::Disconnected) => return Err(Why::Silent),
                Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Acquire) => {
                    break Why::Interrupted;
                }
                Err(RecvTimeoutError::Timeout) if since() >= PATIENCE => {
                    break Why::TooLong {
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
        Ok((to, from, here, brought)) => Ok(Opened { child, to, from, here, brought }),
        Err(Why::Silent) => {
            let how = child.wait(ENDING);
            child.kill();
            let how = how.unwrap_or_else(|| "it went on without its output".into());
            Err(Why::Ended { reach: way(host), how, words: child.words() })
        }
        Err(why) => {
            child.kill();
            Err(why)
        }
    }
}

fn start(mut command: Command) -> Result<(Running, ChildStdin, ChildStdout), Why> {
    // Ctrl-C on the terminal is for the controller, which then ends its hosts in order.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|source| {
        let program = command.get_program().to_string_lossy().into_owned();
        Why::Start { program, source }
    })?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut child = Running { child, words: Words::default() };
    let (Some(to), Some(from), Some(stderr)) = streams else {
        child.kill();
        return Err(Why::Silent);
    };
    if let Err(source) = child.words.listen(stderr) {
        child.kill();
        return Err(Why::Here { what: "listening to its standard error", source });
    }
    Ok((child, to, from))
}

type Conversation = (ChildStdin, ChildStdout, Here, bool);

fn converse(
    program: &Program,
    brings: bool,
    silence_ms: u64,
    mut to: ChildStdin,
    mut from: ChildStdout,
    on: impl Fn(),
) -> Result<Conversation, Why> {
    let brought = brings && bring::bring(program, &mut to, &mut from, &on)?;
    // An agent that has gone is noticed by the end of its output.
    frame::write(&mut to, &ToAgent::Greet { protocol: PROTOCOL, silence_ms }).ok();
    let here = hear(&mut from)?;
    Ok((to, from, here, brought))
}

/// What the agent tells of itself; what it says where it is none.
fn hear(from: &mut impl Read) -> Result<Here, Why> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(|_| Why::Silent)?;
    let bytes = u32::from_be_bytes(length);
    if bytes > LONGEST_HERE {
        let mut more = [0; 60];
        let read = from.read(&mut more).unwrap_or(0);
        let said = [&length[..], &more[..read]].concat();
        return Err(Why::NoFrames { said: String::from_utf8_lossy(&said).into_owned() });
    }
    let mut body = vec![0; bytes as usize];
    from.read_exact(&mut body).map_err(|_| Why::Silent)?;
    match serde_json::from_slice(&body) {
        Ok(FromAgent::Here(here)) => Ok(*here),
        _ => {
            let said = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            Err(Why::NoFrames { said })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_agent_is_quoted() {
        let told = hear(&mut "Last login: Tue Nov 24\nanything".as_bytes()).unwrap_err();
        let told = told.of("db").to_string();
        assert!(told.contains("says \"Last login: Tue"), "{told}");
        let mut frame = Vec::new();
        frame::write(&mut frame, &FromAgent::Done { id: 1 }).unwrap();
        assert!(matches!(hear(&mut frame.as_slice()), Err(Why::NoFrames { .. })));
        assert!(matches!(hear(&mut "La".as_bytes()), Err(Why::Silent)));
    }

    #[test]
    fn a_command_that_ends_or_is_not_there_is_told_with_its_last_words() {
        let told = |words: &[&str]| {
            let host = RemoteHost {
                name: "db".into(),
                reach: Reach::Command(words.iter().map(|word| (*word).to_owned()).collect()),
                address: None,
                may_be_root: false,
                lost_after: Duration::from_secs(30),
            };
            let opened = open(&host, &Program::of_bytes(b""), &AtomicBool::new(false));
            opened.err().expect("there is no agent").of("db").to_string()
        };
        let words = told(&["sh", "-c", "echo no route to it >&2; exit 7"]);
        assert!(
            words.contains("ended before an agent answered (exit status: 7); it said: no route to it"),
            "{words}"
        );
        let words = told(&["/nowhere/at-all"]);
        assert!(words.starts_with("host db: starting /nowhere/at-all: No such file"), "{words}");
        let words = told(&["echo", "I am something else altogether"]);
        assert!(words.contains("says \"I am something else"), "{words}");
    }
}
