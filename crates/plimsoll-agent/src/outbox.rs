//! The output that all threads of the agent share.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use plimsoll_model::frame::{self, Failure, FromAgent, Id};

/// Environment variable with the file that gets a byte whenever all requests are answered. Only hosts whose clock counts instructions have it:
/// their clock stands still then.
const IDLE: &str = "PLIMSOLL_IDLE";

/// The agent's stdout, shared by its threads.
#[derive(Clone)]
pub(crate) struct Outbox(Arc<Mutex<Inner>>);

struct Inner {
    output: Box<dyn Write + Send>,
    /// Notified when no request is pending.
    idle: Option<File>,
    /// Number of pending requests.
    owed: usize,
}

impl Outbox {
    pub(crate) fn new(output: impl Write + Send + 'static) -> io::Result<Self> {
        let idle = std::env::var_os(IDLE);
        let idle = idle.map(|path| File::options().write(true).open(path)).transpose()?;
        Ok(Self::with_idle(output, idle))
    }

    fn with_idle(output: impl Write + Send + 'static, idle: Option<File>) -> Self {
        Self(Arc::new(Mutex::new(Inner { output: Box::new(output), idle, owed: 0 })))
    }

    /// Moves later writes to a thread of their own, so that no sender waits for the reader. The returned channel gets a message when all is
    /// written after [`Self::close`], or when writing has failed.
    pub(crate) fn through_queue(&self) -> io::Result<Receiver<()>> {
        let (sender, queue) = mpsc::channel::<Vec<u8>>();
        let (written, all_written) = mpsc::channel();
        let mut inner = self.inner();
        let mut output = std::mem::replace(&mut inner.output, Box::new(Queue { sender, frame: Vec::new() }));
        thread::Builder::new().name("sender".into()).spawn(move || {
            // After an error the reader is gone, and the input ends as well.
            queue
                .into_iter()
                .try_for_each(|frame| output.write_all(&frame).and_then(|()| output.flush()))
                .ok();
            written.send(()).ok();
        })?;
        Ok(all_written)
    }

    /// Drops all later frames.
    pub(crate) fn close(&self) {
        self.inner().output = Box::new(io::sink());
    }

    pub(crate) fn send(&self, frame: &FromAgent) -> io::Result<()> {
        let mut inner = self.inner();
        frame::write(&mut inner.output, frame)?;
        if frame.answers() { inner.settle() } else { Ok(()) }
    }

    /// Records a request that must be answered or settled.
    pub(crate) fn owe(&self) {
        self.inner().owed += 1;
    }

    /// Ends a request that gets no reply.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.inner().settle()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A thread that panicked while it wrote leaves at worst half a frame, which the controller notices.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends from a thread that cannot report an error. The controller is then gone, and the agent's main thread ends at the
    /// end of its stdin.
    pub(crate) fn send_or_drop(&self, frame: &FromAgent) {
        self.send(frame).ok();
    }

    pub(crate) fn fail(&self, id: Option<Id>, why: Failure) -> io::Result<()> {
        self.send(&FromAgent::Failed { id, why })
    }
}

/// Hands frames to the thread that writes them.
struct Queue {
    sender: Sender<Vec<u8>>,
    /// Bytes of the frame that are already written.
    frame: Vec<u8>,
}

impl Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = self.sender.send(std::mem::take(&mut self.frame));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Inner {
    fn settle(&mut self) -> io::Result<()> {
        self.owed = self.owed.saturating_sub(1);
        match &mut self.idle {
            Some(idle) if self.owed == 0 => idle.write_all(b"i"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_written_when_the_last_request_is_answered_and_not_before() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let outbox = Outbox::with_idle(io::sink(), Some(file.reopen().unwrap()));
        let times = || std::fs::metadata(file.path()).unwrap().len();
        outbox.owe();
        outbox.owe();
        outbox
            .send(&FromAgent::Progress { id: 1, progress: plimsoll_model::observation::Progress::default() })
            .unwrap();
        outbox.send(&FromAgent::Done { id: 1 }).unwrap();
        assert_eq!(times(), 0);
        outbox.fail(Some(2), crate::other("do it", "it cannot be done")).unwrap();
        assert_eq!(times(), 1);
        outbox.owe();
        outbox.settle().unwrap();
        assert_eq!(times(), 2);
    }
}
