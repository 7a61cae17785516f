//! The text of `ping`, of Linux, of BSD and of busybox.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "ping",
    tool: "ping",
    command: "ping -c 10 HOST",
    measured: &[
        Measured::lower(
            "rtt",
            "ms",
            &["stat"],
            "`rtt min/avg/max/mdev`: min, mean, max and mean deviation (stdev)",
        ),
        Measured::lower("interval_rtt", "ms", &[], "`time` of each answer"),
        Measured::lower("loss", "%", &[], "`packet loss`"),
        Measured::plain("sent", "", &[], "`packets transmitted`"),
        Measured::plain("received", "", &[], "`received`"),
    ],
    main: &["interval_rtt", "rtt,stat=mean"],
    checked: Checked::Kept("iputils 20221126"),
    text: Some(Text {
        marks: &["icmp_seq", " packets transmitted", "round-trip min", "rtt min", "PING "],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^PING {_} ({...}) {...}bytes{...}",
    "^PING {_}({...}) {...}bytes{...}",
    "+{_} bytes from {...}: icmp_seq={_} ttl={_} time={interval_rtt ms} ms",
    "+{_} bytes from {...}: icmp_seq={_} ttl={_} time={interval_rtt ms} ms ({...})",
    "+{_} bytes from {...}: seq={_} ttl={_} time={interval_rtt ms} ms",
    "---- {_} ping statistics ---",
    "--- {_} ping statistics ---",
    "{sent} packets transmitted, {received} received, {loss %}% packet loss, time {_}",
    "{sent} packets transmitted, {received} received, +{_} errors, {loss %}% packet loss, time {_}",
    "{sent} packets transmitted, {received} packets received, {loss %}% packet loss",
    "rtt min/avg/max/mdev = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms}/{rtt,stat=stdev ms} ms{...}",
    "round-trip min/avg/max/stddev = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms}/{rtt,stat=stdev ms} ms",
    "round-trip min/avg/max = {rtt,stat=min ms}/{rtt,stat=mean ms}/{rtt,stat=max ms} ms",
];
