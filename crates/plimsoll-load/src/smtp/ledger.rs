//! The list that a sink keeps of the mail that it has taken: a file that grows by a record for each recipient of each message, before
//! the message is acknowledged. So the list is never behind what was said, also when the sink is killed.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use plimsoll_model::observation::MailLedger;

use super::stamp::ReceivedStamp;
use crate::records::RecordReader;

/// The name of the list in the sink's folder.
const NAME: &str = "ledger";
/// The length of a record: id, a hash of the recipient, flags.
const RECORD: usize = 16;
/// The message carries an id.
const KNOWN: u32 = 1;
/// The record fits its checksum.
const WHOLE: u32 = 2;

/// Writes a list.
pub(crate) struct Writer {
    file: File,
    waiting: Vec<u8>,
}

impl Writer {
    /// Goes on with the list in a folder, or begins one.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(NAME))?;
        // The last record of a killed sink, if incomplete, was never acknowledged.
        let whole = file.metadata()?.len() / RECORD as u64 * RECORD as u64;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, waiting: Vec::new() })
    }

    /// Notes a message for one of its recipients.
    pub(crate) fn note(&mut self, found: Option<ReceivedStamp>, recipient: &[u8]) {
        let flags = found.map_or(0, |found| KNOWN | if found.whole { WHOLE } else { 0 });
        self.waiting.extend_from_slice(&found.map_or(0, |found| found.id).to_le_bytes());
        self.waiting.extend_from_slice(&crc32fast::hash(recipient).to_le_bytes());
        self.waiting.extend_from_slice(&flags.to_le_bytes());
    }

    /// Writes what was noted. It has to go before the acknowledgement.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.file.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

/// Reads a list while it grows.
pub struct LedgerReader {
    records: RecordReader<RECORD>,
    seen: HashSet<(u64, u32)>,
    ledger: MailLedger,
}

impl LedgerReader {
    /// Reads the list in a sink's folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let records = RecordReader::new(folder, NAME);
        Self { records, seen: HashSet::new(), ledger: MailLedger::default() }
    }

    /// The list until now.
    ///
    /// # Errors
    /// When it cannot be read. That there is none yet is no error.
    pub fn read(&mut self) -> io::Result<&MailLedger> {
        let Self { records, seen, ledger } = self;
        records.each(|record| take(record, seen, ledger))?;
        Ok(ledger)
    }
}

fn take(record: &[u8; RECORD], seen: &mut HashSet<(u64, u32)>, ledger: &mut MailLedger) {
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let id = u64::from(word(4)) << 32 | u64::from(word(0));
    let (recipient, flags) = (word(8), word(12));
    if flags & KNOWN == 0 {
        ledger.unknown += 1;
        return;
    }
    if flags & WHOLE == 0 {
        ledger.corrupted += 1;
    }
    if !seen.insert((id, recipient)) {
        ledger.doubled += 1;
    }
    ledger.arrived.insert(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: u64, whole: bool) -> Option<ReceivedStamp> {
        Some(ReceivedStamp { id, whole })
    }

    #[test]
    fn what_was_noted_is_read_while_the_list_grows() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = LedgerReader::new(folder.path());
        assert_eq!(*reader.read().unwrap(), MailLedger::default());
        let mut writer = Writer::open(folder.path()).unwrap();
        writer.note(found(7 << 40, true), b"a@x");
        writer.note(found(7 << 40, true), b"b@x");
        writer.note(None, b"a@x");
        writer.write().unwrap();
        let first = reader.read().unwrap();
        assert_eq!((first.arrived.len(), first.doubled, first.corrupted, first.unknown), (1, 0, 0, 1));
        writer.note(found(8, false), b"a@x");
        writer.note(found(7 << 40, true), b"b@x");
        writer.write().unwrap();
        let then = reader.read().unwrap();
        assert_eq!((then.arrived.len(), then.doubled, then.corrupted, then.unknown), (2, 1, 1, 1));
    }

    #[test]
    fn a_record_that_was_cut_by_a_kill_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path()).unwrap();
        writer.note(found(1, true), b"a@x");
        writer.waiting.truncate(RECORD - 1);
        writer.write().unwrap();
        let mut writer = Writer::open(folder.path()).unwrap();
        writer.note(found(2, true), b"a@x");
        writer.write().unwrap();
        let ledger = LedgerReader::new(folder.path()).read().unwrap().clone();
        assert_eq!(ledger.arrived.iter().collect::<Vec<_>>(), [2]);
    }
}
