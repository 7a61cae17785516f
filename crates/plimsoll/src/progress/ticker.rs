//! A thread that does the same at an interval.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Calls something at an interval until it is dropped.
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread; the first call comes after the first interval. No run depends on it, so a missing thread is no error.
    pub(super) fn start(name: &str, every: Duration, mut tick: impl FnMut() + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let ticks = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(ticks).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
