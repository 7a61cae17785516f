//! Journals of ext4: `/proc/fs/jbd2/DEVICE-INODE/info` (fs/jbd2/journal.c, `jbd2_seq_info_show`). They come and go with what is mounted, so
//! the folder is looked through each time.

use std::fs;
use std::path::Path;

use super::table::Table;
use super::text::{decimal, words};

/// Sets the number of committed transactions of each journal, and how many of them a task waited for.
pub(super) fn read(proc: &Path, table: &mut Table) {
    // Without a journal there is no such folder.
    let Ok(journals) = fs::read_dir(proc.join("fs/jbd2")) else { return };
    for journal in journals.flatten() {
        let folder = journal.file_name();
        let name = folder.to_string_lossy();
        let device = name.rsplit_once('-').map_or(&*name, |(device, _)| device);
        // A journal whose file system was unmounted in this moment is gone.
        let Ok(text) = fs::read(journal.path().join("info")) else { continue };
        let Some((commits, requested)) = parse(&text) else { continue };
        table.set_named(&format!("machine.jbd2.{device}.commits"), commits);
        table.set_named(&format!("machine.jbd2.{device}.requested"), requested);
    }
}

/// `N transactions (M requested), each up to K blocks`
fn parse(text: &[u8]) -> Option<(f64, f64)> {
    let mut words = words(text);
    let commits = decimal(words.next()?)?;
    let requested = words.nth(1)?.strip_prefix(b"(")?;
    Some((commits, decimal(requested)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_read_from_the_first_line() {
        let text = b"3210 transactions (2987 requested), each up to 1024 blocks\naverage: \n  0ms waiting for transaction\n";
        assert_eq!(parse(text), Some((3210.0, 2987.0)));
        assert_eq!(parse(b""), None);
    }
}
