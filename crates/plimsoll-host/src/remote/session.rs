//! An agent on an existing machine, as long as it is used.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_model::frame::{self, Frame as _, Greeting, LONGEST_FRAME};

use super::clock::{Clock, Exchange};
use super::error::ErrorKind;
use super::opening::{self, Opened};
use super::running::RemoteCommand;
use super::{Means, RemoteHost};
use crate::clock::raw_ns;

/// Number of pings in quick succession, so that the clock is known from the start.
const FIRST: u64 = 10;
/// Interval of these pings.
const FIRST_EVERY: Duration = Duration::from_millis(10);
/// Interval of later pings: within seconds, drift makes the best answer useless for a start within 1 ms.
const EVERY: Duration = Duration::from_millis(250);
/// Number of answers to wait for at the start.
const ANSWERS: u64 = 3;
/// Longest wait for these answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// Time between two checks for silence.
const LOOK: Duration = Duration::from_millis(100);
/// Deadline for an agent to end its services and restore settings.
const GRACE: Duration = Duration::from_secs(15);
/// Deadline for the exit status of a command that has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// First bytes of the answer to a ping.
const PONG: &[u8] = b"{\"pong\":";

/// An agent, and the command that reaches it. Dropping it ends both.
#[derive(Debug)]
pub(super) struct Session {
    greeting: Greeting,
    way: String,
    brought: bool,
    clock: Clock,
    link: Arc<Link>,
    /// Frames of the agent, until they are taken.
    frames: Option<FromAgent>,
}

/// State of a connection that several threads share.
#[derive(Debug)]
struct Link {
    /// `None` once the agent has the order to end.
    to: Mutex<Option<ChildStdin>>,
    command: Mutex<RemoteCommand>,
    heard: Mutex<Instant>,
    /// Reason for giving it up.
    given_up: Mutex<Option<String>>,
    /// Whether the session is over.
    over: AtomicBool,
    /// Unanswered pings with their sending times.
    pings: Mutex<BTreeMap<u64, u64>>,
}

impl Session {
    /// Starts it, and receives its description and the first answers for its clock.
    pub(super) fn open(host: &RemoteHost, means: &Means, interrupt: &AtomicBool) -> Result<Self, ErrorKind> {
        let Opened { child, to, from, greeting, brought } = opening::open(host, means, interrupt)?;
        let link = Arc::new(Link {
            to: Mutex::new(Some(to)),
            command: Mutex::new(child),
            heard: Mutex::new(Instant::now()),
            given_up: Mutex::new(None),
            over: AtomicBool::new(false),
            pings: Mutex::new(BTreeMap::new()),
        });
        let clock = Clock::default();
        let (frames, queue) = mpsc::channel();
        let frames_of_agent = FromAgent { queue, rest: Vec::new(), read: 0 };
        let session =
            Self { greeting, way: opening::way(host), brought, clock, link, frames: Some(frames_of_agent) };
        session.run(from, frames, host.lost_after).map_err(|source| {
            let what = "starting a thread that listens to it";
            ErrorKind::Local { what, source }
        })?;
        // An agent of another version is reported by the caller, and answers nothing.
        if session.greeting.protocol == frame::PROTOCOL {
            session.wait_for_clock(interrupt)?;
        }
        Ok(session)
    }

