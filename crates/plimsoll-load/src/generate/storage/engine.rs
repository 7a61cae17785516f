//! How an operation is handed to the kernel: the narrow side of every engine.

use std::io;

use super::buffers::Buffers;
use super::io_wq::Used;

/// A requested operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// In which place it is carried out, from 0 to the depth less one.
    pub(super) place: usize,
    /// Where in the thread's part, in bytes.
    pub(super) offset: u64,
    /// Whether it writes.
    pub(super) write: bool,
}

/// A finished operation.
#[derive(Debug)]
pub(super) struct Completion {
    /// The place that is free again.
    pub(super) place: usize,
    /// How many bytes it moved.
    pub(super) result: io::Result<usize>,
}

/// Hands operations to the kernel.
pub(super) trait Engine {
    /// The memory that operations read into and write from.
    fn buffers(&mut self) -> &mut Buffers;

    /// Begins an operation. The next [`Self::finish`] reports one that is done at once.
    fn begin(&mut self, operation: Operation) -> io::Result<()>;

    /// Adds finished operations to `done`. If there are none, waits for the first, at most `longest` nanoseconds.
    fn finish(&mut self, longest: u64, done: &mut Vec<Completion>) -> io::Result<()>;

    /// CPU time of helpers of its own so far; to read every second.
    fn helped(&mut self) -> Used {
        Used::default()
    }

    /// Makes everything durable that was written.
    fn sync(&mut self) -> io::Result<()>;
}
