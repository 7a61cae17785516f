//! The side of the host's init: who hands a guest that stands still its next frame.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use plimsoll_model::frame::{Frame as _, ToAgent};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::ioctl_fionread;

use super::{MEMORY, TO_WRITE};
use crate::tend::thread_beside;

/// Longest wait of a frame for the guest to stand still. A later frame would be of no use either.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a frame to a guest with a running load waits: a load that has just ended is reported before the guest
/// stands still.
const MOMENT: Duration = Duration::from_millis(100);

/// How many bytes the pipe is to hold that the guest writes to, to stand still: as few as a pipe may.
const PIPE: i32 = 4096;

/// What the relay is made of, until QEMU runs.
pub(in super::super) struct Outside {
    memory: File,
    still: io::PipeReader,
    /// How many bytes come by it each time.
    to_read: u32,
    urgent: io::PipeWriter,
    /// QEMU's ends.
    theirs: (io::PipeWriter, io::PipeReader),
}

enum Event {
    /// The guest stands still.
    Stopped,
    /// The controller has sent this, or nothing more.
    Frame(Option<Vec<u8>>),
}

impl Outside {
    pub(in super::super) fn new() -> io::Result<Self> {
        let memory = File::from(memfd_create("plimsoll-orders", MemfdFlags::empty())?);
        memory.set_len(MEMORY)?;
        let (still, qemu) = io::pipe()?;
        let holds = fcntl(&qemu, FcntlArg::F_SETPIPE_SZ(PIPE))?;
        let to_read = u32::try_from(holds).map_err(io::Error::other)? + 1;
        memory.write_all_at(&to_read.to_le_bytes(), TO_WRITE)?;
        let (pipe, urgent) = io::pipe()?;
        Ok(Self { memory, still, to_read, urgent, theirs: (qemu, pipe) })
    }

    /// What QEMU inherits by number: the memory, and where the guest writes to stand still.
    pub(in super::super) fn descriptors(&self) -> [(i32, std::os::fd::BorrowedFd<'_>); 2] {
        [&self.memory as &dyn AsFd, &self.theirs.0].map(|end| (end.as_fd().as_raw_fd(), end.as_fd()))
    }

    /// What QEMU has for its standard input: the frames that cannot wait.
    pub(in super::super) fn input(&self) -> io::Result<Stdio> {
        self.theirs.1.try_clone().map(Stdio::from)
    }

    /// Relays from now on what comes over this process's standard input, in threads that end with it or with QEMU.
    pub(in super::super) fn start(self) -> io::Result<()> {
        let Self { memory, still, to_read, urgent, theirs } = self;
        drop(theirs);
        let controller = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (tell, events) = channel();
        let again = tell.clone();
        let (go_on, goes_on) = channel();
        thread_beside("guest-still", move || stops(still, to_read, &goes_on, &again))?;
        thread_beside("guest-frames", move || frames(controller, &tell))?;
        let relay = Relay { memory, go_on, urgent: Some(urgent), waiting: VecDeque::new(), ended: false };
        thread_beside("guest-orders", move || relay.run(&events))
    }
}

/// Tells each time that the guest stands still, and lets it go on when that is said: the pipe that it writes to is full until then.
fn stops(mut still: io::PipeReader, to_read: u32, goes_on: &Receiver<()>, tell: &Sender<Event>) {
    let mut wait = || -> io::Result<()> {
        let mut pipe = [PollFd::new(still.as_fd(), PollFlags::POLLIN)];
        poll(&mut pipe, PollTimeout::NONE)?;
        if pipe[0].revents().is_none_or(|events| !events.contains(PollFlags::POLLIN)) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tell.send(Event::Stopped).map_err(io::Error::other)?;
        goes_on.recv().map_err(io::Error::other)?;
        still.read_exact(&mut vec![0; to_read as usize])
    };
    while wait().is_ok() {}
}

/// Tells each frame, with its length before it, until there are no more.
fn frames(mut from: File, tell: &Sender<Event>) {
    let mut next = || -> io::Result<Vec<u8>> {
        let mut frame = vec![0; 4];
        from.read_exact(&mut frame)?;
        let length = u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
        (&mut from).take(u64::from(length)).read_to_end(&mut frame)?;
        Ok(frame)
    };
    while let Ok(frame) = next() {
        if tell.send(Event::Frame(Some(frame))).is_err() {
            return;
        }
    }
    drop(tell.send(Event::Frame(None)));
}

/// Which frame goes to the guest when, and how.
struct Relay {
    memory: File,
    go_on: Sender<()>,
    /// None once the controller has nothing more to say.
    urgent: Option<io::PipeWriter>,
    waiting: VecDeque<Vec<u8>>,
    ended: bool,
}

/// What the guest is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The guest stands still.
    Still,
    /// The guest does something that ends by itself.
    Busy,
    /// A load runs, which may have to be ended.
    Loaded,
}

