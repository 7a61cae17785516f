//! How much of the answers to a batch has to be there before the kernel wakes the generator (SO_RCVLOWAT, socket(7)).
//!
//! A server answers the requests of a batch one by one, and each answer by itself would wake a generator that has
//! nothing else to do, which costs it more than to take the answer in. The answers to a batch of the same requests are
//! most often as long as those to the batch before, so SO_RCVLOWAT makes the kernel wait for that many bytes. If they
//! do not come within several times the usual time of a batch, the mark is lowered, and the kernel reports at once what
//! there is (`tcp_set_rcvlowat` in net/ipv4/tcp.c).

use std::os::fd::OwnedFd;

use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};

sockopt_impl!(
    /// How many bytes have to be there before a socket can be read.
    RcvLowat,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    libc::c_int
);

/// How long the kernel waits at least for all answers to a batch before it reports those that are there, in nanoseconds.
const SHORTEST: u64 = 2_000_000;
/// How many times as long as a batch usually takes.
const TIMES: u64 = 4;
/// The weight of the next batch in the smoothed length: one part in this many.
const SMOOTHED: u64 = 16;

/// How long to wait for all answers to a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// How long a batch usually takes, in nanoseconds.
    usual: u64,
}

impl Patience {
    /// Learns the duration of a batch that was not kept waiting; returns how long to wait for the next.
    pub(super) fn learn(&mut self, took: u64) -> u64 {
        self.usual =
            if self.usual == 0 { took } else { self.usual - self.usual / SMOOTHED + took / SMOOTHED };
        self.nanoseconds()
    }

    /// How long to wait.
    pub(super) fn nanoseconds(self) -> u64 {
        self.usual.saturating_mul(TIMES).max(SHORTEST)
    }
}

/// Receive low-water mark of a connection (SO_RCVLOWAT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LowWater {
    /// The mark that the kernel has.
    mark: usize,
    /// How long the answers to the last batch were, in bytes.
    last: usize,
    /// How much of the present answers has come, in bytes.
    come: usize,
    pub(super) answers: Answers,
}

/// How the answers to a batch are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// As they come.
    OneByOne,
    /// All at once.
    Together,
    /// All at once at first, until that took too long.
    GivenUp,
}

impl LowWater {
    /// State of a new socket.
    pub(super) const NEW: Self = Self { mark: 1, last: 0, come: 0, answers: Answers::OneByOne };

    /// Awaits the answers to a batch, all at once where that is worth trying and their length is known; says whether it does.
    pub(super) fn begin(&mut self, fd: &OwnedFd, try_all: bool) -> bool {
        self.come = 0;
        let all = if try_all { self.last.max(1) } else { 1 };
        let together = self.set(fd, all) && all > 1;
        self.answers = if together { Answers::Together } else { Answers::OneByOne };
        together
    }

    /// Counts bytes that have come.
    pub(super) fn take(&mut self, bytes: usize) {
        self.come += bytes;
    }

    /// Whether all answers to the present batch are still awaited.
    pub(super) fn waits(&self) -> bool {
        self.answers == Answers::Together
    }

    /// All answers to a batch are there; `like_the_next` where the next is as long.
    pub(super) fn end(&mut self, like_the_next: bool) {
        self.last = if like_the_next { self.come } else { 0 };
    }

    /// Waits no longer than for the next byte.
    pub(super) fn give_up(&mut self, fd: &OwnedFd) {
        self.answers = Answers::GivenUp;
        self.set(fd, 1);
    }

    fn set(&mut self, fd: &OwnedFd, bytes: usize) -> bool {
        if self.mark != bytes && setsockopt(fd, RcvLowat, &libc::c_int::try_from(bytes).unwrap_or(1)).is_ok()
        {
            self.mark = bytes;
        }
        self.mark == bytes
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, poll};

    use super::*;

    /// Whether the kernel reports within `millis` milliseconds that there is something to read.
    fn readable(fd: &OwnedFd, millis: u16) -> bool {
        let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, millis).unwrap() == 1
    }

    #[test]
    fn the_kernel_waits_for_as_much_as_came_before_until_it_is_set_otherwise() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let fd = OwnedFd::from(client.try_clone().unwrap());
        let mut water = LowWater::NEW;
        let mut take = |water: &mut LowWater| {
            let length = client.read(&mut [0; 1000]).unwrap();
            water.take(length);
        };

        assert!(!water.begin(&fd, true), "how long the first answers are is not known");
        for piece in [30, 70] {
            server.write_all(&vec![1; piece]).unwrap();
            assert!(readable(&fd, 10_000));
            take(&mut water);
        }
        water.end(true);

        assert!(water.begin(&fd, true) && water.waits());
        server.write_all(&[1; 99]).unwrap();
        assert!(!readable(&fd, 50), "one of a hundred bytes is missing");
        server.write_all(&[1]).unwrap();
        assert!(readable(&fd, 10_000));
        take(&mut water);
        water.end(true);

        assert!(water.begin(&fd, true));
        server.write_all(&[1; 99]).unwrap();
        assert!(!readable(&fd, 50));
        water.give_up(&fd);
        assert!(readable(&fd, 10_000) && !water.waits());
        take(&mut water);
        water.end(true);

        assert!(!water.begin(&fd, false), "it is not worth trying");
        water.end(false);
        assert!(!water.begin(&fd, true), "the next batch was another one");
    }

    #[test]
    fn patience_follows_what_batches_take() {
        let mut patience = Patience::default();
        assert_eq!(patience.nanoseconds(), SHORTEST);
        assert_eq!(patience.learn(1_000), SHORTEST);
        let learned = (0..100).map(|_| patience.learn(10_000_000)).last();
        assert!((39_000_000..=40_000_000).contains(&learned.unwrap()), "{learned:?}");
    }
}
