//! Progress lines in a log, at an interval.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::lock;
use super::view::View;
use crate::messages;

pub(super) struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(view: &Arc<Mutex<View>>, every: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let view = Arc::clone(view);
        let beat = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let line = lock(&view).in_a_line();
                messages::note(line);
            }
        };
        // No run depends on these lines, so a missing thread is no error.
        let thread = thread::Builder::new().name("heartbeat".into()).spawn(beat).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
