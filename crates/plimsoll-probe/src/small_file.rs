//! Files of the kernel that are shorter than a page, such as `/proc/PID/stat`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A file that fills as much may go on.
const PAGE: usize = 4096;

/// The contents of a small file. The kernel gives them whole at one read, while `fs::read` asks for a size that such files do not have and reads
/// some eight times; that counts where all processes are looked at.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut page = [0; PAGE];
    let length = File::open(path)?.read(&mut page)?;
    if length == PAGE { fs::read(path) } else { Ok(page[..length].to_vec()) }
}

/// The contents of a file as text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_process_are_read_whole() {
        for file in ["limits", "status", "cgroup"].map(|name| Path::new("/proc/self").join(name)) {
            let lines = |text: String| text.lines().count();
            assert_eq!(lines(text(&file).unwrap()), lines(fs::read_to_string(&file).unwrap()), "{file:?}");
        }
    }

    #[test]
    fn a_file_of_more_than_a_page_is_read_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "x".repeat(2 * PAGE + 7)).unwrap();
        assert_eq!(read(file.path()).unwrap().len(), 2 * PAGE + 7);
    }
}
