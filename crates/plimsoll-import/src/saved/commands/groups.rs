//! Files of control groups: how often a CPU quota stopped a group, and how often it came to its limit of memory.

use super::{Format, Out, Section, count, is_file};

pub(super) const FORMAT: Format = Format {
    program: "files of control groups",
    is_command: |command| FILES.iter().any(|(file, _)| is_file(command, file)),
    starts: |lines| lines[0].starts_with("nr_periods "),
    read,
};

/// The files, with the counters that their keys are: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst. A file without keys has one number.
const FILES: [(&str, &[(&str, &str)]); 3] = [
    ("cpu.stat", &[("nr_periods", "nr_periods"), ("nr_throttled", "nr_throttled")]),
    ("memory.events", &[("high", "at_limit"), ("max", "at_limit")]),
    ("memory.failcnt", &[("", "at_limit")]),
];

/// Folders in which version 1, or systemd, keeps groups by their controllers.
const CONTROLLERS: [&str; 6] = ["cpu,cpuacct", "cpuacct,cpu", "cpu", "cpuacct", "memory", "unified"];

fn read(section: &Section<'_>, out: &mut Out) {
    let (_, keys) = FILES.iter().find(|(file, _)| is_file(section.command, file)).unwrap_or(&FILES[0]);
    let group = group(section.command);
    section.each(out, |line, reading| {
        let line = line.trim();
        let (key, value) = line.split_once(' ').unwrap_or(("", line));
        let value = count(value.trim())?;
        if let Some((_, counter)) = keys.iter().find(|(known, _)| *known == key) {
            reading.add_total(format!("machine.group.{group}.{counter}"), value);
        }
        Some(())
    });
}

/// The path of the group within its hierarchy, as the recorder writes it.
fn group(command: &str) -> String {
    let path = command.split_ascii_whitespace().find_map(|word| word.split_once("fs/cgroup/"));
    let Some((folder, _)) = path.and_then(|(_, inside)| inside.rsplit_once('/')) else {
        return "unnamed".to_owned();
    };
    let (first, rest) = folder.split_once('/').unwrap_or((folder, ""));
    format!("/{}", if CONTROLLERS.contains(&first) { rest } else { folder })
}
