//! pread(2) and pwrite(2): one operation after the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use plimsoll_model::experiment::StorageLoad;

use super::buffers::Buffers;
use super::engine::{Completion, Engine, Operation};
use super::part::Part;

/// The engine.
pub(super) struct Plain {
    file: File,
    base: u64,
    buffers: Buffers,
    done: Option<Completion>,
}

impl Plain {
    pub(super) fn new(part: Part, load: &StorageLoad) -> io::Result<Self> {
        Ok(Self { file: part.file, base: part.base, buffers: Buffers::new(load)?, done: None })
    }
}

impl Engine for Plain {
    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let at = self.base + operation.offset;
        let buffer = self.buffers.slice(operation.place);
        let result =
            if operation.write { self.file.write_at(buffer, at) } else { self.file.read_at(buffer, at) };
        self.done = Some(Completion { place: operation.place, result });
        Ok(())
    }

    fn finish(&mut self, _longest: u64, done: &mut Vec<Completion>) -> io::Result<()> {
        done.extend(self.done.take());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
