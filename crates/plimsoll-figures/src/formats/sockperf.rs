//! The client's summary of `sockperf`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "sockperf",
    tool: "sockperf",
    command: "sockperf ping-pong -i HOST -t 10",
    measured: &[
        "lower latency,of,stat us: `Summary: Latency` (half of a round trip) or `Round trip`, `std-dev`, `<MIN>`, `<MAX>`",
        "lower latency,of,percentile us: `percentile` of the observations",
        "higher messages_per_second 1/s: `Message Rate`",
        "higher bandwidth MiB/s: `BandWidth`; its `MBps` are 1,048,576 bytes",
        "plain messages,of: `SentMessages`, `ReceivedMessages` of the valid duration",
        "plain messages,of: `dropped`, `duplicated` and `out-of-order messages`",
        "plain duration s: `RunTime` of the valid duration",
    ],
    main: &["latency,stat=mean", "messages_per_second"],
    checked: Checked::Kept("3.7"),
    marks: &["sockperf: "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^sockperf: == version #{...} ==",
    "-sockperf[CLIENT]{...}",
    "-[{...}] IP = {...}",
    "-sockperf: Warmup stage{...}",
    "-sockperf: Starting test{...}",
    "-sockperf: Test end{...}",
    "-sockperf: [Total Run]{...}",
    "-sockperf: ========= Printing statistics for {...}",
    "sockperf: [Valid Duration] RunTime={duration s} sec; SentMessages={messages,of=sent}; ReceivedMessages={messages,of=received}",
    "sockperf: ====> avg-latency={#} (std-dev={latency,of=one_way,stat=stddev us}{...}",
    "sockperf: ====> avg-rtt={#} (std-dev={latency,of=round_trip,stat=stddev us}{...}",
    "sockperf: # dropped messages = {messages,of=dropped}; # duplicated messages = {messages,of=duplicated}; # out-of-order messages = {messages,of=out_of_order}",
    "sockperf: Summary: Latency is {latency,stat=mean us} usec{^of=one_way}",
    "sockperf: Summary: Round trip is {latency,stat=mean us} usec{^of=round_trip}",
    "-sockperf: Total {#} observations; each percentile contains {#} observations",
    "-sockperf: ---> <MAX> observation = {latency,stat=max us}",
    "-sockperf: ---> MAX observation = {latency,stat=max us}",
    "-sockperf: ---> percentile {@percentile} = {latency us}",
    "-sockperf: ---> <MIN> observation = {latency,stat=min us}",
    "-sockperf: ---> MIN observation = {latency,stat=min us}",
    "sockperf: Total of {messages,of=sent} messages sent in {duration s} sec",
    "-sockperf: NOTE: {...}",
    "sockperf: Summary: Message Rate is {messages_per_second 1/s} [msg/sec]",
    "sockperf: Summary: BandWidth is {bandwidth MiB/s} MBps ({#} Mbps)",
];
