//! `/proc/net/snmp` and `/proc/net/netstat`: a line of names and a line of values for each protocol.

use super::{Format, Out, Section, count, is_file};

pub(super) const SNMP: Format = Format {
    program: "/proc/net/snmp",
    is_command: |command| is_file(command, "net/snmp"),
    starts: |lines| lines[0].starts_with("Ip: Forwarding"),
    read: |section, out| read("snmp", section, out),
};
pub(super) const NETSTAT: Format = Format {
    program: "/proc/net/netstat",
    is_command: |command| is_file(command, "net/netstat"),
    starts: |lines| lines[0].starts_with("TcpExt: SyncookiesSent"),
    read: |section, out| read("netstat", section, out),
};

/// Configuration, and what there is now (RFC 1213).
const LEVELS: [&str; 7] =
    ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab", "Forwarding", "DefaultTTL"];

fn read(file: &str, section: &Section<'_>, out: &mut Out) {
    let mut above: Option<Vec<&str>> = None;
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_header =
            words.iter().skip(1).all(|word| word.starts_with(|first: char| first.is_ascii_alphabetic()));
        if is_header && words.len() > 1 && words[0].ends_with(':') {
            above = Some(words);
            return Some(());
        }
        let names = above.take().filter(|names| names[0] == words[0] && names.len() == words.len())?;
        let protocol = names[0].trim_end_matches(':');
        for (field, value) in names.iter().zip(&words).skip(1) {
            let name = format!("{file}.{protocol}.{field}");
            match count(value) {
                Some(value) if LEVELS.contains(field) => reading.level(name, value),
                Some(value) => reading.total(name, value),
                // `MaxConn` is -1 where there is no limit.
                None => {}
            }
        }
        Some(())
    });
}
