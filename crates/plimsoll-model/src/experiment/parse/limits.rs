//! Sizes up to which an experiment file is read, which bound the memory and the time of `check`.

use super::FileError;

/// Largest experiment file, in bytes; the largest that comes with Plimsoll has 6,025.
pub const LARGEST_FILE: usize = 256 << 10;
/// Longest line of an experiment file, in bytes.
const LINE: usize = 128 << 10;
/// Largest product of an experiment's cells and the bytes of its file: every cell is read and stored as an experiment.
const CELLS_AND_BYTES: usize = 2 << 20;

/// Compares the size of a file with the limits.
///
/// # Errors
/// When the file, or one of its lines is beyond a limit, which the message states.
pub(super) fn check(text: &str) -> Result<(), FileError> {
    if text.len() > LARGEST_FILE {
        let message = format!("the file has {} bytes", text.len());
        return Err(FileError::plain(message, &format!("at most {LARGEST_FILE} bytes")));
    }
    for (number, line) in (1..).zip(text.split('\n')) {
        if line.len() > LINE {
            let message = format!("line {number} has {} bytes", line.len());
            return Err(FileError::plain(message, &format!("lines of at most {LINE} bytes")));
        }
    }
    Ok(())
}

/// Compares the number of cells with what is left of the memory.
///
/// # Errors
/// When every cell's experiment together would be larger than the limit, which the message states.
pub(crate) fn check_cells(count: usize, text: &str) -> Result<(), FileError> {
    let most = CELLS_AND_BYTES / text.len().max(1);
    if count <= most {
        return Ok(());
    }
    let message = format!("the factors make {count} cells");
    Err(FileError::plain(message, &format!("at most {most} cells of a file of {} bytes", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::parse;

    #[test]
    fn a_file_a_line_and_cells_beyond_their_limits_are_refused_by_number() {
        let refused = |text: &str| parse(text, &[]).unwrap_err().expected.unwrap();
        assert_eq!(refused(&"#\n".repeat(LARGEST_FILE)), "at most 262144 bytes");
        assert_eq!(refused(&"#".repeat(LINE + 1)), "lines of at most 131072 bytes");
        assert!(
            check_cells(2048, &"#".repeat(1024)).is_ok() && check_cells(2049, &"#".repeat(1024)).is_err()
        );
    }

    #[test]
    fn thousands_of_errors_keep_few_copies_of_the_file() {
        let text = "= 1\n".repeat(20_000);
        assert_eq!(parse(&text, &[]).unwrap_err().all().count(), 50);
    }
}
