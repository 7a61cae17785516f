//! Records as compressed JSON: histograms and samples shrink to about a sixteenth.

use std::io::{self, BufWriter, ErrorKind, Read};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columns;

/// Largest record that is unpacked, in bytes: a foreign store may hold one that expands without end.
const MOST: u64 = 1 << 30;

/// A record as columns in JSON, compressed by DEFLATE (RFC 1951).
pub(crate) fn pack<T: Serialize>(record: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = BufWriter::new(DeflateEncoder::new(Vec::new(), Compression::default()));
    serde_json::to_writer(&mut out, &columns::from_rows(serde_json::to_value(record)?))?;
    let encoder = out.into_inner().map_err(|error| serde_json::Error::io(error.into_error()))?;
    encoder.finish().map_err(serde_json::Error::io)
}

/// Reads what [`pack`] made.
pub(crate) fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, serde_json::Error> {
    let mut text = Vec::new();
    let read = DeflateDecoder::new(packed).take(MOST + 1).read_to_end(&mut text);
    if read.map_err(serde_json::Error::io)? as u64 > MOST {
        return Err(serde_json::Error::io(io::Error::other(format!("a record has at most {MOST} bytes"))));
    }
    let rows = columns::into_rows(serde_json::from_slice(&text)?);
    serde_json::from_value(rows.ok_or_else(|| serde_json::Error::io(ErrorKind::InvalidData.into()))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_comes_back_as_it_was(record: Vec<(String, u64)>) {
            let packed = pack(&record).unwrap();
            prop_assert_eq!(unpack::<Vec<(String, u64)>>(&packed).unwrap(), record);
        }

        #[test]
        fn any_bytes_are_a_record_or_an_error(bytes: Vec<u8>) {
            let _ = unpack::<serde_json::Value>(&bytes);
        }
    }

    #[test]
    fn figures_shrink_and_a_cut_record_is_an_error() {
        let record: Vec<u64> = (0..10_000).map(|at| at * at).collect();
        let packed = pack(&record).unwrap();
        assert!(packed.len() * 2 < serde_json::to_vec(&record).unwrap().len());
        assert!(unpack::<Vec<u64>>(&packed[..packed.len() / 2]).is_err());
    }
}
