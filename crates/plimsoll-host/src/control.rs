//! The socket between the controller and the first process of a host: what is said while the host is made, and, by closing, that it
//! is to end.
//!
//! The host's side writes lines; the controller's side writes a single byte, [`GO`], when the network is there.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;

/// The controller's word that the agent may start.
const GO: u8 = b'g';
/// How long a host may take over one step of its start. It takes milliseconds; this is for a machine that stands still.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the host's side says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The process id of the host's first process, as the controller sees it.
    Pid(u32),
    /// Something that had to be done differently, in words.
    Note(String),
    /// Namespaces and settings are there; waiting for [`GO`].
    Ready,
    /// The agent was started.
    Started,
    /// It ends here.
    Failed {
        /// What was tried.
        operation: String,
        /// What the kernel said.
        errno: i32,
    },
}

impl Word {
    fn to_line(&self) -> String {
        match self {
            Self::Pid(pid) => format!("pid {pid}\n"),
            Self::Note(text) => format!("note {}\n", text.replace('\n', " ")),
            Self::Ready => "ready\n".into(),
            Self::Started => "started\n".into(),
            Self::Failed { operation, errno } => {
                format!("failed {errno} {}\n", operation.replace('\n', " "))
            }
        }
    }

    fn from_line(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "pid" => rest.parse().ok().map(Self::Pid),
            "note" => Some(Self::Note(rest.into())),
            "ready" => Some(Self::Ready),
            "started" => Some(Self::Started),
            "failed" => {
                let (errno, operation) = rest.split_once(' ')?;
                Some(Self::Failed { operation: operation.into(), errno: errno.parse().ok()? })
            }
            _ => None,
        }
    }
}

/// The controller's end. Dropping it ends the host.
#[derive(Debug)]
pub(crate) struct ControllerEnd(BufReader<UnixStream>);

impl ControllerEnd {
    /// The next word; none when the host's side is gone.
    pub(crate) fn hear(&mut self) -> io::Result<Option<Word>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let unheard = || io::Error::new(io::ErrorKind::InvalidData, format!("unexpected word {line:?}"));
        Word::from_line(line.trim_end_matches('\n')).map(Some).ok_or_else(unheard)
    }

    /// Lets the agent start.
    pub(crate) fn go(&self) -> io::Result<()> {
        self.0.get_ref().write_all(&[GO])
    }
}

/// The host's end.
#[derive(Debug)]
pub(crate) struct HostEnd(UnixStream);

impl HostEnd {
    /// Takes over the socket that the supervisor was started with.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(socket.into())
    }

    /// Says something. A controller that is gone is noticed by who waits for it, not here.
    pub(crate) fn say(&self, word: &Word) {
        let _gone = (&self.0).write_all(word.to_line().as_bytes());
    }

    /// Says that an operation failed.
    pub(crate) fn fail(&self, operation: impl Into<String>, errno: Errno) {
        self.say(&Word::Failed { operation: operation.into(), errno: errno as i32 });
    }

    /// The socket itself, for a stage that has something else to wait for beside the controller.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.0
    }

    /// Waits for the controller's word; false when the controller is gone.
    pub(crate) fn wait_for_go(&self) -> bool {
        matches!((&self.0).read_exact(&mut [0; 1]), Ok(()))
    }
}

impl AsFd for HostEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Both ends; neither is inherited over an exec unless its owner says so.
pub(crate) fn pair() -> io::Result<(ControllerEnd, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PATIENCE))?;
    Ok((ControllerEnd(BufReader::new(ours)), theirs.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_heard_as_it_was_said() {
        let words = [
            Word::Pid(4711),
            Word::Note("no /proc of its own".into()),
            Word::Ready,
            Word::Started,
            Word::Failed { operation: "starting a b".into(), errno: 2 },
        ];
        let (mut controller, host) = pair().expect("a socket pair");
        let host = HostEnd::new(host);
        words.iter().for_each(|word| host.say(word));
        for word in words {
            assert_eq!(controller.hear().expect("heard"), Some(word));
        }
        drop(host);
        assert_eq!(controller.hear().expect("heard"), None);
    }

    #[test]
    fn a_host_waits_for_its_word_and_notices_when_none_will_come() {
        let (controller, host) = pair().expect("a socket pair");
        let host = HostEnd::new(host);
        controller.go().expect("written");
        assert!(host.wait_for_go());
        drop(controller);
        assert!(!host.wait_for_go());
    }
}
