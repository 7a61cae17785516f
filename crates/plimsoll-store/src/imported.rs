//! Text of other tools, kept with the run that it was imported as. It is packed byte by byte, so that a later version
//! may read it again.

use std::io::{self, Read, Write};

use super::{RunEntry, Store, StoreError, schema};
use crate::database::{DatabaseError, values};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// A file that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedText {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    packed: Vec<u8>,
}

impl ImportedText {
    /// Its bytes.
    pub fn reader(&self) -> impl Read + '_ {
        DeflateDecoder::new(self.packed.as_slice())
    }
}

/// Packs a text while it is read: what passes through is kept.
#[derive(Debug)]
pub struct Packing<R> {
    input: R,
    packer: DeflateEncoder<Vec<u8>>,
}

impl<R: Read> Packing<R> {
    /// Keeps what is read from `input`.
    pub fn new(input: R) -> Self {
        Self { input, packer: DeflateEncoder::new(Vec::new(), Compression::fast()) }
    }

    /// Reads the rest of the input, and returns all of the text.
    ///
    /// # Errors
    /// The rest cannot be read.
    pub fn finish(mut self, name: &str) -> io::Result<ImportedText> {
        io::copy(&mut self, &mut io::sink())?;
        let bytes = self.packer.total_in();
        Ok(ImportedText { name: name.to_owned(), bytes, packed: self.packer.finish()? })
    }
}

impl<R: Read> Read for Packing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.input.read(buffer)?;
        self.packer.write_all(&buffer[..taken])?;
        Ok(taken)
    }
}

impl Store {
    /// Stores a run that was imported, with its texts: all or nothing.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_imported(&self, run: &RunEntry, texts: &[ImportedText]) -> Result<(), StoreError> {
        let doing = self.doing("store the imported text");
        self.database.whole_or(&doing, || {
            self.put_run(run)?;
            for (ordinal, text) in (0_i64..).zip(texts) {
                let values = values![&run.id, ordinal, &text.name, text.bytes, text.packed.as_slice()];
                self.database.execute(schema::PUT_IMPORTED, values).map_err(&doing)?;
            }
            Ok(())
        })
    }

    /// The texts of a run that was imported, in their order; none of other runs.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn imported(&self, run: &str) -> Result<Vec<ImportedText>, StoreError> {
        let ask = || {
            self.rows(schema::IMPORTED_OF, values![run], |row| -> Result<_, DatabaseError> {
                Ok(ImportedText { name: row.get(0)?, bytes: row.get(1)?, packed: row.get(2)? })
            })
        };
        ask().map_err(self.doing("read the imported text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, on_both};

    on_both! { fn what_was_imported_comes_back_byte_by_byte(store) {
        let page: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
        let mut packing = Packing::new(page.as_slice());
        // A caller that reads only the beginning loses nothing of the rest.
        packing.read_exact(&mut [0; 10]).unwrap();
        let texts = [packing.finish("ab.txt").unwrap(), Packing::new(&b""[..]).finish("-").unwrap()];
        store.put_imported(&entry("aaaa", 10), &texts).unwrap();
        let found = store.imported("aaaa").unwrap();
        assert_eq!(found, texts);
        let mut back = Vec::new();
        found[0].reader().read_to_end(&mut back).unwrap();
        assert_eq!((back == page, found[0].bytes), (true, 800_000));
        assert!(store.imported("bbbb").unwrap().is_empty());
        assert!(store.bytes().unwrap()["aaaa"] > 100_000);
    }}
}
