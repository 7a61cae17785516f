//! `conntrack -S` and `conntrack -C` (conntrack-tools).

use super::{Format, Out, Section, command_words, count, never};

pub(super) const STATISTICS: Format = Format {
    program: "conntrack -S",
    is_command: |command| is_call(command, &["-S", "--stats"]),
    starts: |lines| lines[0].starts_with("cpu=0") && lines[0].contains("insert_failed="),
    read: statistics,
};
pub(super) const COUNT: Format = Format {
    program: "conntrack -C",
    is_command: |command| is_call(command, &["-C", "--count"]),
    starts: never,
    read: entries,
};

fn is_call(command: &str, options: &[&str]) -> bool {
    let (first, rest) = command_words(command);
    first == "conntrack" && rest.iter().any(|word| options.contains(word))
}

/// A line for each CPU; the old version of the tool has names and numbers of `/proc/net/stat` alike.
fn statistics(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let pairs = line.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        let mut any = None;
        for (name, value) in pairs.filter(|(name, _)| *name != "cpu") {
            if let Some(value) = count(value) {
                reading.add_total(format!("nf_conntrack.{name}"), value);
                any = Some(());
            }
        }
        any
    });
}

fn entries(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        reading.level("nf_conntrack.count", count(line.trim())?);
        Some(())
    });
}
