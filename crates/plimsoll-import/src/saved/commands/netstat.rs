//! `netstat -s` (net-tools), today's wording and that of 2001: net-tools `statistics.c`.

use super::{Format, Out, Reading, Section, command_words, count};

pub(super) const FORMAT: Format = Format {
    program: "netstat -s",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "netstat" && rest.iter().any(|word| word.starts_with("-s") || *word == "--statistics")
    },
    starts: |lines| lines[0].trim_end() == "Ip:" || lines[0].trim_end() == "Tcp:",
    read,
};

/// Sentences and the field that each is of. `#` stands for the number. The old wording follows the new one.
const SENTENCES: &[(&str, &str, &str)] = &[
    ("Ip", "InReceives", "# total packets received"),
    ("Ip", "InHdrErrors", "# with invalid headers"),
    ("Ip", "InAddrErrors", "# with invalid addresses"),
    ("Ip", "ForwDatagrams", "# forwarded"),
    ("Ip", "InUnknownProtos", "# with unknown protocol"),
    ("Ip", "InDiscards", "# incoming packets discarded"),
    ("Ip", "InDelivers", "# incoming packets delivered"),
    ("Ip", "OutRequests", "# requests sent out"),
    ("Ip", "OutDiscards", "# outgoing packets dropped"),
    ("Ip", "OutNoRoutes", "# dropped because of missing route"),
    ("Ip", "ReasmTimeout", "# fragments dropped after timeout"),
    ("Ip", "ReasmReqds", "# reassemblies required"),
    ("Ip", "ReasmOKs", "# packets reassembled ok"),
    ("Ip", "ReasmFails", "# packet reassemblies failed"),
    ("Ip", "ReasmFails", "# packet reassembles failed"),
    ("Ip", "FragOKs", "# outgoing packets fragmented ok"),
    ("Ip", "FragOKs", "# fragments received ok"),
    ("Ip", "FragFails", "# outgoing packets failed fragmentation"),
    ("Ip", "FragFails", "# fragments failed"),
    ("Ip", "FragCreates", "# fragments created"),
    ("Icmp", "InMsgs", "# ICMP messages received"),
    ("Icmp", "InErrors", "# input ICMP message failed"),
    ("Icmp", "OutMsgs", "# ICMP messages sent"),
    ("Icmp", "OutErrors", "# ICMP messages failed"),
    ("Tcp", "ActiveOpens", "# active connection openings"),
    ("Tcp", "ActiveOpens", "# active connections openings"),
    ("Tcp", "ActiveOpens", "# active opens"),
    ("Tcp", "PassiveOpens", "# passive connection openings"),
    ("Tcp", "PassiveOpens", "# passive opens"),
    ("Tcp", "AttemptFails", "# failed connection attempts"),
    ("Tcp", "EstabResets", "# connection resets received"),
    ("Tcp", "CurrEstab", "# connections established"),
    ("Tcp", "InSegs", "# segments received"),
    ("Tcp", "OutSegs", "# segments sent out"),
    ("Tcp", "OutSegs", "# segments send out"),
    ("Tcp", "RetransSegs", "# segments retransmitted"),
    ("Tcp", "RetransSegs", "# segments retransmited"),
    ("Tcp", "InErrs", "# bad segments received"),
    ("Tcp", "OutRsts", "# resets sent"),
    ("Udp", "InDatagrams", "# packets received"),
    ("Udp", "NoPorts", "# packets to unknown port received"),
    ("Udp", "InErrors", "# packet receive errors"),
    ("Udp", "OutDatagrams", "# packets sent"),
    ("Udp", "OutDatagrams", "# packets send"),
    ("Udp", "RcvbufErrors", "# receive buffer errors"),
    ("Udp", "SndbufErrors", "# send buffer errors"),
    ("TcpExt", "SyncookiesSent", "# SYN cookies sent"),
    ("TcpExt", "SyncookiesRecv", "# SYN cookies received"),
    ("TcpExt", "SyncookiesFailed", "# invalid SYN cookies received"),
    ("TcpExt", "EmbryonicRsts", "# resets received for embryonic SYN_RECV sockets"),
    ("TcpExt", "PruneCalled", "# packets pruned from receive queue because of socket buffer overrun"),
    ("TcpExt", "RcvPruned", "# packets pruned from receive queue"),
    ("TcpExt", "OfoPruned", "# packets dropped from out-of-order queue because of socket buffer overrun"),
    ("TcpExt", "OutOfWindowIcmps", "# ICMP packets dropped because they were out-of-window"),
    ("TcpExt", "LockDroppedIcmps", "# ICMP packets dropped because socket was locked"),
    ("TcpExt", "ArpFilter", "# arp packets filtered"),
    ("TcpExt", "TW", "# TCP sockets finished time wait in fast timer"),
    ("TcpExt", "TWRecycled", "# time wait sockets recycled by time stamp"),
    ("TcpExt", "TWKilled", "# TCP sockets finished time wait in slow timer"),
    ("TcpExt", "PAWSPassive", "# passive connections rejected because of time stamp"),
    ("TcpExt", "PAWSActive", "# active connections rejected because of time stamp"),
    ("TcpExt", "PAWSEstab", "# packets rejected in established connections because of timestamp"),
    ("TcpExt", "PAWSEstab", "# packets rejects in established connections because of timestamp"),
    ("TcpExt", "DelayedACKs", "# delayed acks sent"),
    ("TcpExt", "DelayedACKLocked", "# delayed acks further delayed because of locked socket"),
    ("TcpExt", "DelayedACKLost", "Quick ack mode was activated # times"),
    ("TcpExt", "ListenOverflows", "# times the listen queue of a socket overflowed"),
    ("TcpExt", "ListenDrops", "# SYNs to LISTEN sockets dropped"),
    ("TcpExt", "ListenDrops", "# SYNs to LISTEN sockets ignored"),
    ("TcpExt", "TCPHPHits", "# packet headers predicted"),
    ("TcpExt", "TCPPureAcks", "# acknowledgments not containing data payload received"),
    ("TcpExt", "TCPPureAcks", "# acknowledgments not containing data received"),
    ("TcpExt", "TCPHPAcks", "# predicted acknowledgments"),
    ("TcpExt", "TCPRenoRecovery", "# times recovered from packet loss due to fast retransmit"),
    ("TcpExt", "TCPSackRecovery", "# times recovered from packet loss by selective acknowledgements"),
    ("TcpExt", "TCPSackRecovery", "# times recovered from packet loss due to SACK data"),
    ("TcpExt", "TCPSACKReneging", "# bad SACK blocks received"),
    ("TcpExt", "TCPSACKReorder", "Detected reordering # times using SACK"),
    ("TcpExt", "TCPRenoReorder", "Detected reordering # times using reno fast retransmit"),
    ("TcpExt", "TCPTSReorder", "Detected reordering # times using time stamp"),
    ("TcpExt", "TCPFullUndo", "# congestion windows fully recovered without slow start"),
    ("TcpExt", "TCPPartialUndo", "# congestion windows partially recovered using Hoe heuristic"),
    ("TcpExt", "TCPLossUndo", "# congestion windows recovered without slow start after partial ack"),
    ("TcpExt", "TCPLoss", "# TCP data loss events"),
    ("TcpExt", "TCPLostRetransmit", "# retransmits lost"),
    ("TcpExt", "TCPRenoFailures", "# timeouts after reno fast retransmit"),
    ("TcpExt", "TCPSackFailures", "# timeouts after SACK recovery"),
    ("TcpExt", "TCPLossFailures", "# timeouts in loss state"),
    ("TcpExt", "TCPFastRetrans", "# fast retransmits"),
    ("TcpExt", "TCPForwardRetrans", "# forward retransmits"),
    ("TcpExt", "TCPSlowStartRetrans", "# retransmits in slow start"),
    ("TcpExt", "TCPTimeouts", "# other TCP timeouts"),
    ("TcpExt", "TCPRcvCollapsed", "# packets collapsed in receive queue due to low socket buffer"),
    ("TcpExt", "TCPDSACKOldSent", "# DSACKs sent for old packets"),
    ("TcpExt", "TCPDSACKOfoSent", "# DSACKs sent for out of order packets"),
    ("TcpExt", "TCPDSACKRecv", "# DSACKs received"),
    ("TcpExt", "TCPDSACKOfoRecv", "# DSACKs for out of order packets received"),
    ("TcpExt", "TCPAbortOnSyn", "# connections reset due to unexpected SYN"),
    ("TcpExt", "TCPAbortOnData", "# connections reset due to unexpected data"),
    ("TcpExt", "TCPAbortOnClose", "# connections reset due to early user close"),
    ("TcpExt", "TCPAbortOnMemory", "# connections aborted due to memory pressure"),
    ("TcpExt", "TCPAbortOnTimeout", "# connections aborted due to timeout"),
    ("TcpExt", "TCPAbortOnLinger", "# connections aborted after user close in linger timeout"),
    ("TcpExt", "TCPMemoryPressures", "TCP ran low on memory # times"),
];

