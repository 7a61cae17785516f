//! The system's allocator, with a message when memory runs out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

use nix::libc;

/// Exit status of a program that could not carry out its command.
const COULD_NOT: i32 = 3;

/// The system's allocator. Where it refuses, Rust would abort the process; this one prints a message, and ends the program.
#[derive(Debug)]
pub struct Allocator;

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; each call goes to the system's")]
// SAFETY: each function is that of `System` with the same arguments, and returns what that returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `System::alloc`.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `System::alloc_zeroed`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `System::realloc`.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `System::dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn given(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() { end(size) } else { block }
}

/// Ends the program with a message, without any memory.
#[cold]
fn end(size: usize) -> ! {
    let mut text = [0_u8; 256];
    let room = text.len();
    let mut left = &mut text[..];
    // A message that is cut says enough.
    let _ = writeln!(
        left,
        "plimsoll: error: the system refuses {size} bytes of memory; a limit may be the reason (`ulimit -a`, or that of a control group)"
    );
    let length = room - left.len();
    #[expect(
        unsafe_code,
        reason = "std's standard error may wait for a lock, and exit handlers may allocate"
    )]
    // SAFETY: the buffer has `length` bytes, and _exit(2) may be called at any time.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(COULD_NOT)
    }
}
