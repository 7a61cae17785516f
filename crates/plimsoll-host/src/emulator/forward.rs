//! The emulator's loop: receive frames at both ends, send them when they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::shaper::{Drop, Shaper};
use crate::control::{ControllerEvent, HostEnd, Word};
use crate::counts::EmulatorCounts;
use crate::packet::PacketSocket;
use crate::spec::LinkShape;

/// The longest frame: the largest MTU, the Ethernet header, and a tag.
const LONGEST_FRAME: usize = 65_535 + 14 + 4;
/// The most frames that are received before due ones are sent.
const AT_A_TIME: usize = 64;
/// Nanoseconds before a due time at which a sleep ends at the latest, as the kernel wakes a process some microseconds late. The rest is spent in
/// a busy wait.
const AWAKE_BEFORE: u64 = 30_000;
/// Divisor of a long sleep, which ends earlier by that part: an idle processor sleeps the more deeply the longer it is idle, and its hypervisor
/// with it.
const AWAKE_BEFORE_PART: u64 = 16;
/// Upper limit of that part.
const AWAKE_BEFORE_MOST: u64 = 250_000;
/// Delay from which a frame was held up by the emulator itself.
const LATE: u64 = 1_000_000;

/// A travelling frame. Its number orders frames with the same due time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Travelling {
    due: u64,
    number: u64,
    frame: Vec<u8>,
}

/// One direction.
struct Direction {
    shaper: Shaper,
    travelling: BinaryHeap<Reverse<Travelling>>,
    number: u64,
}

/// An emulator between two interfaces.
pub(super) struct Emulator {
    ends: [PacketSocket; 2],
    /// From each end to the other.
    directions: [Direction; 2],
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    counts: EmulatorCounts,
    /// Nanoseconds before the next due time in which it does not sleep.
    awake_before: u64,
}

impl Emulator {
    pub(super) fn new(ends: [PacketSocket; 2], shapers: [Shaper; 2]) -> Self {
        let direction = |shaper| Direction { shaper, travelling: BinaryHeap::new(), number: 0 };
        Self {
            ends,
            directions: shapers.map(direction),
            spare: Vec::new(),
            buffer: vec![0; LONGEST_FRAME],
            counts: EmulatorCounts::default(),
            awake_before: AWAKE_BEFORE,
        }
    }

    /// Forwards until the controller is gone. Replies to questions with the counts, and to changes when they hold.
    pub(super) fn forward(&mut self, control: &HostEnd) -> io::Result<()> {
        control.stream().set_nonblocking(true)?;
        loop {
            let began = now(ClockId::CLOCK_MONOTONIC)?;
            let handled = self.take_in()? + self.let_out(now(ClockId::CLOCK_MONOTONIC)?);
            if handled > 0 {
                self.counts.handling_ns += now(ClockId::CLOCK_MONOTONIC)?.saturating_sub(began);
                continue;
            }
            match self.wait(control)? {
                ControllerEvent::Nothing => {}
                ControllerEvent::Question => {
                    self.counts.overruns += self.ends.iter().map(PacketSocket::overruns).sum::<u64>();
                    control.say(&Word::Counts(self.counts));
                }
                ControllerEvent::Change(shapes) => match self.change(shapes) {
                    Some(()) => control.say(&Word::Ready),
                    None => control.fail("reading the emulator's new shape", Errno::EINVAL),
                },
                ControllerEvent::End => return Ok(()),
            }
        }
    }

    /// Changes the shapes for later frames; travelling ones keep theirs.
    fn change(&mut self, shapes: Value) -> Option<()> {
        let shapes: [LinkShape; 2] = serde_json::from_value(shapes).ok()?;
        for (direction, shape) in self.directions.iter_mut().zip(shapes) {
            direction.shaper.change(shape);
        }
        Some(())
    }

    /// Receives frames at both ends. Returns their number.
    fn take_in(&mut self) -> io::Result<u64> {
        let mut taken = 0;
        let (monotonic, real) = (now(ClockId::CLOCK_MONOTONIC)?, now(ClockId::CLOCK_REALTIME)?);
        for (end, direction) in self.ends.iter().zip(&mut self.directions) {
            for _ in 0..AT_A_TIME {
                let Some((length, stamp)) = end.receive(&mut self.buffer)? else { break };
                taken += 1;
                self.counts.frames += 1;
                // The time at which the kernel received the frame, not this process.
                let arrived = monotonic.saturating_sub(real.saturating_sub(stamp).min(monotonic));
                let arrived = if stamp == 0 { monotonic } else { arrived };
                match direction.shaper.admit(arrived, length as u64) {
                    Ok(due) => {
                        let mut frame = self.spare.pop().unwrap_or_default();
                        frame.clear();
                        frame.extend_from_slice(&self.buffer[..length]);
                        direction.number += 1;
                        let number = direction.number;
                        direction.travelling.push(Reverse(Travelling { due, number, frame }));
                    }
                    Err(Drop::Lost) => self.counts.lost += 1,
                    Err(Drop::Full) => self.counts.queue_drops += 1,
                }
            }
        }
        Ok(taken)
    }

    /// Sends due frames. Returns their number.
    fn let_out(&mut self, now: u64) -> u64 {
        let mut let_out = 0;
        let [a, b] = &self.ends;
        for (far, direction) in [b, a].into_iter().zip(&mut self.directions) {
            while let Some(Reverse(first)) = direction.travelling.peek() {
                if first.due > now {
                    break;
                }
                let late = now - first.due;
                self.counts.late += u64::from(late > LATE);
                self.counts.latest_ns = self.counts.latest_ns.max(late);
                let Some(Reverse(Travelling { frame, .. })) = direction.travelling.pop() else { break };
                if !far.send(&frame) {
                    self.counts.refused += 1;
                }
                self.spare.push(frame);
                let_out += 1;
            }
        }
        let_out
    }

    /// Sleeps until a frame comes, one is due, or the controller sends an order.
    fn wait(&mut self, control: &HostEnd) -> io::Result<ControllerEvent> {
        let due = self.directions.iter().filter_map(|d| Some(d.travelling.peek()?.0.due)).min();
        let left = match due {
            None => None,
            Some(due) => Some(due.saturating_sub(now(ClockId::CLOCK_MONOTONIC)?)),
        };
        if left.is_some_and(|left| left <= self.awake_before) {
            std::hint::spin_loop();
            return Ok(ControllerEvent::Nothing);
        }
        if let Some(left) = left {
            self.awake_before = awake_before(left);
        }
        let sleep = left.map(|left| TimeSpec::from(Duration::from_nanos(left - self.awake_before)));
        let [a, b] = &self.ends;
        let mut wait = [
            PollFd::new(a.as_fd(), PollFlags::POLLIN),
            PollFd::new(b.as_fd(), PollFlags::POLLIN),
            PollFd::new(control.as_fd(), PollFlags::POLLIN),
        ];
        match ppoll(&mut wait, sleep, None) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if wait[2].revents().is_none_or(|events| events.is_empty()) {
            // A removed interface is readable for ever. Without travelling frames the emulator ends with it.
            return Ok(ControllerEvent::Nothing);
        }
        control.poll()
    }
}

/// How much earlier a sleep must end if a frame is due in `left` nanoseconds.
fn awake_before(left: u64) -> u64 {
    (left / AWAKE_BEFORE_PART).clamp(AWAKE_BEFORE, AWAKE_BEFORE_MOST)
}

fn now(clock: ClockId) -> io::Result<u64> {
    let now = clock_gettime(clock)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
