//! Tools whose output is recognised by a heading, so that a message can name them, but not read.

/// A tool, and words that all stand in one line of its heading.
const TOOLS: &[(&str, &[&str])] = &[
    ("benchcmp", &["benchmark", "old ", "new ", "delta"]),
    ("traceroute", &["traceroute to ", " hops max"]),
    ("free", &["total", "used", "free", "shared"]),
    ("dstat", &["--total-cpu-usage--"]),
    ("nload", &["Curr: ", "Avg: ", "Min: "]),
    ("tcptrace", &["TCP connection ", "host a:"]),
    ("smem", &["PID User", "PSS"]),
    ("netstat -s", &["active connection", "openings"]),
    ("ethtool -S", &["NIC statistics:"]),
    ("bonnie++", &["--Sequential Output--"]),
    ("iozone", &["reclen", "rewrite"]),
    ("filebench", &["IO Summary:", "ops/s"]),
    ("dbench", &["Operation", "Count", "AvgLat"]),
    ("blktrace", &["Device:", "Events:", "KiB/s"]),
    ("zpool iostat", &["operations", "bandwidth"]),
    ("zpool iostat", &["pool", "alloc", "free"]),
    ("curl's progress meter", &["% Total", "% Received", "Xferd"]),
    ("latencytop", &["Cause", "Maximum", "Percentage"]),
    ("strace -c", &["% time", "usecs/call"]),
    ("gprof", &["cumulative", "self", "calls"]),
    ("lzbench", &["Compressor name", "Compress."]),
    ("LMbench", &["Processor, Processes - times"]),
    ("nuttcp", &["MB /", "sec =", "Mbps"]),
    ("qperf", &["msg_rate", "="]),
    ("Phoronix Test Suite", &["Phoronix Test Suite"]),
    ("mpstat of Solaris", &["CPU", "minf", "mjf"]),
    ("SPECjbb", &["SPECjbb"]),
    ("irtt", &["IRTT to "]),
    ("loadtest (npm)", &["Concurrent clients:"]),
    ("loadtest (npm)", &["Completed requests:"]),
];

/// The tool of a heading.
pub(super) fn tool(text: &str) -> Option<&'static str> {
    let fits = |(_, words): &&(&str, &[&str])| words.iter().all(|word| text.contains(word));
    TOOLS.iter().find(fits).map(|(tool, _)| *tool)
}
