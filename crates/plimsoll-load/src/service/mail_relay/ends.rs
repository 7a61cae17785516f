//! Makes the ends of messages durable, many at a time: the marks in files that hold others, and that files are gone.
//!
//! A message whose end is not durable is delivered once more after a power cut. As many as this holds back may be so, and those that were
//! on their way.

use std::sync::Arc;

use super::queue::Queue;
use super::segment::Segment;

/// The messages that may have ended before that is made durable.
const MOST_OPEN: usize = 256;

/// The ends of messages that are not durable yet.
pub(super) struct Ends {
    queue: Arc<Queue>,
    number: usize,
    /// Files that have a mark of theirs, and others still to be delivered.
    marked: Vec<Arc<Segment>>,
}

impl Ends {
    pub(super) fn of(queue: Arc<Queue>) -> Self {
        Self { queue, number: 0, marked: Vec::new() }
    }

    /// Notes the end of a message, with its file if that still exists and has a mark.
    pub(super) fn note(&mut self, marked: Option<Arc<Segment>>) {
        self.number += 1;
        let is_known = |file: &Arc<Segment>| self.marked.iter().any(|known| Arc::ptr_eq(known, file));
        self.marked.extend(marked.filter(|file| !is_known(file)));
        if self.number >= MOST_OPEN {
            self.flush();
        }
    }

    /// Makes all of them durable. What cannot be is delivered once more after a power cut.
    pub(super) fn flush(&mut self) {
        if self.number == 0 {
            return;
        }
        self.number = 0;
        self.queue.settle(&std::mem::take(&mut self.marked)).ok();
    }
}
