//! A running command with a remote end: its process group, its streams, and its last words.

use std::convert::Infallible;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::error::ErrorKind;

/// Longest wait for the last words of an ended command.
const WORDS: Duration = Duration::from_millis(500);
/// Bytes of a command's standard error that are kept, from its end.
const KEPT: usize = 2000;

/// A running command with its process group.
#[derive(Debug)]
pub(super) struct RemoteCommand {
    child: Child,
    words: Words,
}

impl RemoteCommand {
    /// Kills it, if it has not ended.
    pub(super) fn kill(&mut self) {
        // After the wait, its number may belong to another process.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // It leads a process group of its own, in which the client of a jump host may be as well.
        if let Ok(group) = i32::try_from(self.child.id()) {
            killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
        }
        self.child.wait().ok();
    }

    /// Waits for its end, at most for `at_most`. Returns how it ended.
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

    /// End of its standard error. After the command's end, waits until all of it was read.
    pub(super) fn words(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            self.words.wait(WORDS);
        }
        let words = self.words.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// End of a command's standard error.
#[derive(Debug, Default)]
struct Words {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Closed by the reader at the end of the stream.
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

    /// Waits for the end of the stream, at most for `at_most`: children of the command may hold it open.
    fn wait(&self, at_most: Duration) {
        if let Some(listening) = &self.listening {
            listening.recv_timeout(at_most).ok();
        }
    }
}

/// Starts it.
pub(super) fn start(mut command: Command) -> Result<(RemoteCommand, ChildStdin, ChildStdout), ErrorKind> {
    // Ctrl-C on the terminal is for the controller, which then ends its hosts in order.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|source| {
        let program = command.get_program().to_string_lossy().into_owned();
        ErrorKind::Start { program, source }
    })?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut child = RemoteCommand { child, words: Words::default() };
    let (Some(to), Some(from), Some(stderr)) = streams else {
        child.kill();
        return Err(ErrorKind::Silent);
    };
    if let Err(source) = child.words.listen(stderr) {
        child.kill();
        return Err(ErrorKind::Local { what: "listening to its standard error", source });
    }
    Ok((child, to, from))
}
