//! How long the relay's flushes take: a list in its folder that grows by four bytes for each, the microseconds of the call.
//!
//! A file, and not a request to the relay, so that flushes made before a crash are known, too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use hdrhistogram::Histogram;
use plimsoll_model::observation::{FlushFacts, Histogram as Recorded};

use crate::generate::histogram::histogram;
use crate::records::RecordReader;

/// The name of the list in the relay's folder.
const NAME: &str = "flushes";
/// The length of a record.
const RECORD: usize = 4;

/// Times flushes.
#[derive(Debug)]
pub(super) struct Flushes {
    /// `None` if the relay has no folder.
    list: Option<File>,
}

impl Flushes {
    /// Goes on with the list in a folder, or begins one.
    pub(super) fn open(folder: Option<&Path>) -> io::Result<Self> {
        let open = |folder: &Path| OpenOptions::new().create(true).append(true).open(folder.join(NAME));
        Ok(Self { list: folder.map(open).transpose()? })
    }

    /// Makes written data of a file, or changes of a folder, durable.
    pub(super) fn flush(&self, file: &File) -> io::Result<()> {
        let start = Instant::now();
        file.sync_all()?;
        let took = u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let Some(mut list) = self.list.as_ref() {
            // One write of a few bytes at the end is never torn by another thread's. The message is durable, whether that is noted or not.
            list.write_all(&took.to_le_bytes()).ok();
        }
        Ok(())
    }
}

/// Reads what a relay has flushed.
pub struct FlushReader {
    records: RecordReader<RECORD>,
}

impl FlushReader {
    /// Reads the list in a relay's folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { records: RecordReader::new(folder, NAME) }
    }

    /// Flushes since the last call.
    ///
    /// # Errors
    /// When the list cannot be read. That there is none yet is no error.
    pub fn take(&mut self) -> io::Result<FlushFacts> {
        let mut times: Histogram<u64> = histogram();
        let mut spent_us = 0;
        self.records.each(|record| {
            let took = u64::from(u32::from_le_bytes(*record));
            times.saturating_record(took);
            spent_us += took;
        })?;
        Ok(FlushFacts { count: times.len(), spent_us, histogram: Recorded::from(&times) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flush_is_counted_once_also_those_of_a_relay_that_was_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = FlushReader::new(folder.path());
        assert_eq!(reader.take().unwrap(), FlushFacts::default());
        let file = File::create(folder.path().join("some")).unwrap();
        for flushes in [1, 3] {
            let relay = Flushes::open(Some(folder.path())).unwrap();
            (0..flushes).for_each(|_| relay.flush(&file).unwrap());
            assert_eq!(reader.take().unwrap().count, flushes);
        }
        assert_eq!(reader.take().unwrap(), FlushFacts::default());
        Flushes::open(None).unwrap().flush(&file).unwrap();
    }
}
