//! Why an input could not be read.

use std::io;

use thiserror::Error;

/// Why an input could not be read at all. [`super::Coverage`] reports single lines that do not fit.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Reading failed.
    #[error("reading failed behind line {line}: {source}")]
    Io {
        /// The last line that was read, from 1.
        line: u64,
        /// The cause.
        source: io::Error,
    },
    /// The input is a packet file.
    #[error("this is a packet file; use `plimsoll trace`")]
    Packets,
    /// The input is compressed.
    #[error(
        "the file is compressed with {0}; unpack it first, for example `{0} -dc FILE | plimsoll import -`"
    )]
    Compressed(&'static str),
    /// The input is text with two bytes for each character.
    #[error("this is UTF-16; `iconv -f UTF-16 -t UTF-8 FILE` makes text of it that can be read")]
    Utf16,
    /// The input is not text.
    #[error("this is no text: there is a byte 0 in its beginning")]
    Binary,
    /// There is no such format.
    #[error("there is no format `{name}`: expected one of {known}")]
    NoFormat {
        /// The requested name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// There are more figures than are kept.
    #[error(
        "line {line}: the figures up to here take more than {} MiB of memory", most >> 20
    )]
    TooMany {
        /// The line of the first that is not kept.
        line: u64,
        /// Memory of those that are kept, at most, in bytes.
        most: usize,
    },
}
