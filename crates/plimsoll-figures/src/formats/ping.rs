//! The text of `ping`, of Linux, BSD, busybox and Windows.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "ping",
    tool: "ping",
    command: "ping -c 10 HOST",
    measured: &[
        "lower rtt,stat ms: `rtt min/avg/max/mdev`: min, mean, max and mean deviation (stdev)",
        "lower interval_rtt,of ms: `time` of each answer; `of=duplicate` where it is one more (`DUP!`)",
        "lower loss %: `packet loss`",
        "plain sent: `packets transmitted`",
        "plain received: `received`",
        "lower duplicates: `duplicates`",
    ],
    main: &["interval_rtt", "rtt,stat=mean"],
    checked: Checked::Kept("iputils 20221126"),
    marks: &[
        "icmp_seq",
        " packets transmitted",
        "round-trip min",
        "rtt min",
        "PING ",
        "TTL=",
        "Packets: Sent",
        "Pinging ",
    ],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^PING {_} ({...}) {...}bytes{...}",
    "^PING {_}({...}) {...}bytes{...}",
    "^PING {_} {#} bytes of data",
    "+{_} bytes from {...}: icmp_seq={_} ttl={_} time={interval_rtt ms} ms",
    "+{_} bytes from {...}: icmp_seq={_} ttl={_} time={interval_rtt,of=duplicate ms} ms (DUP!)",
    "+{_} bytes from {...}: icmp_seq={_} ttl={_} time={interval_rtt ms} ms ({...})",
    "+{_} bytes from {...}: icmp_seq={_} time={interval_rtt ms} ms",
    "+{_} bytes from {...}: seq={_} ttl={_} time={interval_rtt ms} ms",
    "---- {_} ping statistics ---",
    "--- {_} ping statistics ---",
    "{sent} packets transmitted, {received} received, {loss %}% packet loss, time {_}",
    "{sent} packets transmitted, {received} received, {loss %}% packet loss, time {#} ms",
    "{sent} packets transmitted, {received} received, +{_} errors, {loss %}% packet loss, time {_}",
    "{sent} packets transmitted, {received} packets received, +{duplicates} duplicates, {loss %}% packet loss",
    "{sent} packets transmitted, {received} received, +{duplicates} duplicates, {loss %}% packet loss, time {_}",
    "{sent} packets transmitted, {received} packets received, {loss %}% packet loss",
    "rtt min/avg/max/mdev = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms}/{rtt,stat=stdev ms} ms{...}",
    "round-trip min/avg/max/stddev = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms}/{rtt,stat=stdev ms} ms",
    "rtt min/avg/max = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms} ms",
    "round-trip min/avg/max = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms} ms",
    "^Pinging {...} with {#} bytes of data:",
    "+Reply from{...}bytes={#} time={interval_rtt ms}ms TTL={#}",
    "Ping statistics for {...}",
    "Packets: Sent = {sent}, Received = {received}, Lost = {#} ({loss %}% loss),{...}",
    "Approximate round trip times in milli-seconds:",
    "Minimum = {rtt,stat=min ms}ms, Maximum = {rtt,stat=max ms}ms, Average = {rtt,stat=mean ms}ms",
];
