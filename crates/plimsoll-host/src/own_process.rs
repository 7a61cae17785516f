//! System calls without a safe wrapper that change the calling process.

use std::fs;
use std::io;

use nix::libc;
use nix::unistd::{ForkResult, Pid};

/// Closes all descriptors above standard error at the next `execve` of this process: the caller's lock, or file, or terminal reaches nothing that is
/// started. They stay open until then, since some are passed by number on purpose.
pub(crate) fn inherit_nothing() {
    let (first, last, close_on_exec): (libc::c_uint, libc::c_uint, libc::c_int) = (3, libc::c_uint::MAX, 4);
    #[expect(unsafe_code, reason = "no crate here wraps close_range(2)")]
    // SAFETY: with CLOSE_RANGE_CLOEXEC (4), close_range(2) sets a flag of descriptors, closes none, and reads no memory.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, first, last, close_on_exec) };
    if marked != 0 {
        mark_each();
    }
}

/// Fallback for kernels before 5.11.
fn mark_each() {
    let numbers = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::c_int>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        #[expect(unsafe_code, reason = "descriptors that were inherited are known by their numbers alone")]
        // SAFETY: F_SETFD sets a flag of a descriptor, closes none, and reads no memory.
        unsafe {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Keeps a descriptor open at the next `execve`, for a program that gets its number.
pub(crate) fn keep_at_exec(number: libc::c_int) {
    #[expect(unsafe_code, reason = "descriptors that were inherited are known by their numbers alone")]
    // SAFETY: F_SETFD sets a flag of a descriptor, closes none, and reads no memory.
    unsafe {
        libc::fcntl(number, libc::F_SETFD, 0);
    }
}

/// Leaves the session keyring of the caller for a new one, which goes with this process and those that it starts.
///
/// # Errors
/// When the user has no room for another key. A kernel without keyrings has none to leave, which is no error.
pub fn leave_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    #[expect(unsafe_code, reason = "no crate here wraps keyctl(2)")]
    // SAFETY: a null name asks for an anonymous keyring (keyctl_join_session_keyring(3)); no memory is read.
    let joined =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
    match io::Error::last_os_error() {
        _ if joined >= 0 => Ok(()),
        // Sandboxes refuse it together with all that could read a key.
        error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => Ok(()),
        error => Err(error),
    }
}

/// Forks this process. The child's number in the parent; nothing in the child.
///
/// # Errors
/// When this process has several threads, whose locks the child could wait for forever; or when the kernel refuses.
pub fn fork_alone() -> io::Result<Option<Pid>> {
    let threads = fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("this process has {threads} threads")));
    }
    #[expect(unsafe_code, reason = "a process that goes on in two needs fork")]
    // SAFETY: this process has one thread, so no lock can be held by another one in the copy.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Some(child)),
        ForkResult::Child => Ok(None),
    }
}
