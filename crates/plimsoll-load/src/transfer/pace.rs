//! When a transfer ends, and how long it may stand still.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends a transfer early.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    flag: Option<&'a AtomicBool>,
}

impl<'a> Stop<'a> {
    /// Never.
    pub(crate) const NEVER: Self = Self { flag: None };

    /// When the flag is set.
    pub(crate) fn when(flag: &'a AtomicBool) -> Self {
        Self { flag: Some(flag) }
    }

    /// Whether to end now.
    pub(crate) fn now(self) -> bool {
        self.flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Waits through time limits of a socket as long as something has moved of late.
pub(crate) struct Patience<'a> {
    limit: Duration,
    moved: Instant,
    stop: Stop<'a>,
}

impl<'a> Patience<'a> {
    /// How often a transfer that stands still looks whether it is to end: the time limit of its socket.
    pub(crate) const POLL: Duration = Duration::from_millis(100);

    /// A transfer may stand still for `limit`.
    pub(crate) fn new(limit: Duration, stop: Stop<'a>) -> Self {
        Self { limit, moved: Instant::now(), stop }
    }

    /// Bytes of a call, or 0 where it may be tried again; `None` when the transfer is to end.
    ///
    /// # Errors
    /// The call's own error, and `TimedOut` when nothing has moved for too long.
    pub(crate) fn judge(&mut self, result: io::Result<usize>) -> io::Result<Option<usize>> {
        if self.stop.now() {
            return Ok(None);
        }
        match result {
            Ok(n) => {
                // The clock is asked only where a call may have waited; one that moves much need not be timed.
                self.moved = Instant::now();
                Ok(Some(n))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                if self.moved.elapsed() >= self.limit {
                    return Err(ErrorKind::TimedOut.into());
                }
                Ok(Some(0))
            }
            Err(error) => Err(error),
        }
    }
}
