//! One flow of datagrams.
//!
//! The pace is an open loop: how many should have been sent by now follows from the clock alone, and what is due is handed over in as
//! few calls as may be. With `UDP_SEGMENT` a call takes one long datagram that the kernel cuts; without it, sendmmsg(2) takes several.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, send, sendmmsg, setsockopt, sockopt};
use plimsoll_model::experiment::UdpLoad;
use plimsoll_model::frame::LoadSpec;
use plimsoll_model::observation::Train;

use super::{Shared, Spacing};
use crate::clock::{self, CpuTime};
use crate::generate::bulk::number;
use crate::generate::error_kind::kind_of_io;
use crate::generate::tally::Tally;
use crate::transfer::opening::{self, Opening};
use crate::transfer::packet::{Counts, Label};
use crate::transfer::socket::buffers;

/// The longest datagram over IPv4, without headers.
const LONGEST: usize = 65_507;
/// The most datagrams that the kernel cuts out of one (`UDP_MAX_SEGMENTS` in linux/udp.h before 6.10).
const MOST_SEGMENTS: usize = 64;
/// How long the service may take for its part.
const SERVICE_WITHIN: Duration = Duration::from_secs(10);
/// Datagrams due within this time may go out together, in nanoseconds: bursts are no longer.
const BURST_NS: u64 = 1_000_000;
/// How long a flow sleeps at most, so that it hears of an early end, in nanoseconds.
const LONGEST_SLEEP: u64 = 50_000_000;

/// A flow that is announced.
pub(in crate::generate) struct Flow {
    number: u64,
    socket: UdpSocket,
    /// The connection over which it was announced, and will be counted.
    control: TcpStream,
    size: usize,
    /// Datagrams, one behind the other.
    buffer: Vec<u8>,
    /// How many are handed over in a call, at most.
    batch: usize,
    /// Whether the kernel cuts them out of one.
    gso: bool,
}

pub(super) struct FlowResult {
    pub(super) intended: u64,
    pub(super) sent: u64,
    pub(super) counts: Counts,
    pub(super) tally: Tally,
}

impl Flow {
    /// Opens the `nth` flow of a load and announces it.
    pub(in crate::generate) fn open(spec: &LoadSpec, load: &UdpLoad, nth: usize) -> io::Result<Self> {
        let target = *spec
            .targets
            .get(nth % spec.targets.len().max(1))
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no target"))?;
        let mut control = TcpStream::connect_timeout(&target, SERVICE_WITHIN)?;
        control.set_read_timeout(Some(SERVICE_WITHIN))?;
        let number = number();
        let buffer = load.buffer.map(|bytes| bytes.0);
        opening::open(&mut control, &Opening::Datagrams { flow: number, buffer })?;
        let own = spec.sources.get(nth % spec.sources.len().max(1)).copied();
        let source = own.unwrap_or(match target {
            SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        });
        let socket = UdpSocket::bind((source, 0))?;
        socket.connect(target)?;
        buffers(&socket, load.buffer, None)?;
        let size = load.size as usize;
        let segments = (LONGEST / size).clamp(1, MOST_SEGMENTS);
        let gso = load.gso
            && segments > 1
            && setsockopt(&socket, sockopt::UdpGsoSegment, &(load.size as i32)).is_ok();
        let batch = (load.batch as usize).max(1).min(if gso { segments } else { usize::MAX });
        Ok(Self { number, socket, control, size, buffer: vec![0; size * batch], batch, gso })
    }

    /// Sends `count` datagrams at this spacing, and asks which arrived.
    pub(in crate::generate) fn train(
        mut self,
        count: u64,
        spacing: Spacing,
        abort: &AtomicBool,
    ) -> io::Result<Train> {
        let began = clock::now();
        let (mut sent, mut due, mut last) = (0, began, began);
        let together = if spacing.nominal == 0 { self.batch as u64 } else { 1 };
        while sent < count && !abort.load(Ordering::Relaxed) {
            if spacing.nominal > 0 {
                due = spacing.wait(due);
            }
            last = clock::now();
            sent += self.hand_over((count - sent).min(together) as usize, sent, last)? as u64;
        }
        let received = self.counts()?.received;
        Ok(Train { sent, received, elapsed_ns: last - began })
    }

    /// Sends for as long as the load says, and asks what arrived.
    pub(super) fn work(mut self, running: &Shared<'_>) -> FlowResult {
        let cpu = CpuTime::of_this_thread();
        let mut tally = Tally::new(running.start, None);
        let (intended, sent) = self.send(running, &mut tally);
        tally.cpu = CpuTime::of_this_thread().since(cpu);
        let counts = match self.counts() {
            Ok(counts) => {
                tally.connection(tally.end);
                counts
            }
            Err(error) => {
                let text = || format!("ask the receiver what arrived: {error}");
                tally.error_text(kind_of_io(&error, true), tally.end, text);
                Counts::default()
            }
        };
        FlowResult { intended, sent, counts, tally }
    }

