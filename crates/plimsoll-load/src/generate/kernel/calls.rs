//! A system call, and a page fault.

use plimsoll_model::frame::Failure;

use super::Path;
use crate::failure::{errno, other};
use crate::generate::storage::memory::Memory;

/// getppid(2), which the C library never answers by itself.
pub(super) struct SystemCall;

impl Path for SystemCall {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            std::hint::black_box(nix::unistd::getppid());
        }
        Ok(())
    }
}

const PAGE: usize = 4096;
/// The pages that are mapped at a time. Less than 2 MiB, so that none of them is a huge one.
const PAGES: usize = 256;

/// Pages that are touched for the first time, one after the other; their making and unmaking is shared by all of them.
pub(super) struct PageFault {
    memory: Memory,
    next: usize,
}

impl PageFault {
    pub(super) fn prepare() -> Result<Self, Failure> {
        let memory = Memory::untouched(PAGES * PAGE).map_err(|error| other("map memory", &error))?;
        Ok(Self { memory, next: 0 })
    }
}

impl Path for PageFault {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            if self.next == PAGES {
                self.memory = Memory::untouched(PAGES * PAGE).map_err(|error| errno(&error))?;
                self.next = 0;
            }
            std::hint::black_box(self.memory.slice(self.next * PAGE, 1))[0] = 1;
            self.next += 1;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        PAGE as u64
    }
}
