//! `nstat -a` (iproute2): a counter in each line.

use super::{Format, Out, Section, command_words, count};

pub(super) const FORMAT: Format = Format {
    program: "nstat -az",
    is_command: |command| command_words(command).0 == "nstat",
    starts: |lines| lines[0].starts_with("#kernel"),
    read,
};

/// Protocols of /proc/net/snmp; all else with a protocol before it is of /proc/net/netstat (iproute2 `misc/nstat.c`).
const OF_SNMP: [&str; 6] = ["IcmpMsg", "Icmp", "UdpLite", "Udp", "Tcp", "Ip"];
const OF_NETSTAT: [&str; 3] = ["TcpExt", "IpExt", "MPTcpExt"];

fn read(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        if !line.starts_with('#') {
            let mut words = line.split_ascii_whitespace();
            reading.total(words.next().and_then(name_of)?, words.next().and_then(count)?);
        }
        Some(())
    });
}

fn name_of(name: &str) -> Option<String> {
    if let Some(field) = name.strip_prefix("Ip6").or_else(|| name.strip_prefix("Icmp6")) {
        return (!field.is_empty()).then(|| format!("snmp6.{name}"));
    }
    let of = |file: &str, protocols: &[&str]| {
        let protocol = protocols.iter().find(|protocol| name.starts_with(**protocol))?;
        let field = &name[protocol.len()..];
        (!field.is_empty()).then(|| format!("{file}.{protocol}.{field}"))
    };
    of("netstat", &OF_NETSTAT).or_else(|| of("snmp", &OF_SNMP))
}
