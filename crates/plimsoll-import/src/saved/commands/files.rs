//! Files of a sosreport that only say which machine it is, or what has one number: they are named by their path.

use super::{Format, Out, Section, count, is_file, never};

pub(super) const FORMAT: Format = Format {
    program: "single files of /sys and /proc",
    is_command: |command| name(command).is_some(),
    starts: never,
    read,
};

/// Paths and the level that each one number is.
const FILES: [(&str, &str); 3] = [
    ("core_throttle_count", "cpu.core_throttled"),
    ("package_throttle_count", "cpu.package_throttled"),
    ("cpufreq/scaling_cur_freq", "cpu.frequency_khz"),
];

fn name(command: &str) -> Option<&'static str> {
    FILES.iter().find(|(ending, _)| is_file(command, ending)).map(|(_, name)| *name)
}

fn read(section: &Section<'_>, out: &mut Out) {
    let Some(name) = name(section.command) else { return };
    section.each(out, |line, reading| {
        reading.level(name, count(line.trim())?);
        Some(())
    });
}
