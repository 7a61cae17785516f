//! Wakes an event loop at a time that is exact to the nanosecond.
//!
//! The timeout of epoll_wait(2) counts milliseconds, and may end up to the thread's timer slack late; a timerfd does neither.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// The key of its events.
pub(super) const ALARM: u64 = u64::MAX;

/// An alarm clock.
pub(super) struct Alarm {
    timer: TimerFd,
    /// When it will go off.
    set_to: Option<u64>,
}

impl Alarm {
    /// An alarm whose going off is an event of `epoll`.
    pub(super) fn new(epoll: &Epoll) -> Result<Self, Errno> {
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Edge-triggered, it need not be read: a new setting clears the expiry.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, ALARM))?;
        Ok(Self { timer, set_to: None })
    }

    /// Lets it go off at `at`, which is later than `now`.
    pub(super) fn set(&mut self, at: u64, now: u64) -> Result<(), Errno> {
        if self.set_to.replace(at) == Some(at) {
            return Ok(());
        }
        let left = TimeSpec::from(Duration::from_nanos(at - now));
        self.timer.set(Expiration::OneShot(left), TimerSetTimeFlags::empty())
    }

    /// Takes note that the alarm went off; perhaps a little early, because its clock is not quite the one that loads go by.
    pub(super) fn gone_off(&mut self) {
        self.set_to = None;
    }
}
