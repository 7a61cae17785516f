//! `/proc/diskstats`, and the tables of `/proc/net/stat`, which have a line of names and a line of hexadecimal numbers for each CPU.

use plimsoll_model::counters::DISK_FIELDS;

use super::{Format, Out, Section, count, is_file};

pub(super) const DISKSTATS: Format = Format {
    program: "/proc/diskstats",
    is_command: |command| is_file(command, "proc/diskstats"),
    // A row of vmstat with a damaged word looks like one device, but not like two.
    starts: |lines| lines.len() > 1 && lines[..2].iter().all(|line| device(line).is_some()),
    read: diskstats,
};
pub(super) const CONNTRACK: Format = Format {
    program: "/proc/net/stat/nf_conntrack",
    is_command: |command| is_file(command, "stat/nf_conntrack") || is_file(command, "stat/ip_conntrack"),
    starts: |lines| lines[0].starts_with("entries ") && lines[0].contains("insert_failed"),
    read: |section, out| hexadecimal("nf_conntrack", section, out),
};
pub(super) const NEIGHBOURS: Format = Format {
    program: "/proc/net/stat/arp_cache",
    is_command: |command| is_file(command, "stat/arp_cache"),
    starts: |lines| lines[0].starts_with("entries ") && lines[0].contains("forced_gc_runs"),
    read: |section, out| hexadecimal("neighbour", section, out),
};

/// The fewest numbers of a device, before discards and flushes were counted.
const FEWEST: usize = 11;

fn device(line: &str) -> Option<(&str, Vec<f64>)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [major, minor, name, values @ ..] = words.as_slice() else { return None };
    count(major).and(count(minor))?;
    let values: Option<Vec<f64>> = values.iter().map(|word| count(word)).collect();
    let named = name.starts_with(|first: char| first.is_ascii_alphabetic());
    values.filter(|values| named && values.len() >= FEWEST).map(|values| (*name, values))
}

fn diskstats(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        let (name, values) = device(line)?;
        for ((field, scale), value) in DISK_FIELDS.iter().zip(values) {
            let name = format!("machine.diskstats.{name}.{field}");
            if *field == "in_flight" {
                reading.level(name, value);
            } else {
                reading.total(name, value * scale);
            }
        }
        Some(())
    });
}

fn hexadecimal(prefix: &str, section: &Section<'_>, out: &mut Out) {
    let mut names: Vec<&str> = Vec::new();
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words[0] == "entries" {
            names = words;
            return Some(());
        }
        let values: Option<Vec<u64>> = words.iter().map(|word| u64::from_str_radix(word, 16).ok()).collect();
        let values = values.filter(|values| values.len() == names.len())?;
        for (name, value) in names.iter().zip(values) {
            // Each line repeats the number of entries.
            if *name == "entries" {
                reading.levels.insert(format!("{prefix}.entries"), vec![value as f64]);
            } else {
                reading.add_total(format!("{prefix}.{name}"), value as f64);
            }
        }
        Some(())
    });
}