    /// Gives how many the rate called for, and how many were sent.
    fn send(&mut self, running: &Shared<'_>, tally: &mut Tally) -> (u64, u64) {
        let length = clock::nanoseconds(running.load.duration.0);
        let rate = running.load.packets_per_second;
        let mut sent = 0;
        loop {
            let now = clock::now();
            let elapsed = now - running.start;
            if elapsed >= length || running.abort.load(Ordering::Relaxed) {
                tally.end = now;
                return (rate.map_or(sent, |rate| due(rate, length)), sent);
            }
            let owed = rate.map_or(u64::MAX, |rate| due(rate, elapsed).saturating_sub(sent));
            if owed == 0 {
                let rate = rate.unwrap_or(1);
                sleep_until(running.start + next_turn(rate, sent, self.batch as u64).min(length), now);
                continue;
            }
            match self.hand_over(owed.min(self.batch as u64) as usize, sent, now) {
                Ok(n) => {
                    sent += n as u64;
                    running.sent.fetch_add(n as u64, Ordering::Relaxed);
                    tally.intervals.at(now).bytes += (n * self.size) as u64;
                }
                Err(error) => {
                    let kind = kind_of_io(&error.into(), true);
                    tally.error_text(kind, now, || format!("send datagrams: {error}"));
                }
            }
        }
    }

    /// Sends `count` datagrams, from the number `first` on. Returns how many the kernel took.
    fn hand_over(&mut self, count: usize, first: u64, now: u64) -> nix::Result<usize> {
        let all = &mut self.buffer[..count * self.size];
        for (datagram, number) in all.chunks_mut(self.size).zip(first..) {
            Label { flow: self.number, number, sent_ns: now }.write(datagram);
        }
        if self.gso {
            return match send(self.socket.as_raw_fd(), all, MsgFlags::empty()) {
                // A link whose packets are smaller, or that does no checksums, cannot cut.
                Err(Errno::EINVAL | Errno::EIO | Errno::EMSGSIZE) => self.without_gso(),
                Err(error) => patient(error),
                Ok(_) => Ok(count),
            };
        }
        let slices: Vec<[IoSlice<'_>; 1]> = all.chunks(self.size).map(|part| [IoSlice::new(part)]).collect();
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(count, None);
        let addresses = vec![None; count];
        match sendmmsg(self.socket.as_raw_fd(), &mut headers, &slices, addresses, [], MsgFlags::empty()) {
            Ok(taken) => Ok(taken.count()),
            Err(error) => patient(error),
        }
    }

    fn without_gso(&mut self) -> nix::Result<usize> {
        setsockopt(&self.socket, sockopt::UdpGsoSegment, &0)?;
        self.gso = false;
        Ok(0)
    }

    /// Asks what arrived.
    fn counts(&mut self) -> io::Result<Counts> {
        self.control.write_all(&[1])?;
        opening::receive(&mut self.control)
    }
}

/// Passing conditions are no errors: a full queue, a signal, and news of an earlier datagram that were not read.
fn patient(error: Errno) -> nix::Result<usize> {
    match error {
        Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS | Errno::ECONNREFUSED => Ok(0),
        error => Err(error),
    }
}

/// How many should have been sent after `elapsed` nanoseconds.
fn due(rate: u64, elapsed: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(elapsed) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// When the next ones are worth waking up for, in nanoseconds after the start: as many as a call takes, or a burst is long.
fn next_turn(rate: u64, sent: u64, batch: u64) -> u64 {
    let together = due(rate, BURST_NS).clamp(1, batch);
    u64::try_from((u128::from(sent + together) * 1_000_000_000).div_ceil(u128::from(rate)))
        .unwrap_or(u64::MAX)
}

fn sleep_until(time: u64, now: u64) {
    std::thread::sleep(Duration::from_nanos(time.saturating_sub(now).min(LONGEST_SLEEP)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_follows_from_the_clock_alone() {
        assert_eq!(due(1_000, 2_500_000_000), 2_500);
        assert_eq!(due(100_000_000, 3_600_000_000_000), 360_000_000_000);
    }

    #[test]
    fn a_slow_flow_wakes_for_each_and_a_fast_one_for_a_burst() {
        assert_eq!(next_turn(100, 5, 64), 60_000_000);
        assert_eq!(next_turn(20_000, 0, 64), 1_000_000);
        assert_eq!(next_turn(1_000_000, 0, 64), 64_000);
    }
}