    /// Starts the threads that listen, ask, and watch.
    fn run(&self, from: ChildStdout, frames: Sender<Vec<u8>>, lost_after: Duration) -> io::Result<()> {
        let start = |name: &str, body: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(format!("remote-{name}")).spawn(body).map(drop)
        };
        let (link, clock) = (Arc::clone(&self.link), self.clock.clone());
        start("listener", Box::new(move || link.listen(from, &frames, &clock)))?;
        let link = Arc::clone(&self.link);
        start("ping", Box::new(move || link.ask()))?;
        let link = Arc::clone(&self.link);
        start("watch", Box::new(move || link.watch(lost_after)))
    }

    fn wait_for_clock(&self, interrupt: &AtomicBool) -> Result<(), ErrorKind> {
        let until = Instant::now() + ANSWERS_WITHIN;
        while self.clock.answers() < ANSWERS && Instant::now() < until && !self.link.is_over() {
            if interrupt.load(Ordering::Acquire) {
                return Err(ErrorKind::Interrupted);
            }
            thread::sleep(FIRST_EVERY);
        }
        match self.clock.answers() {
            0 => Err(ErrorKind::TooLong {
                reach: self.way.clone(),
                seconds: ANSWERS_WITHIN.as_secs(),
                words: self.last_lines(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Means to reach it, in words.
    pub(super) fn reach(&self) -> String {
        format!("reached by {}", self.way)
    }

    pub(super) fn was_brought(&self) -> bool {
        self.brought
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    pub(super) fn take_pipes(&mut self) -> Option<(ToAgent, FromAgent)> {
        let frames = self.frames.take()?;
        Some((ToAgent { link: Arc::clone(&self.link), frame: Vec::new() }, frames))
    }

    /// Reason why it has gone, with the command's last words; empty while it is there.
    pub(super) fn last_lines(&self) -> String {
        if !self.link.is_over() {
            return String::new();
        }
        let given_up = lock(&self.link.given_up).clone();
        let mut command = lock(&self.link.command);
        let how = given_up.unwrap_or_else(|| match command.wait(LAST_WORDS) {
            Some(how) => format!("{} ended ({how})", self.way),
            None => format!("{} closed its output", self.way),
        });
        match command.words() {
            words if words.is_empty() => how,
            words => format!("{how}; it said: {words}"),
        }
    }

    /// Closes the agent's input.
    pub(super) fn request_end(&self) {
        *lock(&self.link.to) = None;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.request_end();
        let mut command = lock(&self.link.command);
        if command.wait(GRACE).is_none() {
            tracing::warn!("{} did not end within {} s, and was killed", self.way, GRACE.as_secs());
        }
        command.kill();
        self.link.over.store(true, Ordering::Release);
    }
}

impl Link {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Passes frames on, except answers to pings.
    fn listen(&self, mut from: ChildStdout, frames: &Sender<Vec<u8>>, clock: &Clock) {
        while let Ok(Some(frame)) = whole_frame(&mut from) {
            let heard_ns = raw_ns();
            *lock(&self.heard) = Instant::now();
            if !frame[4..].starts_with(PONG) {
                // The receiver may be gone. Reading goes on to the end, so that the command can end.
                frames.send(frame).ok();
                continue;
            }
            let Ok(pong) = frame::FromAgent::from_json(&frame[4..]) else { continue };
            let frame::FromAgent::Pong { number, received_ns, answered_ns } = pong else { continue };
            if let Some(sent_ns) = lock(&self.pings).remove(&number) {
                clock.add(Exchange { sent_ns, received_ns, answered_ns, heard_ns });
            }
        }
        self.over.store(true, Ordering::Release);
    }

    /// Sends pings, for the clock and as a sign of life.
    fn ask(&self) {
        for number in 0.. {
            let mut frame = Vec::new();
            // A frame of a number is never too long.
            frame::write(&mut frame, &frame::ToAgent::Ping { number }).ok();
            {
                let mut to = lock(&self.to);
                let Some(to) = to.as_mut() else { return };
                lock(&self.pings).insert(number, raw_ns());
                if to.write_all(&frame).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
            let pause = if number < FIRST { FIRST_EVERY } else { EVERY };
            let until = Instant::now() + pause;
            while Instant::now() < until {
                if self.is_over() {
                    return;
                }
                thread::sleep(LOOK.min(pause));
            }
        }
    }

    /// Gives the connection up after a silence of `lost_after`.
    fn watch(&self, lost_after: Duration) {
        while !self.is_over() {
            if lock(&self.heard).elapsed() >= lost_after {
                let why = format!(
                    "nothing was heard from it for {} s: the connection is cut, or the machine is down",
                    lost_after.as_secs_f64()
                );
                *lock(&self.given_up) = Some(why);
                self.over.store(true, Ordering::Release);
                lock(&self.command).kill();
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A frame with its length, as it came; `None` at the end.
fn whole_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let bytes = u32::from_be_bytes(length);
    if bytes > LONGEST_FRAME {
        return Ok(None);
    }
    let mut frame = length.to_vec();
    from.take(u64::from(bytes)).read_to_end(&mut frame)?;
    Ok((frame.len() == length.len() + bytes as usize).then_some(frame))
}

/// The agent's input. Frames and pings go out whole, one after the other.
#[derive(Debug)]
pub struct ToAgent {
    link: Arc<Link>,
    /// Bytes of the frame that are already written.
    frame: Vec<u8>,
}

impl Write for ToAgent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        let mut to = lock(&self.link.to);
        let to = to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to.write_all(&frame)?;
        to.flush()
    }
}

/// The agent's output.
#[derive(Debug)]
pub struct FromAgent {
    queue: Receiver<Vec<u8>>,
    /// The current frame, and the number of its bytes that were read.
    rest: Vec<u8>,
    read: usize,
}

impl Read for FromAgent {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.rest.len() {
            // The sender is gone at the end.
            let Ok(frame) = self.queue.recv() else { return Ok(0) };
            (self.rest, self.read) = (frame, 0);
        }
        let bytes = into.len().min(self.rest.len() - self.read);
        into[..bytes].copy_from_slice(&self.rest[self.read..self.read + bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_handed_on_whole_and_an_end_in_the_middle_is_the_end() {
        let mut stream = Vec::new();
        let sent = frame::FromAgent::Done { id: 7 };
        frame::write(&mut stream, &sent).unwrap();
        let whole = stream.clone();
        stream.extend_from_slice(&whole[..whole.len() - 1]);
        let mut from = stream.as_slice();
        let (frames, queue) = mpsc::channel();
        while let Ok(Some(frame)) = whole_frame(&mut from) {
            frames.send(frame).unwrap();
        }
        drop(frames);
        let mut read = FromAgent { queue, rest: Vec::new(), read: 0 };
        assert_eq!(frame::read::<frame::FromAgent>(&mut read).unwrap(), Some(sent));
        assert!(frame::read::<frame::FromAgent>(&mut read).unwrap().is_none());
    }

    #[test]
    fn the_answer_to_a_ping_is_known_by_its_beginning() {
        let pong = frame::FromAgent::Pong { number: 1, received_ns: 2, answered_ns: 3 };
        assert!(serde_json::to_vec(&pong).unwrap().starts_with(PONG));
    }
}
