//! One file of counters: opened once, read from its start each time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::table::{Rows, Table};

/// How often a file is worth its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// In every sample of a series.
    Fast,
    /// In every light snapshot, and once a second in a series.
    Slow,
    /// In deep snapshots only.
    Deep,
}

/// Fills the table from the file's text.
pub(super) type Parser = Box<dyn Fn(&mut Rows, &mut Table, &[u8]) + Send>;

/// A file, what reads it, and why it may be missing.
pub(super) struct Source {
    /// Below the root.
    pub(super) path: PathBuf,
    pub(super) tier: Tier,
    /// Why a machine in good order may not have this file, or not show it; `None` where every Linux has it.
    pub(super) absent_when: Option<&'static str>,
    parser: Parser,
    rows: Rows,
    file: Option<File>,
}

impl Source {
    pub(super) fn new(
        path: impl Into<PathBuf>,
        tier: Tier,
        absent_when: Option<&'static str>,
        parser: impl Fn(&mut Rows, &mut Table, &[u8]) + Send + 'static,
    ) -> Self {
        let parser = Box::new(parser);
        Self { path: path.into(), tier, absent_when, parser, rows: Rows::default(), file: None }
    }

    /// Reads the file, after opening it where it is not open, and fills the table.
    pub(super) fn read(&mut self, table: &mut Table, buffer: &mut Vec<u8>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let length = match read_whole(file, buffer) {
            Ok(length) => length,
            Err(error) => {
                self.file = None;
                return Err(error);
            }
        };
        self.rows.rewind();
        (self.parser)(&mut self.rows, table, &buffer[..length]);
        Ok(())
    }
}

/// Reads from the start to the end. The kernel regenerates the text at offset 0, a page or a record at a time.
fn read_whole(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize((2 * length).max(16 << 10), 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
