//! The emulator's own loop: take frames in at both ends, let them out when they are due.

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
use crate::control::{Heard, HostEnd, Word};
use crate::counts::EmulatorCounts;
use crate::packet::PacketSocket;
use crate::spec::LinkShape;

/// The longest frame: the largest MTU, the Ethernet header, and a tag.
const LONGEST_FRAME: usize = 65_535 + 14 + 4;
/// The most frames that are received before due ones are sent.
const AT_A_TIME: usize = 64;
/// The kernel wakes a process some microseconds late; it is woken so much earlier, at the least, and waits for the rest without sleeping.
const AWAKE_BEFORE: u64 = 30_000;
/// An idle processor falls asleep, the more deeply the longer it is idle, and its hypervisor with it: a long sleep ends earlier, by this part
/// of it ..
const AWAKE_BEFORE_PART: u64 = 16;
/// .. but by no more than this.
const AWAKE_BEFORE_MOST: u64 = 250_000;
/// A frame that comes out this much too late was held up by the emulator itself.
const LATE: u64 = 1_000_000;

/// A frame on its way. The number keeps those that are due together in order.
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
    /// Frames to be used again.
    spare: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    counts: EmulatorCounts,
    /// How long before the next frame is due it does not sleep any more, in nanoseconds.
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

    /// Forwards until the controller is gone. A question is answered by the counts, a change by that it holds from now on.
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
                Heard::Nothing => {}
                Heard::Question => {
                    self.counts.overruns += self.ends.iter().map(PacketSocket::overruns).sum::<u64>();
                    control.say(&Word::Counts(self.counts));
                }
                Heard::Change(shapes) => match self.change(shapes) {
                    Some(()) => control.say(&Word::Ready),
                    None => control.fail("reading the emulator's new shape", Errno::EINVAL),
                },
                Heard::End => return Ok(()),
            }
        }
    }

    /// Frames that arrive from now on are treated otherwise; those on their way are not.
    fn change(&mut self, shapes: Value) -> Option<()> {
        let shapes: [LinkShape; 2] = serde_json::from_value(shapes).ok()?;
        for (direction, shape) in self.directions.iter_mut().zip(shapes) {
            direction.shaper.change(shape);
        }
        Some(())
    }

    /// Takes frames in at both ends, and says how many.
    fn take_in(&mut self) -> io::Result<u64> {
        let mut taken = 0;
        let (monotonic, real) = (now(ClockId::CLOCK_MONOTONIC)?, now(ClockId::CLOCK_REALTIME)?);
        for (end, direction) in self.ends.iter().zip(&mut self.directions) {
            for _ in 0..AT_A_TIME {
                let Some((length, stamp)) = end.receive(&mut self.buffer)? else { break };
                taken += 1;
                self.counts.frames += 1;
                // Counted from when the kernel had the frame, not from when this process came to see it.
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

    /// Lets out what is due, and says how many frames.
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

    /// Sleeps until a frame comes, one is due, or the controller says something.
    fn wait(&mut self, control: &HostEnd) -> io::Result<Heard> {
        let due = self.directions.iter().filter_map(|d| Some(d.travelling.peek()?.0.due)).min();
        let left = match due {
            None => None,
            Some(due) => Some(due.saturating_sub(now(ClockId::CLOCK_MONOTONIC)?)),
        };
        if left.is_some_and(|left| left <= self.awake_before) {
            std::hint::spin_loop();
            return Ok(Heard::Nothing);
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
            // An interface that is gone is readable for ever; it is this emulator's end, too, if nothing is on its way.
            return Ok(Heard::Nothing);
        }
        control.heard()
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
