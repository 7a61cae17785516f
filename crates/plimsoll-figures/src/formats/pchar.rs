//! The output of `pchar`: the hops of a path.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pchar",
    tool: "pchar",
    command: "pchar HOST",
    measured: &[
        "higher bits_per_second,hop kbit/s: `bw` of `Hop char`; `--.---` is left out",
        "lower rtt,hop ms: `rtt` of `Hop char`, where it is there",
        "lower queue,hop ms: `Hop queueing`",
        "lower loss,hop %: `Partial loss`, up to this hop",
        "higher bottleneck kbit/s: `Path bottleneck`",
        "plain hops: `Path length`",
    ],
    main: &["bottleneck"],
    checked: Checked::Run("1.5"),
    marks: &["pchar to "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^pchar to {...}",
    "-Using {...}",
    "-Packet size{...}",
    "-{#} test(s) per repetition",
    "-{#} repetition(s) per hop",
    "-{^hop#}: {...}({...}",
    "-Partial loss: {#} / {#} ({loss %}%)",
    "-Partial {...}",
    "-stddev rtt{...}",
    "-Hop char: rtt = {rtt ms} ms, bw = {bits_per_second kbit/s} Kbps",
    "-Hop char: rtt = {rtt ms} ms, {...}",
    "-Hop char: {...} bw = {bits_per_second kbit/s} Kbps",
    "-Hop char: {...}",
    "-Hop queueing: avg = {queue ms} ms{...}",
    "-Path length: {hops} hops{^hop=}",
    "-Path bottleneck: {bottleneck kbit/s} Kbps",
    "-Path {...}",
    "-Start time: {...}",
    "-End time: {...}",
];
