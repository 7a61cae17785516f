//! Parsers of the files about a network namespace. What each value means stands in [`super`].

use super::table::{Rows, Table};
use super::text::{decimal, hexadecimal, lines, name, words};

/// `/proc/net/netstat` and `/proc/net/snmp`: a line of names and a line of values for each protocol.
pub(super) fn protocols(prefix: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    move |rows, table, text| {
        let mut all = lines(text);
        while let (Some(header), Some(values)) = (all.next(), all.next()) {
            let names = || {
                let mut columns = words(header);
                let protocol = columns.next().map(|word| name(word.strip_suffix(b":").unwrap_or(word)));
                let protocol = protocol.unwrap_or_default();
                columns.map(|column| format!("{prefix}.{protocol}.{}", name(column))).collect()
            };
            rows.set(table, header, names, words(values).skip(1).map(decimal));
        }
    }
}

/// `/proc/net/sockstat` and `sockstat6`: `TCP: inuse 2 orphan 0 tw 0 alloc 2 mem 139`.
pub(super) fn sockstat(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text) {
        let mut rest = words(line);
        let Some(key) = rest.next() else { continue };
        let names = || {
            let protocol = name(key.strip_suffix(b":").unwrap_or(key));
            words(line).skip(1).step_by(2).map(|field| sockstat_name(&protocol, &name(field))).collect()
        };
        rows.set(table, key, names, rest.skip(1).step_by(2).map(decimal));
    }
}

/// Memory, orphans and allocated sockets are counted over all namespaces, the rest in this one alone (net/ipv4/proc.c,
/// `sockstat_seq_show`).
fn sockstat_name(protocol: &str, field: &str) -> String {
    let machine = matches!((protocol, field), ("TCP", "alloc" | "mem" | "orphan") | ("UDP", "mem"));
    format!("{}sockstat.{protocol}.{field}", if machine { "machine." } else { "" })
}

/// `/proc/net/dev`.
pub(super) fn dev(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    const FIELDS: [&str; 16] = [
        "rx_bytes",
        "rx_packets",
        "rx_errors",
        "rx_dropped",
        "rx_fifo",
        "rx_frame",
        "rx_compressed",
        "rx_multicast",
        "tx_bytes",
        "tx_packets",
        "tx_errors",
        "tx_dropped",
        "tx_fifo",
        "tx_collisions",
        "tx_carrier",
        "tx_compressed",
    ];
    for line in lines(text).skip(2) {
        let Some(colon) = line.iter().rposition(|&byte| byte == b':') else { continue };
        let key = line[..colon].trim_ascii();
        let names = || FIELDS.map(|field| format!("dev.{}.{field}", name(key))).to_vec();
        rows.set(table, key, names, words(&line[colon + 1..]).map(decimal));
    }
}

/// A file of `/proc/net/stat`: a line of names, then a line of hexadecimal numbers for each CPU. `entries` is the same number on every line; all
/// others are summed.
pub(super) fn per_cpu(prefix: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    move |rows, table, text| sum_over_cpus(prefix, rows, table, text)
}

fn sum_over_cpus(prefix: &str, rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let mut all = lines(text);
    let Some(header) = all.next() else { return };
    let mut sums: Vec<Option<f64>> = vec![None; words(header).count()];
    for line in all {
        for (index, (sum, word)) in sums.iter_mut().zip(words(line)).enumerate() {
            let value = hexadecimal(word);
            *sum = if index == 0 { value } else { value.map(|value| sum.unwrap_or(0.0) + value).or(*sum) };
        }
    }
    let names = || words(header).map(|column| format!("{prefix}{}", name(column))).collect();
    rows.set(table, header, names, sums.into_iter());
}

/// A setting that is one number or several: the first takes the name, the others are numbered from 2.
pub(super) fn setting(setting: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    move |rows, table, text| {
        let names = || {
            let later = (2..=words(text).count()).map(|number| format!("{setting}.{number}"));
            std::iter::once(setting.to_owned()).chain(later).collect()
        };
        rows.set(table, b"", names, words(text).map(decimal));
    }
}

/// `/proc/locks`: how many file locks are held or waited for.
pub(super) fn locks(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    // A lock that is waited for stands under the one that blocks it, with an arrow.
    let (blocked, held): (Vec<_>, Vec<_>) =
        lines(text).partition(|line| words(line).nth(1).is_some_and(|word| word == b"->"));
    let names = || vec!["locks.held".to_owned(), "locks.blocked".to_owned()];
    rows.set(table, b"", names, [held.len(), blocked.len()].into_iter().map(|count| Some(count as f64)));
}
