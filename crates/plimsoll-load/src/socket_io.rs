//! send(2) and recv(2) as a generator calls them a hundred thousand times a second: the system call and nothing else. The C
//! library makes each of its own a point at which a thread can be cancelled, which takes two atomic operations a call in a
//! program with threads (`SYSCALL_CANCEL` in its `sysdeps/unix/sysdep.h`).

use std::os::fd::AsFd;

use nix::errno::Errno;
use rustix::net::{RecvFlags, SendFlags};

/// Sends as much as the kernel takes at once; a peer that is gone is an error and no signal.
pub(crate) fn send(fd: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    repeat(|| rustix::net::send(&fd, bytes, SendFlags::NOSIGNAL))
}

/// Receives the available bytes, as far as there is room; 0 at the end of the peer's stream.
pub(crate) fn receive(fd: impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    repeat(|| rustix::net::recv(&fd, &mut *into, RecvFlags::empty()).map(|(taken, _)| taken))
}

/// Does it again as long as a signal interrupts it.
fn repeat(mut call: impl FnMut() -> rustix::io::Result<usize>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            done => return done.map_err(|error| Errno::from_raw(error.raw_os_error())),
        }
    }
}
