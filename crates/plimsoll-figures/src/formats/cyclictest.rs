//! The lines of `cyclictest` (rt-tests).

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "cyclictest",
    tool: "cyclictest (rt-tests)",
    command: "cyclictest -q -D 10",
    measured: &[
        Measured::lower(
            "latency",
            "us",
            &["thread", "stat"],
            "`Min`, `Act` (last), `Avg` (mean), `Max` of each thread; without `-N`, which prints nanoseconds",
        ),
        Measured::plain("cycles", "", &["thread"], "`C`"),
    ],
    main: &["latency,stat=max"],
    checked: Checked::Kept("2.4"),
    text: Some(Text {
        marks: &["T: "],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "T: {@thread} ( {_}) P: {_} I: {_} C: {cycles} Min: {latency,stat=min us} Act: {latency,stat=last us} Avg: {latency,stat=mean us} Max: {latency,stat=max us}",
    "T: {@thread} ( {_}) P: {_} I: {_} C: {cycles} Min: {latency,stat=min us} Act: {latency,stat=last us} Avg: {latency,stat=mean us} Max: {latency,stat=max us} Overflows: {#}",
    "-# /dev/cpu_dma_latency set to {_}",
    "-policy: {...}",
];