impl Relay {
    fn run(mut self, events: &Receiver<Event>) {
        // A receiver that no longer listens has ended, and its guest with it.
        drop(self.relay(events));
    }

    fn relay(&mut self, events: &Receiver<Event>) -> io::Result<()> {
        let mut state = State::Busy;
        loop {
            let event = if self.waiting.is_empty() {
                events.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                events.recv_timeout(if state == State::Loaded { MOMENT } else { PATIENCE })
            };
            let mut impatient = false;
            match event {
                Ok(Event::Stopped) => state = State::Still,
                Ok(Event::Frame(Some(frame))) => self.waiting.push_back(frame),
                Ok(Event::Frame(None)) => self.ended = true,
                Err(RecvTimeoutError::Timeout) => impatient = true,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if state == State::Still {
                if let Some(frame) = self.waiting.pop_front() {
                    self.hand_over(&frame)?;
                    state = if is_load(&frame) { State::Loaded } else { State::Busy };
                } else if self.ended {
                    // No frame is of length 0: it means the end.
                    self.hand_over(&[])?;
                    return Ok(());
                } else if self.is_under_way()? {
                    self.hand_over(super::GO_ON)?;
                    state = State::Busy;
                }
            } else if impatient && let Some(urgent) = &mut self.urgent {
                for frame in self.waiting.drain(..) {
                    urgent.write_all(&frame)?;
                }
            }
            if self.ended && self.waiting.is_empty() && state != State::Still {
                self.urgent = None;
            }
        }
    }

    /// Lets a guest that stands still go on with a frame.
    fn hand_over(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        if frame.len() as u64 + 4 > TO_WRITE {
            return Err(io::Error::other("a frame is longer than the memory for it"));
        }
        self.memory.write_all_at(frame, 4)?;
        self.memory.write_all_at(&length.to_le_bytes(), 0)?;
        self.go_on.send(()).map_err(io::Error::other)
    }

    /// Whether something is on its way to the port, which is not read while the guest stands still.
    fn is_under_way(&self) -> io::Result<bool> {
        let Some(urgent) = &self.urgent else { return Ok(false) };
        Ok(ioctl_fionread(urgent)? > 0)
    }
}

/// Whether this frame, with its length before it, starts a load.
fn is_load(frame: &[u8]) -> bool {
    matches!(ToAgent::from_json(frame.get(4..).unwrap_or_default()), Ok(ToAgent::Run { .. }))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn framed(frame: &ToAgent) -> Vec<u8> {
        let mut bytes = Vec::new();
        plimsoll_model::frame::write(&mut bytes, frame).unwrap();
        bytes
    }

    /// A relay whose other ends the test holds.
    fn relay() -> (Sender<Event>, File, Receiver<()>, io::PipeReader) {
        let (go_on, goes_on) = channel();
        let (port, urgent) = io::pipe().unwrap();
        let memory = tempfile::tempfile().unwrap();
        let (tell, events) = channel();
        let relay = Relay {
            memory: memory.try_clone().unwrap(),
            go_on,
            urgent: Some(urgent),
            waiting: VecDeque::new(),
            ended: false,
        };
        thread::spawn(move || relay.run(&events));
        (tell, memory, goes_on, port)
    }

    fn wait(goes_on: &Receiver<()>) {
        goes_on.recv_timeout(Duration::from_secs(20)).expect("the guest goes on");
    }

    #[test]
    fn a_guest_stands_still_until_it_is_let_go_on() {
        let Outside { memory, still, to_read, theirs: (mut qemu, _), .. } = Outside::new().unwrap();
        let mut length = [0; 4];
        memory.read_exact_at(&mut length, TO_WRITE).unwrap();
        assert_eq!(u32::from_le_bytes(length), to_read);
        let ((go_on, goes_on), (tell, events)) = (channel(), channel());
        thread::spawn(move || stops(still, to_read, &goes_on, &tell));
        let (wrote, written) = channel();
        thread::spawn(move || {
            for _ in 0..2 {
                (0..to_read).for_each(|_| qemu.write_all(&[0]).unwrap());
                wrote.send(()).unwrap();
            }
        });
        for _ in 0..2 {
            assert!(matches!(events.recv_timeout(Duration::from_secs(20)), Ok(Event::Stopped)));
            assert!(written.recv_timeout(MOMENT).is_err(), "it was not let go on");
            go_on.send(()).unwrap();
            written.recv_timeout(Duration::from_secs(20)).expect("it goes on");
        }
        assert!(events.recv_timeout(Duration::from_secs(20)).is_err(), "QEMU has ended");
    }

    fn in_memory(memory: &File) -> Vec<u8> {
        let mut length = [0; 4];
        memory.read_exact_at(&mut length, 0).unwrap();
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        memory.read_exact_at(&mut frame, 4).unwrap();
        frame
    }

    #[test]
    fn frames_wait_until_the_guest_stands_still_and_come_one_at_a_time() {
        let (tell, memory, goes_on, _port) = relay();
        let frames = [1, 2].map(|id| framed(&ToAgent::FlushCaches { id }));
        for frame in &frames {
            tell.send(Event::Frame(Some(frame.clone()))).unwrap();
        }
        for frame in &frames {
            tell.send(Event::Stopped).unwrap();
            wait(&goes_on);
            assert_eq!(in_memory(&memory), *frame);
        }
    }

    #[test]
    fn what_comes_while_a_load_runs_goes_by_the_port_at_once() {
        let run = r#"{"run":{"id":1,"load":{"name":"l","targets":[],"sources":[],"kind":{"http":{"connections":5}}}}}"#;
        let length = u32::try_from(run.len()).unwrap().to_be_bytes();
        let run = [&length[..], run.as_bytes()].concat();
        assert!(is_load(&run));
        let (tell, _memory, goes_on, mut port) = relay();
        tell.send(Event::Stopped).unwrap();
        tell.send(Event::Frame(Some(run))).unwrap();
        wait(&goes_on);
        let end = framed(&ToAgent::End { id: 1 });
        tell.send(Event::Frame(Some(end.clone()))).unwrap();
        let mut came = vec![0; end.len()];
        port.read_exact(&mut came).unwrap();
        assert_eq!(came, end);
    }

    #[test]
    fn a_guest_that_stands_still_before_it_has_read_its_port_goes_on_to_read_it() {
        let (tell, memory, goes_on, port) = relay();
        let frame = framed(&ToAgent::FlushCaches { id: 3 });
        // As if it had been sent to a load that has ended meanwhile.
        let mut urgent = port;
        tell.send(Event::Stopped).unwrap();
        let run = r#"{"run":{"id":1,"load":{"name":"l","targets":[],"sources":[],"kind":{"http":{"connections":5}}}}}"#;
        let length = u32::try_from(run.len()).unwrap().to_be_bytes();
        tell.send(Event::Frame(Some([&length[..], run.as_bytes()].concat()))).unwrap();
        wait(&goes_on);
        tell.send(Event::Frame(Some(frame.clone()))).unwrap();
        thread::sleep(3 * MOMENT);
        tell.send(Event::Stopped).unwrap();
        wait(&goes_on);
        assert_eq!(in_memory(&memory), super::super::GO_ON);
        let mut came = vec![0; frame.len()];
        urgent.read_exact(&mut came).unwrap();
        assert_eq!(came, frame);
    }

    #[test]
    fn the_end_of_the_controller_is_a_frame_without_length_for_a_guest_that_stands_still() {
        let (tell, memory, goes_on, _port) = relay();
        tell.send(Event::Stopped).unwrap();
        tell.send(Event::Frame(None)).unwrap();
        wait(&goes_on);
        assert_eq!(in_memory(&memory), [0; 0]);
    }
}
