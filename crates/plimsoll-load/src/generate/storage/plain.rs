//! pread(2) and pwrite(2): one operation after the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use plimsoll_model::experiment::StorageLoad;

use super::engine::{Done, Engine, Operation};
use super::memory::Memory;
use super::part::Part;

/// The engine.
pub(super) struct Plain {
    file: File,
    base: u64,
    memory: Memory,
    block: usize,
    done: Option<Done>,
}

impl Plain {
    pub(super) fn new(part: Part, load: &StorageLoad) -> io::Result<Self> {
        let block = usize::try_from(load.block.0).unwrap_or(usize::MAX);
        Ok(Self { file: part.file, base: part.base, memory: Memory::new(block)?, block, done: None })
    }
}

impl Engine for Plain {
    fn buffer(&mut self, _place: usize) -> &mut [u8] {
        self.memory.slice(0, self.block)
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let at = self.base + operation.offset;
        let buffer = self.memory.slice(0, self.block);
        let result =
            if operation.write { self.file.write_at(buffer, at) } else { self.file.read_at(buffer, at) };
        self.done = Some(Done { place: operation.place, result });
        Ok(())
    }

    fn finish(&mut self, _longest: u64, done: &mut Vec<Done>) -> io::Result<()> {
        done.extend(self.done.take());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
