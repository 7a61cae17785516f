//! mmap(2): bytes are copied from and to memory that stands for the file.
//!
//! Where the device cannot deliver a page, or the file has become shorter, the kernel sends SIGBUS instead of an error.
//! A handler then puts an empty page in its place, so that the copy can go on, and the operation counts as failed.

use std::cell::Cell;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::Once;

use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use plimsoll_model::experiment::StorageLoad;

use super::buffers::Buffers;
use super::engine::{Completion, Engine, Operation};
use super::part::Part;

thread_local! {
    /// Where this thread's mapping is, from its first byte to behind its last.
    static MAPPING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Pages of it that were not delivered.
    static MISSED: Cell<u64> = const { Cell::new(0) };
}

/// The size of one delivery of the kernel.
const PAGE: usize = 4096;

/// The engine. It serves the thread that made it.
pub(super) struct Mapped {
    start: NonNull<libc::c_void>,
    /// The mapping begins at a whole page, and the part a little later.
    skip: usize,
    length: usize,
    buffers: Buffers,
    block: usize,
    done: Option<Completion>,
}

impl Mapped {
    pub(super) fn new(part: &Part, load: &StorageLoad) -> io::Result<Self> {
        listen()?;
        let block = usize::try_from(load.block.0).unwrap_or(usize::MAX);
        let skip = usize::try_from(part.base % PAGE as u64).unwrap_or(0);
        let length = usize::try_from(part.length).unwrap_or(usize::MAX).saturating_add(skip);
        let room = NonZeroUsize::new(length).unwrap_or(NonZeroUsize::MIN);
        let access =
            if load.writes() { ProtFlags::PROT_READ | ProtFlags::PROT_WRITE } else { ProtFlags::PROT_READ };
        let at = i64::try_from(part.base - skip as u64).map_err(io::Error::other)?;
        #[expect(unsafe_code, reason = "a mapping of a file is had from mmap(2)")]
        // SAFETY: the kernel chooses an address that nothing else uses. That the file may change beneath is why its bytes are only ever
        // copied as bare memory, never seen through a reference.
        let start = unsafe { mmap(None, room, access, MapFlags::MAP_SHARED, &part.file, at) }?;
        let first = start.as_ptr() as usize;
        MAPPING.set((first, first + length));
        Ok(Self { start, skip, length, buffers: Buffers::new(load)?, block, done: None })
    }
}

impl Engine for Mapped {
    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let at = self.skip + usize::try_from(operation.offset).unwrap_or(usize::MAX);
        assert!(at.checked_add(self.block).is_some_and(|end| end <= self.length), "a place in the part");
        let (missed, memory) = (MISSED.get(), self.buffers.address(operation.place));
        #[expect(unsafe_code, reason = "a file's bytes that may change at any time are bare memory")]
        // SAFETY: both ends lie in mappings that live as long as `self`, and they do not overlap; a page that cannot be delivered is
        // replaced by the handler.
        unsafe {
            let file = self.start.as_ptr().cast::<u8>().add(at);
            if operation.write {
                ptr::copy_nonoverlapping(memory, file, self.block);
            } else {
                ptr::copy_nonoverlapping(file, memory, self.block);
            }
        }
        let result = if MISSED.get() == missed {
            Ok(self.block)
        } else {
            Err(io::Error::from_raw_os_error(libc::EIO))
        };
        self.done = Some(Completion { place: operation.place, result });
        Ok(())
    }

    fn finish(&mut self, _longest: u64, done: &mut Vec<Completion>) -> io::Result<()> {
        done.extend(self.done.take());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        #[expect(unsafe_code, reason = "msync takes the range by its address")]
        // SAFETY: it is the mapping that `new` made.
        let synced = unsafe { msync(self.start, self.length, MsFlags::MS_SYNC) };
        Ok(synced?)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        MAPPING.set((0, 0));
        #[expect(unsafe_code, reason = "it goes back the way it came")]
        // SAFETY: it is the mapping that `new` made, and nothing refers to it.
        let _unheard = unsafe { munmap(self.start, self.length) };
    }
}

/// Sets up the handler, once for the process.
fn listen() -> io::Result<()> {
    static LISTENING: Once = Once::new();
    let mut answer = Ok(());
    LISTENING.call_once(|| {
        let action =
            SigAction::new(SigHandler::SigAction(missing_page), SaFlags::SA_SIGINFO, SigSet::empty());
        #[expect(unsafe_code, reason = "a handler runs in the middle of anything")]
        // SAFETY: the handler makes one system call and touches two cells of its thread that need no initialisation.
        let set = unsafe { sigaction(Signal::SIGBUS, &action) };
        answer = set.map(drop).map_err(io::Error::from);
    });
    answer
}

/// Puts an empty page where one could not be delivered. Anywhere else it is a fault of the program, which then ends by it.
extern "C" fn missing_page(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    #[expect(unsafe_code, reason = "a signal names its origin by address")]
    // SAFETY: the kernel hands a valid siginfo to a handler with SA_SIGINFO; the page that is replaced lies in the thread's own
    // mapping; signal(2) and mmap(2) are single system calls.
    unsafe {
        let at = (*info).si_addr() as usize;
        let (first, behind) = MAPPING.get();
        let page = at / PAGE * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let inside = (first..behind).contains(&at);
        if !inside || libc::mmap(page as *mut libc::c_void, PAGE, access, flags, -1, 0) == libc::MAP_FAILED {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            return;
        }
    }
    MISSED.set(MISSED.get() + 1);
}
