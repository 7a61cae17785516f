//! `/proc/net/softnet_stat` (net/core/net-procfs.c): a line of hexadecimal numbers for each CPU.

use super::{Format, Out, Section, is_file};

pub(super) const FORMAT: Format = Format {
    program: "/proc/net/softnet_stat",
    is_command: |command| is_file(command, "net/softnet_stat") || command.ends_with("softnet_stat"),
    starts: |lines| columns(lines[0]).is_some_and(|all| is_of_packets(&all)),
    read,
};

/// Columns that every kernel since 2.6.14 has.
const FIELDS: [(&str, usize); 3] = [("processed", 0), ("dropped", 1), ("time_squeeze", 2)];
/// Since Linux 5.10 the 13th is the number of the CPU.
const CPU: usize = 12;

fn columns(line: &str) -> Option<Vec<f64>> {
    let hexadecimal = |word: &str| {
        let is_wide = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_wide.then(|| u32::from_str_radix(word, 16).ok().map(f64::from)).flatten()
    };
    let all: Option<Vec<f64>> = line.split_ascii_whitespace().map(hexadecimal).collect();
    all.filter(|all| all.len() >= 9)
}

/// Whether a line without a name may be of this file: CPUs handle packets, and columns that nothing uses any more are zeros. Other statistics have more
/// columns.
fn is_of_packets(columns: &[f64]) -> bool {
    columns[0] > 0.0 && columns.len() <= 15 && columns[3..8].iter().all(|value| *value == 0.0)
}

fn read(section: &Section<'_>, out: &mut Out) {
    let mut numbers = 0_u32..;
    section.each(out, |line, reading| {
        let number = numbers.next().map(f64::from);
        let columns = columns(line)?;
        let cpu = columns.get(CPU).copied().or(number)?;
        for (field, at) in FIELDS {
            reading.total(format!("machine.softnet.cpu{cpu}.{field}"), columns[at]);
            reading.add_total(format!("machine.softnet.{field}"), columns[at]);
        }
        Some(())
    });
}
