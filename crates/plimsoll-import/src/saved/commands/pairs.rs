//! Files with a name and a number in each line: `/proc/vmstat`, `meminfo`, `net/sockstat`, `pressure/*`, and files with a time.

use super::{Format, Out, Section, command_words, count, decimal, is_file, never};

pub(super) const VMSTAT: Format = Format {
    program: "/proc/vmstat",
    is_command: |command| is_file(command, "proc/vmstat"),
    starts: |lines| lines[0].starts_with("nr_free_pages "),
    read: vmstat,
};
pub(super) const MEMINFO: Format = Format {
    program: "/proc/meminfo",
    is_command: |command| is_file(command, "proc/meminfo"),
    starts: |lines| lines[0].starts_with("MemTotal:"),
    read: meminfo,
};
pub(super) const SOCKSTAT: Format = Format {
    program: "/proc/net/sockstat",
    is_command: |command| is_file(command, "net/sockstat") || is_file(command, "net/sockstat6"),
    starts: |lines| lines[0].starts_with("sockets: used"),
    read: sockstat,
};
pub(super) const UPTIME: Format = Format {
    program: "/proc/uptime",
    is_command: |command| is_file(command, "proc/uptime"),
    starts: never,
    read: uptime,
};
pub(super) const DATE: Format = Format {
    program: "date +%s",
    is_command: |command| command_words(command) == ("date", vec!["+%s"]),
    starts: never,
    read: uptime,
};
pub(super) const PRESSURE: Format = Format {
    program: "/proc/pressure/*",
    is_command: |command| RESOURCES.iter().any(|it| is_file(command, &format!("pressure/{it}"))),
    starts: never,
    read: pressure,
};

const RESOURCES: [&str; 4] = ["cpu", "memory", "io", "irq"];

/// Amounts of the kernel (mm/vmstat.c, `vmstat_text`) begin so; events do not.
fn is_amount(name: &str) -> bool {
    name.starts_with("nr_") || name.ends_with("_high_watermark")
}

fn vmstat(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let (name, value) = line.split_once(' ')?;
        let (field, value) = (format!("machine.vmstat.{name}"), count(value.trim())?);
        if is_amount(name) {
            reading.level(field, value);
        } else {
            reading.total(field, value);
        }
        Some(())
    });
}

fn meminfo(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (name, value) = (words[0].strip_suffix(':')?, count(words.get(1)?)?);
        let scale = if words.get(2) == Some(&"kB") { 1024.0 } else { 1.0 };
        reading.level(format!("machine.meminfo.{name}"), value * scale);
        Some(())
    });
}

fn sockstat(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let protocol = words[0].strip_suffix(':')?;
        for pair in words[1..].chunks_exact(2) {
            // Memory, orphans and allocated sockets are counted over all namespaces (net/ipv4/proc.c).
            let machine = matches!((protocol, pair[0]), ("TCP", "alloc" | "mem" | "orphan") | ("UDP", "mem"));
            let prefix = if machine { "machine." } else { "" };
            reading.level(format!("{prefix}sockstat.{protocol}.{}", pair[0]), count(pair[1]));
        }
        Some(())
    });
}

fn uptime(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let at = line.split_ascii_whitespace().next().and_then(decimal)?;
        reading.at.is_none().then(|| reading.at = Some(at))
    });
}

fn pressure(section: &Section<'_>, out: &mut Out) {
    let of_path = RESOURCES.iter().find(|it| is_file(section.command, &format!("pressure/{it}")));
    section.each(out, |line, reading| {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next().filter(|kind| matches!(*kind, "some" | "full"))?;
        let total = words.find_map(|word| count(word.strip_prefix("total=")?))?;
        reading.total(format!("machine.pressure.{}.{kind}", of_path?), total);
        Some(())
    });
}
