//! Where all threads of the agent put their frames.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_model::frame::{self, Failure, FromAgent, Id};

/// The agent's stdout, shared by its threads.
#[derive(Clone)]
pub(crate) struct Outbox(Arc<Mutex<Box<dyn Write + Send>>>);

impl Outbox {
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(output))))
    }

    pub(crate) fn send(&self, frame: &FromAgent) -> io::Result<()> {
        // A thread that panicked while it wrote leaves at worst half a frame, which the controller notices.
        frame::write(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), frame)
    }

    /// Sends from a thread that has no one to tell of an error. The controller is then gone, and the agent's main thread ends at the
    /// end of its stdin.
    pub(crate) fn send_or_drop(&self, frame: &FromAgent) {
        self.send(frame).ok();
    }

    pub(crate) fn fail(&self, id: Option<Id>, why: Failure) -> io::Result<()> {
        self.send(&FromAgent::Failed { id, why })
    }
}
