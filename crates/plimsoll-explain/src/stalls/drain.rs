//! The pace of a queue on the path, as acknowledgements show it.

/// How fast a queue drains, by the silences of one flight.
#[derive(Clone, Copy, Default)]
pub(super) struct Drain {
    silences: u32,
    bytes: u64,
    time: u64,
}

impl Drain {
    /// Silences that the queue made.
    pub(super) fn silences(&self) -> u32 {
        self.silences
    }

    /// Takes in a silence of `length` nanoseconds, after which `bytes` had passed the queue.
    pub(super) fn take_in(&mut self, bytes: u32, length: u64) {
        self.silences = self.silences.saturating_add(1);
        self.bytes += u64::from(bytes);
        self.time += length;
    }

    /// The nanoseconds that a number of bytes takes.
    pub(super) fn time_for(&self, bytes: u32) -> u64 {
        self.time.saturating_mul(u64::from(bytes)) / self.bytes.max(1)
    }
}
