//! `/proc/stat`: the CPUs' time, context switches, interrupts and forks.

use super::{Format, Out, Section, count, is_file};

pub(super) const FORMAT: Format = Format {
    program: "/proc/stat",
    is_command: |command| is_file(command, "proc/stat"),
    starts: |lines| lines[0].starts_with("cpu  "),
    read,
};

const CPU_FIELDS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
/// A clock tick in µs: USER_HZ is 100 on every Linux except Alpha.
const TICK: f64 = 10_000.0;
const LEVELS: [&str; 2] = ["procs_running", "procs_blocked"];
const TOTALS: [&str; 4] = ["ctxt", "intr", "processes", "softirq"];

fn read(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let values: Vec<f64> = words.iter().skip(1).map_while(|word| count(word)).collect();
        let name = format!("machine.stat.{}", words[0]);
        match (words[0], values.first()) {
            (key, Some(_)) if key.starts_with("cpu") => {
                for (field, value) in CPU_FIELDS.iter().zip(&values) {
                    reading.total(format!("{name}.{field}"), value * TICK);
                }
            }
            ("btime", Some(value)) => reading.level("machine.boot", *value),
            (key, Some(value)) if LEVELS.contains(&key) => reading.level(name, *value),
            (key, Some(value)) if TOTALS.contains(&key) => reading.total(name, *value),
            _ => return None,
        }
        Some(())
    });
}
