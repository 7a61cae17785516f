//! Bytes over an open connection. Both sides use it; their agreement decides which one sends.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{BLOCK, BulkLoad};

use super::{Inlet, Outlet, Patience, Stop, tcp_state};

/// Between two looks whether all has arrived.
const LOOK: Duration = Duration::from_millis(1);

/// One connection, and the terms of its load.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) load: &'a BulkLoad,
    pub(crate) stop: Stop<'a>,
}

/// Time over which the rate is taken that decides on a stream's blocks.
const WINDOW: Duration = Duration::from_millis(10);
/// Bytes per second from which larger blocks pay: 4 Gbit/s. Such a path empties the socket between two calls of 128 KB, so that both ends
/// sleep and wake for each of them.
const FAST: f64 = 5e8;
/// Size of the blocks on such a path, in bytes. Larger ones leave the second cache of common CPUs.
const LARGE_BLOCK: usize = 512 << 10;

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Complete,
    /// The controller stopped the transfer.
    Stopped,
}

impl Exchange<'_> {
    /// Sends as much, or as long, as the load says, and then ends the stream. Calls `sent` for each part.
    pub(crate) fn send(&self, sent: &mut dyn FnMut(usize)) -> io::Result<End> {
        let mut outlet = self.outlet()?;
        let mut patience = self.patience();
        let start = Instant::now();
        let mut left = self.load.total.map_or(u64::MAX, |total| total.0);
        let mut is_small = self.load.chunk.is_none();
        let (mut window, mut carried) = (start, 0);
        while left > 0 && !self.is_over(start) {
            let Some(n) = patience.judge(outlet.send(self.stream, left, self.load.release))? else {
                return Ok(End::Stopped);
            };
            sent(n);
            left -= n as u64;
            carried += n;
            if is_small && window.elapsed() >= WINDOW {
                if carried as f64 >= FAST * window.elapsed().as_secs_f64() {
                    outlet.widen(LARGE_BLOCK);
                    is_small = false;
                }
                (window, carried) = (Instant::now(), 0);
            }
            self.pause(left);
        }
        self.stream.shutdown(Shutdown::Write)?;
        Ok(End::Complete)
    }

    /// Sends, and waits until the other side's kernel has got all of it. Where both sides send, the end of the other's stream does not
    /// show that.
    pub(crate) fn send_and_see_it_arrive(&self, sent: &mut dyn FnMut(usize)) -> io::Result<End> {
        if self.send(sent)? == End::Stopped {
            return Ok(End::Stopped);
        }
        let mut patience = self.patience();
        let mut acked = 0;
        loop {
            let state = tcp_state::read(self.stream, 0)?;
            if state.unacked == 0 && state.unsent_bytes == 0 {
                return Ok(End::Complete);
            }
            let moved = state.acked_bytes > acked;
            acked = state.acked_bytes;
            let step = if moved { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
            if patience.judge(step)?.is_none() {
                return Ok(End::Stopped);
            }
            sleep(LOOK);
        }
    }

    /// Sends messages, each after the one before was answered. Calls `answered` for each with its length.
    pub(crate) fn ask(&self, message: u64, answered: &mut dyn FnMut(u64)) -> io::Result<End> {
        let mut outlet = self.outlet()?;
        let mut inlet = Inlet::new(Default::default(), 1);
        let start = Instant::now();
        let mut left = self.load.total.map_or(u64::MAX, |total| total.0);
        while left > 0 && !self.is_over(start) {
            let length = message.min(left);
            if self.hand_over(&mut outlet, length)? == End::Stopped
                || self.take_exactly(&mut inlet, 1)? == End::Stopped
            {
                return Ok(End::Stopped);
            }
            left -= length;
            answered(length);
        }
        self.stream.shutdown(Shutdown::Write)?;
        Ok(End::Complete)
    }

    /// Answers messages until no more come. Calls `taken` for each part.
    pub(crate) fn answer(
        &self,
        message: u64,
        inlet: &mut Inlet,
        taken: &mut dyn FnMut(usize),
    ) -> io::Result<()> {
        let mut outlet = Outlet::new(Default::default(), 1)?;
        let mut left = self.load.total.map_or(u64::MAX, |total| total.0);
        let mut patience = self.patience();
        while left > 0 {
            let mut of_message = message.min(left);
            left -= of_message;
            while of_message > 0 {
                match patience.judge(inlet.take(self.stream, of_message).and_then(not_the_end))? {
                    Some(n) => {
                        taken(n);
                        of_message -= n as u64;
                    }
                    None => return Ok(()),
                }
            }
            outlet.send_all(self.stream, 1, true)?;
        }
        Ok(())
    }

    /// Reads until the other side ends the stream. Calls `taken` for each part.
    pub(crate) fn take_all(&self, inlet: &mut Inlet, taken: &mut dyn FnMut(usize)) -> io::Result<End> {
        let mut patience = self.patience();
        loop {
            let mut at_end = false;
            let part = inlet.take(self.stream, u64::MAX).inspect(|&n| at_end = n == 0);
            match patience.judge(part)? {
                None => return Ok(End::Stopped),
                Some(_) if at_end => return Ok(End::Complete),
                Some(n) => taken(n),
            }
        }
    }

    /// Waits until the other side has taken all that was sent, and closes.
    pub(crate) fn wait_for_end(&self) -> io::Result<End> {
        self.take_all(&mut Inlet::new(Default::default(), 4096), &mut |_| {})
    }

    fn hand_over(&self, outlet: &mut Outlet, length: u64) -> io::Result<End> {
        let mut patience = self.patience();
        let mut left = length;
        while left > 0 {
            match patience.judge(outlet.send(self.stream, left, self.load.release))? {
                Some(n) => left -= n as u64,
                None => return Ok(End::Stopped),
            }
            self.pause(left);
        }
        Ok(End::Complete)
    }

    /// Waits before the next call, where there is one.
    fn pause(&self, left: u64) {
        if left > 0 && !self.load.pause.0.is_zero() {
            sleep(self.load.pause.0);
        }
    }

    fn take_exactly(&self, inlet: &mut Inlet, length: u64) -> io::Result<End> {
        let mut patience = self.patience();
        let mut left = length;
        while left > 0 {
            match patience.judge(inlet.take(self.stream, left).and_then(not_the_end))? {
                Some(n) => left -= n as u64,
                None => return Ok(End::Stopped),
            }
        }
        Ok(End::Complete)
    }

    fn outlet(&self) -> io::Result<Outlet> {
        let chunk = usize::try_from(self.load.chunk.unwrap_or(BLOCK).0).unwrap_or(usize::MAX);
        let mut outlet = Outlet::new(self.load.by, chunk)?;
        outlet.serve(self.stream)?;
        Ok(outlet)
    }

    fn patience(&self) -> Patience<'_> {
        Patience::new(self.load.timeout.0, self.stop)
    }

    fn is_over(&self, start: Instant) -> bool {
        self.load.duration.is_some_and(|duration| start.elapsed() >= duration.0)
    }
}

fn not_the_end(n: usize) -> io::Result<usize> {
    if n == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(n) }
}
