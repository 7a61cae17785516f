//! Datagrams one after the other, and how far apart they are.

use std::time::Duration;

use crate::clock;

/// How far apart the datagrams of a train are.
#[derive(Clone, Copy, Debug)]
pub(in crate::generate) struct Spacing {
    /// From the start of one to that of the next, in nanoseconds; 0 sends them as fast as the kernel takes them.
    pub(super) nominal: u64,
    /// The least, where the sender has fallen behind.
    least: u64,
}

impl Spacing {
    /// One burst.
    pub(in crate::generate) const NONE: Self = Self { nominal: 0, least: 0 };
    /// Shorter waits than this are not slept through, in nanoseconds: waking up takes as long.
    const SPIN: u64 = 100_000;

    /// A spacing of this length, and down to this percentage of it for a sender that catches up.
    pub(in crate::generate) fn of(nominal: Duration, least_percent: u64) -> Self {
        let nominal = clock::nanoseconds(nominal);
        Self { nominal, least: nominal / 100 * least_percent }
    }

    /// Waits until a datagram is due, and gives when the next one is. Late ones are not sent together: that would be a burst, which a queue on
    /// the way may not take.
    pub(super) fn wait(self, due: u64) -> u64 {
        loop {
            let now = clock::now();
            if now >= due {
                return (due + self.nominal).max(now + self.least);
            }
            if due - now > Self::SPIN {
                std::thread::sleep(Duration::from_nanos(due - now - Self::SPIN));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
