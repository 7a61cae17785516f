//! Bytes that the kernel had to fetch from devices for a thread.

use std::fs;

/// Bytes that were fetched from block devices for the calling thread so far; `None` if the kernel does not report them.
pub(super) fn by_this_thread() -> Option<u64> {
    parse(&fs::read_to_string("/proc/thread-self/io").ok()?)
}

/// Bytes that were fetched, from the text of `/proc/PID/io` (`Documentation/filesystems/proc.rst`).
pub(super) fn parse(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_from_a_device_counts() {
        let text = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 0\n";
        assert_eq!(parse(text), Some(4096));
        assert_eq!(parse("rchar: 1\n"), None);
    }
}