/// Protocols whose lines are read: those of /proc/net/snmp and those of /proc/net/netstat.
const OF_SNMP: [&str; 6] = ["Ip", "Icmp", "IcmpMsg", "Tcp", "Udp", "UdpLite"];
const OF_NETSTAT: [&str; 3] = ["TcpExt", "IpExt", "MPTcpExt"];
/// The configuration, and the connections there are now, which fall as well.
const LEVELS: [&str; 2] = ["CurrEstab", "Forwarding"];

fn read(section: &Section<'_>, out: &mut Out) {
    let mut protocol = "";
    let mut histogram = false;
    section.each(out, |line, reading| {
        let text = line.trim().trim_end_matches('.');
        let title = text.strip_suffix(':');
        if let Some(name) = title.filter(|_| !line.starts_with(' ')) {
            (protocol, histogram) = (name, false);
        } else if title.is_some() {
            histogram = true;
        } else {
            // The kinds of messages of ICMP are not needed.
            let is_kind = histogram && line.starts_with("        ");
            if !is_kind {
                return one(protocol, text, reading);
            }
        }
        Some(())
    });
}

/// Takes the number of a line of a protocol; `None` if the line is not known.
fn one(protocol: &str, text: &str, reading: &mut Reading) -> Option<()> {
    let file = file(protocol)?;
    let by_name = text.split_once(": ").filter(|(name, _)| !name.contains(' '));
    let found = match by_name {
        Some((name, value)) => count(value).map(|value| (name, value)),
        None => sentence(protocol, text),
    };
    // "Forwarding is enabled" and "RTO algorithm is other" have no number.
    let Some((field, value)) = found else { return text.contains(" is ").then_some(()) };
    let name = format!("{file}.{protocol}.{field}");
    if LEVELS.contains(&field) {
        reading.level(name, value);
    } else {
        reading.total(name, value);
    }
    Some(())
}

