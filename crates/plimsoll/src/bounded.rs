//! Files that are read whole, up to a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Largest file of lists, states and texts that commands read whole, in bytes.
pub(crate) const FILE: u64 = 16 << 20;

/// Reads a file, or standard input where the path is `-`.
///
/// # Errors
/// When it cannot be read, or is larger than `limit`, which the message states.
pub(crate) fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if path == Path::new("-") { of(io::stdin().lock(), limit) } else { of(File::open(path)?, limit) }
}

/// Reads text in UTF-8, from a file or from standard input.
///
/// # Errors
/// Those of [`bytes`], and other text.
pub(crate) fn text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, limit)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

fn of(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {limit} bytes, which is the limit"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_refused_by_number_however_long_it_is() {
        let refused = bytes(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(refused.to_string(), "it has more than 1000 bytes, which is the limit");
        assert_eq!(of(&[1; 1000][..], 1000).unwrap().len(), 1000);
    }
}
