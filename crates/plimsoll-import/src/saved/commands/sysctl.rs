//! `sysctl -a`, and single files below `/proc/sys`: settings, and some counters among them.

use super::{Format, Out, Section, command_words, decimal};

pub(super) const FORMAT: Format = Format {
    program: "sysctl -a",
    is_command: |command| command_words(command).0 == "sysctl" || of_path(command).is_some(),
    starts: |lines| setting(lines[0]).is_some(),
    read,
};

/// Amounts among the settings, with the names that causes use.
const AMOUNTS: [(&str, &str); 5] = [
    ("net.netfilter.nf_conntrack_count", "nf_conntrack.count"),
    ("net.netfilter.nf_conntrack_buckets", "nf_conntrack.buckets"),
    ("kernel.random.entropy_avail", "kernel.entropy"),
    ("fs.inode-nr", "machine.inodes"),
    ("fs.file-nr", "machine.file-nr.allocated"),
];

/// The setting of a file: `/proc/sys/net/core/somaxconn`.
fn of_path(command: &str) -> Option<String> {
    let path = command.split_ascii_whitespace().last()?;
    let (_, setting) = path.split_once("proc/sys/")?;
    Some(setting.replace('/', "."))
}

fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line
        .split_once(" = ")
        .or_else(|| line.split_once(" ="))
        .or_else(|| line.split_once('=').filter(|(name, _)| !name.contains(' ')))?;
    let is_name = name.contains('.')
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_graphic());
    is_name.then_some((name, value.trim()))
}

fn read(section: &Section<'_>, out: &mut Out) {
    let path = of_path(section.command);
    section.each(out, |line, reading| {
        let (name, value) = match &path {
            Some(name) => (name.as_str(), line.trim()),
            None => setting(line)?,
        };
        // Of several numbers the first takes the name, and the others are numbered from 2; text is no number.
        let values: Vec<f64> = value.split_ascii_whitespace().map_while(decimal).collect();
        for (number, value) in (1..).zip(&values).skip(1) {
            reading.level(format!("sysctl.{name}.{number}"), *value);
        }
        let Some(value) = values.first().copied() else { return Some(()) };
        match AMOUNTS.iter().find(|(known, _)| *known == name) {
            Some((_, amount)) => reading.level(*amount, value),
            None => reading.level(format!("sysctl.{name}"), value),
        }
        Some(())
    });
}
