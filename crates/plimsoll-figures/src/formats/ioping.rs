//! Requests and statistics of `ioping`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "ioping",
    tool: "ioping",
    command: "ioping -c 10 FOLDER",
    measured: &[
        "lower latency s, ms, us, ns: `time` of each request but the first, which warms up",
        "lower latency,stat s, ms, us, ns: `min/avg/max/mdev`",
        "higher requests_per_second 1/s: `iops`",
        "higher throughput B/s, KiB/s, MiB/s, GiB/s: the rate behind `iops`, in powers of 1024",
        "plain requests: `requests completed`",
        "plain duration s, ms, us, min: `in`, the time of the requests",
    ],
    main: &["requests_per_second", "latency,stat=mean"],
    checked: Checked::Kept("1.3"),
    marks: &[" ioping statistics ---", ": request=", " requests completed in "],
    start: |line| rules::start(LINES, line).or_else(|| is_heading(line).then_some(Start::Within)),
    reader: Some(|_| Box::new(Ioping { rules: rules::reader(LINES), ended: false })),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "-{#} {_} {_} {...}: request={#} time={...} (warmup)",
    "+{#} {_} <<< {...}: request={#} time={latency ?}{...}",
    "+{#} {_} >>> {...}: request={#} time={latency ?}{...}",
    "+{#} {_} from {...}: request={#} time={latency ?}",
    "-^C{...}",
    "---- {...} ioping statistics ---",
    "{requests ~} requests completed in {duration ?}, {requests_per_second ~1/s} iops, {throughput ?}",
    "{requests ~} requests completed in {duration ?}, {#} {_} {_}, {requests_per_second ~1/s} iops, {throughput ?}",
    "-generated {...}",
    "-min/avg/max/mdev = {latency,stat=min ?} / {latency,stat=mean ?} / {latency,stat=max ?} / {latency,stat=stddev ?}",
    "-min/avg/max/mdev = {latency,stat=min ms}/{latency,stat=mean ms}/{latency,stat=max ms}/{latency,stat=stddev ms} ms",
    "-min/avg/max/mdev = {latency,stat=min us}/{latency,stat=mean us}/{latency,stat=max us}/{latency,stat=stddev us} us",
];

/// `--- /dev/vda (device 10.0 GiB) ioping statistics ---`
fn is_heading(line: &Line<'_>) -> bool {
    line.text.starts_with("--- ") && line.text.ends_with(" ioping statistics ---")
}

struct Ioping {
    rules: Box<dyn Reader>,
    /// Whether the statistics have begun, which end a call.
    ended: bool,
}

impl Reader for Ioping {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let begins = is_heading(line) || line.text.contains(": request=");
        if begins && self.ended {
            return Fit::Next;
        }
        self.ended |= is_heading(line);
        self.rules.line(line, out)
    }
}
