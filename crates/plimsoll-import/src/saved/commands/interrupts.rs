//! `/proc/interrupts` and `/proc/softirqs`: a column for each CPU.

use super::{Format, Out, Section, count, is_file};

pub(super) const SOFTIRQS: Format = Format {
    program: "/proc/softirqs",
    is_command: |command| is_file(command, "proc/softirqs"),
    starts: |lines| {
        cpus(lines[0]).is_some() && lines.get(1).is_some_and(|line| line.trim_start().starts_with("HI:"))
    },
    read: softirqs,
};
pub(super) const INTERRUPTS: Format = Format {
    program: "/proc/interrupts",
    is_command: |command| is_file(command, "proc/interrupts"),
    starts: |lines| cpus(lines[0]).is_some(),
    read: interrupts,
};

/// The names of the CPUs, where a line has nothing else.
fn cpus(line: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_cpu = |name: &&str| name.strip_prefix("CPU").is_some_and(|number| count(number).is_some());
    (!names.is_empty() && names.iter().all(is_cpu)).then_some(names)
}

fn softirqs(section: &Section<'_>, out: &mut Out) {
    let mut names: Vec<&str> = Vec::new();
    section.each(out, |line, reading| {
        if let Some(found) = cpus(line) {
            names = found;
            return Some(());
        }
        let (kind, values) = row(line, names.len()).filter(|(_, values)| values.len() == names.len())?;
        for (cpu, value) in names.iter().zip(values) {
            reading.total(format!("machine.softirqs.{kind}.{}", cpu.to_lowercase()), value);
        }
        Some(())
    });
}

fn row(line: &str, cpus: usize) -> Option<(&str, Vec<f64>)> {
    let (kind, rest) = line.split_once(':')?;
    let values: Vec<f64> = rest.split_ascii_whitespace().take(cpus).map_while(count).collect();
    Some((kind.trim(), values)).filter(|(kind, _)| !kind.contains(' '))
}

fn interrupts(section: &Section<'_>, out: &mut Out) {
    let mut names: Vec<&str> = Vec::new();
    section.each(out, |line, reading| {
        if let Some(found) = cpus(line) {
            names = found;
            return Some(());
        }
        // ERR and MIS have one number for all CPUs.
        let (line_number, values) = row(line, names.len()).filter(|(_, values)| !values.is_empty())?;
        let is_device = line_number.bytes().all(|byte| byte.is_ascii_digit());
        let device = line.split_ascii_whitespace().last().filter(|_| is_device);
        let device = device.map_or_else(String::new, |device| format!(".{device}"));
        reading.total(format!("machine.interrupts.{line_number}{device}"), values.iter().sum());
        if is_device && values.len() == names.len() {
            for (cpu, value) in names.iter().zip(values) {
                reading.add_total(format!("machine.irq.{}", cpu.to_lowercase()), value);
            }
        }
        Some(())
    });
}
