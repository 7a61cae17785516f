//! The lines of `cyclictest` (rt-tests).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "cyclictest",
    tool: "cyclictest (rt-tests)",
    command: "cyclictest -q -D 10",
    measured: &[
        "lower latency,thread,stat us: `Min`, `Act` (last), `Avg` (mean), `Max` of each thread; without `-N`, which prints nanoseconds",
        "plain cycles,thread: `C`",
    ],
    main: &["latency,stat=max"],
    checked: Checked::Kept("2.4"),
    marks: &["T: "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "T: {@thread} ( {_}) P: {_} I: {_} C: {cycles} Min: {latency,stat=min us} Act: {latency,stat=last us} Avg: {latency,stat=mean us} Max: {latency,stat=max us}",
    "T: {@thread} ( {_}) P: {_} I: {_} C: {cycles} Min: {latency,stat=min us} Act: {latency,stat=last us} Avg: {latency,stat=mean us} Max: {latency,stat=max us} Overflows: {#}",
    "-# /dev/cpu_dma_latency set to {_}",
    "-policy: {...}",
];