fn file(protocol: &str) -> Option<&'static str> {
    if OF_SNMP.contains(&protocol) {
        Some("snmp")
    } else {
        OF_NETSTAT.contains(&protocol).then_some("netstat")
    }
}

fn sentence(protocol: &str, text: &str) -> Option<(&'static str, f64)> {
    SENTENCES.iter().filter(|(of, ..)| *of == protocol).find_map(|(_, field, sentence)| {
        let (before, after) = sentence.split_once('#')?;
        let number = text.strip_prefix(before)?.strip_suffix(after)?;
        Some((*field, count(number)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wording_of_2001_and_of_today_give_the_same_names() {
        let old = "Tcp:\n    12 active opens\n    7 segments send out\n    3 segments retransmited\n    1 bad segments received.\nTcpExt:\n    9 SYNs to LISTEN sockets ignored\n";
        let new = "Tcp:\n    12 active connection openings\n    7 segments sent out\n    3 segments retransmitted\n    1 bad segments received\nTcpExt:\n    9 SYNs to LISTEN sockets dropped\n";
        let of = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            let mut out = Out::default();
            read(&Section { command: "", lines: &lines, first: 0 }, &mut out);
            assert_eq!(out.unread.lines, 0);
            out.reading.totals
        };
        assert_eq!(of(old), of(new));
        assert_eq!(of(new)["netstat.TcpExt.ListenDrops"], 9.0);
    }
}
