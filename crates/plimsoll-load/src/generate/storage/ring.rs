//! io_uring(7): many operations at a time, handed over and taken back in one call.
//!
//! The file and the memory are registered once, so that the kernel need not look either up for each operation; where a user may not pin as
//! much memory (RLIMIT_MEMLOCK), only the file is.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use plimsoll_model::experiment::StorageLoad;

use super::buffers::Buffers;
use super::engine::{Completion, Engine, Operation};
use super::io_wq::{Helpers, Used};
use super::part::Part;

/// The engine. The ring stands before the memory, so that it is gone when the memory goes.
pub(super) struct Ring {
    ring: IoUring,
    file: File,
    base: u64,
    buffers: Buffers,
    block: usize,
    /// Whether the memory is registered.
    pinned: bool,
    /// Operations that the kernel has, or is to get.
    under_way: usize,
    helpers: Helpers,
}

impl Ring {
    pub(super) fn new(part: Part, load: &StorageLoad) -> io::Result<Self> {
        let block = usize::try_from(load.block.0).unwrap_or(usize::MAX);
        let buffers = Buffers::new(load)?;
        let entries = load.depth.next_power_of_two();
        // A single thread hands over, and needs no interrupt for a notice (Linux 6.0); older kernels do without.
        let mut ring = IoUring::builder()
            .setup_coop_taskrun()
            .setup_single_issuer()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        let helpers = Helpers::of(&mut ring)?;
        ring.submitter().register_files(&[part.file.as_raw_fd()])?;
        let pieces: Vec<libc::iovec> = (0..load.depth as usize)
            .map(|place| {
                let (start, length) = buffers.of_place(place);
                libc::iovec { iov_base: start.cast(), iov_len: length }
            })
            .collect();
        #[expect(unsafe_code, reason = "the kernel takes memory by its address")]
        // SAFETY: the pieces lie in `buffers`, which is not freed before the ring is.
        let registered = unsafe { ring.submitter().register_buffers(&pieces) };
        let pinned = match registered {
            Ok(()) => true,
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EPERM)) => false,
            Err(error) => return Err(error),
        };
        Ok(Self { ring, file: part.file, base: part.base, buffers, block, pinned, under_way: 0, helpers })
    }

    fn take(&mut self, done: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            self.under_way -= 1;
            let result = match entry.result() {
                bytes @ 0.. => Ok(bytes.unsigned_abs() as usize),
                error => Err(io::Error::from_raw_os_error(-error)),
            };
            done.push(Completion { place: entry.user_data() as usize, result });
        }
    }
}

impl Engine for Ring {
    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let Operation { place, offset, write } = operation;
        let address = self.buffers.address(place);
        let (length, index) = (self.block as u32, place as u16);
        let at = self.base + offset;
        let entry = match (write, self.pinned) {
            (true, true) => opcode::WriteFixed::new(Fixed(0), address, length, index).offset(at).build(),
            (false, true) => opcode::ReadFixed::new(Fixed(0), address, length, index).offset(at).build(),
            (true, false) => opcode::Write::new(Fixed(0), address, length).offset(at).build(),
            (false, false) => opcode::Read::new(Fixed(0), address, length).offset(at).build(),
        };
        #[expect(unsafe_code, reason = "the kernel takes memory by its address")]
        // SAFETY: the piece of memory belongs to this place alone, is not touched before its operation is done, and is not freed before
        // the ring is; the file is registered.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(place as u64)) };
        self.under_way += 1;
        pushed.map_err(|_| io::Error::other("the ring is full"))
    }

    fn finish(&mut self, longest: u64, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        // Operations in the page cache are done by the time the call returns.
        match self.ring.submit() {
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        self.take(done);
        if done.len() > before || self.under_way == 0 || longest == 0 {
            return Ok(());
        }
        let limit = Timespec::new().sec(longest / 1_000_000_000).nsec((longest % 1_000_000_000) as u32);
        match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&limit)) {
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        self.take(done);
        Ok(())
    }

    fn helped(&mut self) -> Used {
        self.helpers.used()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Operations that are under way still write to the memory, and so have to end before it goes.
        let mut done = Vec::new();
        while self.under_way > 0 && self.finish(1_000_000_000, &mut done).is_ok() {}
        if self.under_way > 0 {
            // The kernel does not answer any more: memory that it may still write to is better lost than given to others.
            self.buffers.lose();
        }
    }
}

/// Whether the same call may succeed the next time: it was interrupted, its time is over, or the completion queue is full.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN))
}
