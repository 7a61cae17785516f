//! The emulator's time slice, and so its wait for a busy processor.
//!
//! A process that asks for a shorter slice has an earlier deadline and preempts those with longer ones when it wakes up; its share of the
//! processor stays what it was (kernel/sched/fair.c, EEVDF; Linux 6.12). It takes no privilege.

use std::io;
use std::mem::size_of;

use nix::libc;

/// The shortest slice that the kernel grants, in nanoseconds.
const SLICE: u64 = 100_000;

/// Asks for the shortest slice.
pub(super) fn shorten() -> io::Result<()> {
    // `struct sched_attr` of linux/sched/types.h: size, policy, flags, nice, priority, runtime, deadline, period.
    let mut attributes = Attributes { size: size_of::<Attributes>() as u32, ..Attributes::default() };
    #[expect(unsafe_code, reason = "libc has no function for it")]
    // SAFETY: the kernel writes at most the given number of bytes, and the structure has them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            0,
            &raw mut attributes,
            size_of::<Attributes>() as libc::c_uint,
            0,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    attributes.runtime = SLICE;
    #[expect(unsafe_code, reason = "libc has no function for it")]
    // SAFETY: the kernel reads as many bytes as the structure says that it has.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The first form of `struct sched_attr`, which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}
