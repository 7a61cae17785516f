//! Memory on whole pages, as direct operations need it.

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Pages of this process alone.
#[derive(Debug)]
pub(in crate::generate) struct Memory {
    start: NonNull<u8>,
    length: usize,
}

impl Memory {
    /// A block of `length` bytes, at least one, with all its pages present.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        Self::map(length, MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE)
    }

    /// A block of `length` bytes, at least one, whose pages appear when they are touched.
    pub(in crate::generate) fn untouched(length: usize) -> io::Result<Self> {
        Self::map(length, MapFlags::MAP_PRIVATE)
    }

    fn map(length: usize, flags: MapFlags) -> io::Result<Self> {
        let length = NonZeroUsize::new(length).unwrap_or(NonZeroUsize::MIN);
        #[expect(unsafe_code, reason = "memory on whole pages is had from mmap(2)")]
        // SAFETY: the kernel chooses an address that nothing else uses.
        let start =
            unsafe { mmap_anonymous(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, flags) }?;
        Ok(Self { start: start.cast(), length: length.get() })
    }

    /// Where it begins.
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes from `from` on.
    pub(in crate::generate) fn slice(&mut self, from: usize, length: usize) -> &mut [u8] {
        assert!(from.checked_add(length).is_some_and(|end| end <= self.length), "a piece of this memory");
        #[expect(unsafe_code, reason = "what mmap(2) gives is bare memory")]
        // SAFETY: the piece lies in the mapping, which is initialised, lives as long as `self`, and is borrowed with it.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr().add(from), length)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "it goes back the way it came")]
        // SAFETY: it is the mapping that `map` made, and no piece of it outlives `self`. That it cannot fail for such a range, only the
        // kernel could say otherwise.
        let _unheard = unsafe { munmap(self.start.cast(), self.length) };
    }
}
