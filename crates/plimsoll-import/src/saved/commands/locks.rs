//! `/proc/locks`: file locks that are held or waited for.

use super::{Format, Out, Section, is_file};

pub(super) const FORMAT: Format = Format {
    program: "/proc/locks",
    is_command: |command| is_file(command, "proc/locks") || command == "locks",
    starts: |lines| kind(lines[0]).is_some(),
    read,
};

/// The kind of lock (fs/locks.c, `lock_get_status`); a request that waits has an arrow before it.
fn kind(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.strip_suffix(':')?;
    let kind = words.find(|word| *word != "->")?;
    let is_known = ["POSIX", "FLOCK", "OFDLCK", "LEASE", "DELEG", "ACCESS"].contains(&kind);
    (number.parse::<u64>().is_ok() && is_known).then_some(kind)
}

fn read(section: &Section<'_>, out: &mut Out) {
    out.reading.add_level("locks.held", 0.0);
    section.each(out, |line, reading| {
        kind(line)?;
        reading.add_level(if line.contains("->") { "locks.blocked" } else { "locks.held" }, 1.0);
        Some(())
    });
}
