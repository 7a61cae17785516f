//! Interfaces: `ip -s link`, `ethtool -S` and `tc -s qdisc`.

use super::{Format, Out, Section, command_words, count};

pub(super) const IP: Format = Format {
    program: "ip -s link",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "ip"
            && rest.iter().any(|word| matches!(*word, "link" | "l" | "-s"))
            && !rest.contains(&"route")
    },
    starts: |lines| link(lines[0]).is_some(),
    read: ip,
};
pub(super) const ETHTOOL: Format = Format {
    program: "ethtool -S",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "ethtool" && rest.contains(&"-S")
    },
    starts: |lines| lines[0].trim_end() == "NIC statistics:",
    read: ethtool,
};
pub(super) const TC: Format = Format {
    program: "tc -s qdisc",
    is_command: |command| command_words(command).0 == "tc",
    starts: |lines| lines[0].starts_with("qdisc "),
    read: tc,
};

/// `2: eth0: <BROADCAST,UP> mtu 1500 ...`.
fn link(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(": ")?;
    let (name, rest) = rest.split_once(": ")?;
    count(number)?;
    rest.starts_with('<').then(|| name.split('@').next().unwrap_or(name))
}

/// The tool's names of columns, by those of /proc/net/dev.
fn column(direction: &str, name: &str) -> Option<&'static str> {
    Some(match (direction, name) {
        ("rx", "bytes") => "rx_bytes",
        ("rx", "packets") => "rx_packets",
        ("rx", "errors") => "rx_errors",
        ("rx", "dropped") => "rx_dropped",
        ("rx", "overrun" | "missed") => "rx_missed",
        ("tx", "bytes") => "tx_bytes",
        ("tx", "packets") => "tx_packets",
        ("tx", "errors") => "tx_errors",
        ("tx", "dropped") => "tx_dropped",
        ("tx", "carrier") => "tx_carrier",
        ("tx", "collsns") => "tx_collisions",
        _ => return None,
    })
}

fn ip(section: &Section<'_>, out: &mut Out) {
    let mut interface = "";
    let mut heading: Option<(&str, Vec<&str>)> = None;
    section.each(out, |line, reading| {
        let text = line.trim();
        if let Some(name) = link(line) {
            interface = name;
        } else if let Some((direction, names)) =
            text.split_once(':').filter(|(it, _)| *it == "RX" || *it == "TX")
        {
            let direction = if direction == "RX" { "rx" } else { "tx" };
            heading = Some((direction, names.split_ascii_whitespace().collect()));
        } else if let Some((direction, names)) = heading.take() {
            let values: Vec<Option<f64>> = text.split_ascii_whitespace().map(count).collect();
            if interface.is_empty() || values.len() != names.len() {
                return None;
            }
            for (name, value) in names.iter().zip(values) {
                if let Some((column, value)) = column(direction, name).zip(value) {
                    reading.total(format!("dev.{interface}.{column}"), value);
                }
            }
        } else if !["link/", "altname", "inet", "valid_lft"].iter().any(|start| text.starts_with(start)) {
            return None;
        }
        Some(())
    });
}

/// Names are the driver's own. The interface stands in the command alone.
fn ethtool(section: &Section<'_>, out: &mut Out) {
    let interface = section.command.split_ascii_whitespace().last().filter(|word| *word != "-S");
    let interface = interface.unwrap_or("nic");
    section.each(out, |line, reading| {
        if line.trim_end() != "NIC statistics:" {
            let (name, value) = line.trim().rsplit_once(": ")?;
            let name = format!("nic.{interface}.{}", name.trim().replace(' ', "_"));
            reading.total(name, count(value.trim())?);
        }
        Some(())
    });
}

fn tc(section: &Section<'_>, out: &mut Out) {
    let mut kind = "";
    for (_, line) in section.numbered() {
        let mut words = line.split_ascii_whitespace();
        if let Some(rest) = line.strip_prefix("qdisc ") {
            kind = rest.split(' ').next().unwrap_or_default();
        } else if words.next() == Some("Sent") && !kind.is_empty() {
            // `Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 5)`.
            let words: Vec<&str> = line.split([' ', '(', ')', ',']).collect();
            let of = |name: &str| {
                let place = words.iter().position(|word| *word == name)?;
                words.get(place + 1).and_then(|word| count(word))
            };
            for (name, value) in [("drops", of("dropped")), ("overlimits", of("overlimits"))] {
                if let Some(value) = value {
                    out.reading.add_total(format!("qdisc.{kind}.{name}"), value);
                }
            }
        }
    }
}
