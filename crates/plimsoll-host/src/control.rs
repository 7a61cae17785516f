//! The socket between the controller and the first process of a host: messages while the host is created. Closing the
//! socket ends the host.
//!
//! The host's side sends [`Word`]s and the controller's side [`Order`]s, each a line of the [`codec`]. One argument of a
//! stage has its orders, in the same form ([`orders`], [`read_orders`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec;
use crate::counts::EmulatorCounts;
use crate::guest_error::BootFailure;

/// The longest order, in bytes.
const LONGEST_ORDER: usize = 4096;
/// Deadline for one step of a host's start. It takes milliseconds, except on a machine that stands still.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether no message came in time.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Message of the controller's side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// The network is there, and the agent may start; a running emulator sends its counts.
    Go,
    /// A change of the shape.
    Change(Value),
}

/// Message of the host's side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The process id of the host's first process, as the controller sees it.
    Pid(u32),
    /// Note for the user about something done differently.
    Note(String),
    /// Namespaces and settings are there; waiting for [`Order::Go`].
    Ready,
    /// The agent was started.
    Started,
    /// The host stops, because the kernel refused something.
    Failed {
        /// The operation that failed.
        operation: String,
        /// The kernel's error.
        errno: i32,
    },
    /// The host stops, because a guest did not come up.
    Refused {
        /// Why.
        why: BootFailure,
        /// The last lines of the guest's console; empty where there are none.
        console: String,
    },
    /// A guest that ran has ended; these are the last lines of its console.
    LastLines(String),
    /// A guest asks its host's init for CLOCK_MONOTONIC_RAW of the machine; the reply is a line with the nanoseconds.
    Time,
    /// Counts of an emulator.
    Counts(EmulatorCounts),
}

impl Word {
    pub(crate) fn to_line(&self) -> String {
        codec::to_line(self).expect("a word is texts and numbers")
    }
}

/// Encodes the settings of a stage as one command-line argument of its process.
pub(crate) fn orders(orders: &impl Serialize) -> OsString {
    serde_json::to_string(orders).expect("orders are texts and numbers").into()
}

/// Reads the output of [`orders`]; `None` if it is something else.
pub(crate) fn read_orders<T: DeserializeOwned>(argument: &OsStr) -> Option<T> {
    serde_json::from_str(argument.to_str()?).ok()
}

/// The controller's end. Dropping it ends the host.
#[derive(Debug)]
pub(crate) struct ControllerEnd(BufReader<UnixStream>);

impl ControllerEnd {
    /// The next word; `None` when the host's side is gone.
    pub(crate) fn hear(&mut self) -> io::Result<Option<Word>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        codec::from_line(&line).map(Some)
    }

    /// The unread words of the host's side, until it is gone or silent for `patience`.
    pub(crate) fn hear_rest(&mut self, patience: Duration) -> io::Result<Vec<Word>> {
        self.set_patience(patience)?;
        let mut heard = Vec::new();
        let ended = loop {
            match self.hear() {
                Ok(Some(word)) => heard.push(word),
                Ok(None) => break Ok(()),
                Err(error) if is_timeout(&error) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.set_patience(PATIENCE)?;
        ended.map(|()| heard)
    }

    /// Sets how long [`Self::hear`] waits.
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(Some(patience))
    }

    /// Orders a change.
    pub(crate) fn change(&self, what: &impl Serialize) -> io::Result<()> {
        self.order(&Order::Change(serde_json::to_value(what)?))
    }

    /// Lets the agent start.
    pub(crate) fn go(&self) -> io::Result<()> {
        self.order(&Order::Go)
    }

    fn order(&self, order: &Order) -> io::Result<()> {
        self.0.get_ref().write_all(codec::to_line(order)?.as_bytes())
    }
}

/// What a stage with other work finds on its control socket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ControllerEvent {
    /// No order.
    Nothing,
    /// The controller asks for the counters.
    Question,
    /// The controller orders a change.
    Change(Value),
    /// The controller has closed its end.
    End,
}

/// The host's end.
#[derive(Debug)]
pub(crate) struct HostEnd(UnixStream);

impl HostEnd {
    /// Takes over the socket that the supervisor was started with.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(socket.into())
    }

    /// Sends a word. The death of the controller is noticed elsewhere.
    pub(crate) fn say(&self, word: &Word) {
        let _gone = (&self.0).write_all(word.to_line().as_bytes());
    }

    /// Reports a failed operation.
    pub(crate) fn fail(&self, operation: impl Into<String>, errno: Errno) {
        self.say(&Word::Failed { operation: operation.into(), errno: errno as i32 });
    }

    /// The socket itself, for a stage that waits for other events, too.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.0
    }

    /// Takes the pending order, if any. Waits for the rest of an order that has begun.
    pub(crate) fn poll(&self) -> io::Result<ControllerEvent> {
        let mut first = [0; 1];
        match (&self.0).read(&mut first) {
            Ok(1) => {
                self.0.set_nonblocking(false)?;
                let order = self.order(&first);
                self.0.set_nonblocking(true)?;
                order.map(|order| match order {
                    Order::Go => ControllerEvent::Question,
                    Order::Change(what) => ControllerEvent::Change(what),
                })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(ControllerEvent::Nothing),
            _ => Ok(ControllerEvent::End),
        }
    }

    /// Waits for the rest of an order that begins with `begun`, and reads no further.
    fn order(&self, begun: &[u8]) -> io::Result<Order> {
        let mut line = String::new();
        let mut rest = BufReader::with_capacity(1, begun.chain(&self.0)).take(LONGEST_ORDER as u64);
        rest.read_line(&mut line)?;
        codec::from_line(&line)
    }

    /// Waits for [`Order::Go`]; false when the controller is gone.
    pub(crate) fn wait_for_go(&self) -> bool {
        matches!(self.order(&[]), Ok(Order::Go))
    }
}

impl AsFd for HostEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Both ends. Both close at an exec.
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
            Word::Refused { why: BootFailure::KernelEnded, console: "one line\nand \"another\"".into() },
            Word::Counts(EmulatorCounts { frames: 7, ..EmulatorCounts::default() }),
        ];
        let (mut controller, host) = pair().expect("a socket pair");
        let host = HostEnd::new(host);
        words.iter().for_each(|word| host.say(word));
        for word in words {
            assert_eq!(controller.hear().expect("heard"), Some(word));
        }
        assert_eq!(controller.hear_rest(Duration::from_millis(1)).expect("nothing is left"), []);
        host.say(&Word::Ready);
        assert_eq!(controller.hear_rest(Duration::from_millis(1)).expect("heard"), [Word::Ready]);
        drop(host);
        assert_eq!(controller.hear().expect("heard"), None);
    }

    #[test]
    fn a_change_is_heard_whole_and_what_follows_it_is_not_swallowed() {
        let (controller, host) = pair().expect("a socket pair");
        let host = HostEnd::new(host);
        host.stream().set_nonblocking(true).expect("set");
        assert_eq!(host.poll().expect("heard"), ControllerEvent::Nothing);
        controller.change(&[1, 2]).expect("written");
        controller.go().expect("written");
        assert_eq!(host.poll().expect("heard"), ControllerEvent::Change(Value::from([1, 2].as_slice())));
        assert_eq!(host.poll().expect("heard"), ControllerEvent::Question);
        drop(controller);
        assert_eq!(host.poll().expect("heard"), ControllerEvent::End);
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
