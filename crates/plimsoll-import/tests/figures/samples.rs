//! The output of the tools themselves: every figure, as a snapshot that was compared with the sample by eye, and as an invariant that every value
//! stands in its line.

use std::fmt::Write as _;

use plimsoll_import::figures::{self, Options};

use super::{names, read, text};

/// Every figure of a text, a line each.
fn listed(text: &str) -> String {
    let mut out = String::new();
    let coverage = figures::stream(text.as_bytes(), &Options::default(), &mut |figure| {
        let labels: Vec<String> =
            figure.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let at = figure.at_s.map_or_else(String::new, |at| format!(" at {at} s"));
        let (line, run, metric) = (figure.line, figure.run, figure.metric);
        writeln!(
            out,
            "{line:>4} {} {run} {metric} {{{}}} = {} {}{at}",
            figure.format,
            labels.join(","),
            figure.value,
            figure.unit
        )
        .unwrap();
    })
    .unwrap();
    for stretch in &coverage.stretches {
        writeln!(out, "{}-{}: {:?}, {} figures", stretch.from, stretch.to, stretch.part, stretch.figures)
            .unwrap();
    }
    out
}

#[test]
fn every_figure_of_each_sample_is_as_the_tool_wrote_it() {
    for name in names("samples") {
        insta::with_settings!({snapshot_suffix => name.clone(), prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!("sample", listed(&text("samples", &name)));
        });
    }
}

#[test]
fn what_is_documented_or_posted_is_read_as_it_stands_there() {
    for folder in ["documented", "pages"] {
        for name in names(folder) {
            insta::with_settings!({snapshot_suffix => name.clone(), prepend_module_to_snapshot => false, omit_expression => true}, {
                insta::assert_snapshot!(folder, listed(&text(folder, &name)));
            });
        }
    }
}

#[test]
fn every_sample_is_recognised_as_what_it_is() {
    for name in names("samples") {
        let found = read(&text("samples", &name));
        let tool = name.split('.').next().unwrap();
        let formats = found.coverage.formats();
        assert_eq!(formats.len(), 1, "{name}: {formats:?}");
        let format = formats[0].replace("iperf3", "iperf_3");
        let tool = tool.replace("iperf3", "iperf_3").replace("iperf2", "iperf").replace("sadf", "sar");
        assert!(tool.starts_with(&format), "{name} is read as {format}");
        assert!(found.coverage.figures > 0, "{name}");
    }
}

#[test]
fn a_value_reads_the_same_quoted_indented_and_with_tabs() {
    for name in names("samples") {
        let plain = text("samples", &name);
        let all = |text: &str| -> Vec<(String, f64, u64)> {
            let mut found = Vec::new();
            figures::stream(text.as_bytes(), &Options::default(), &mut |figure| {
                found.push((format!("{} {:?}", figure.metric, figure.labels), figure.value, figure.line));
            })
            .unwrap();
            found
        };
        let expected = all(&plain);
        let each = |change: &dyn Fn(&str) -> String| -> String {
            plain.lines().map(|line| change(line) + "\n").collect()
        };
        assert_eq!(all(&each(&|line| format!("> {line}"))), expected, "{name}, quoted");
        assert_eq!(all(&each(&|line| format!("    {line}"))), expected, "{name}, indented");
        assert_eq!(all(&each(&|line| format!("{line}\r"))), expected, "{name}, with carriage returns");
        if !name.starts_with("hyperfine") && !name.ends_with("json") {
            assert_eq!(all(&each(&|line| line.replace("  ", "\t"))), expected, "{name}, with tabs");
        }
    }
}

/// A figure of a sample that tests cannot regenerate, with its place: the word behind some text of its line, without
/// signs at its end. The output of the other tools is compared with what awk finds (`tools.rs`).
const SAID: [(&str, &str, &str, &str, usize, &str); 30] = [
    ("criterion.txt", "time,benchmark=sum of a thousand", "sum of a thousand       time:", "time:", 2, "ns"),
    (
        "criterion.txt",
        "time,benchmark=sum of a thousand,bound=lower",
        "sum of a thousand       time:",
        "time:",
        0,
        "ns",
    ),
    (
        "criterion.txt",
        "time,benchmark=a group of sums with a long name/sum/100000,bound=upper",
        "[81.859",
        "time:",
        4,
        "us",
    ),
    (
        "criterion-again.txt",
        "time,benchmark=sum of a thousand",
        "sum of a thousand       time:",
        "time:",
        2,
        "ns",
    ),
    (
        "criterion-again.txt",
        "time,benchmark=a group of sums with a long name/sum/100",
        "[76.668",
        "time:",
        2,
        "ns",
    ),
    ("oha.txt", "requests_per_second", "Requests/sec", "Requests/sec:", 0, "1/s"),
    ("oha.txt", "latency,stat=mean", "Average", "Average:", 0, "ms"),
    ("oha.txt", "latency,percentile=99", "99.00% in", "in", 0, "ms"),
    ("oha.txt", "duration", "Total:", "Total:", 0, "ms"),
    ("oha.json", "requests_per_second", "requestsPerSec", ":", 0, "1/s"),
    ("oha.json", "latency,percentile=99.9", "\"p99.9\": 0.0537525", ":", 0, "s"),
    ("oha-failed.txt", "errors,kind=Connection refused (os error 111)", "Connection refused", "", 0, ""),
    ("oha-failed.txt", "success", "Success rate", ":", 0, "%"),
    ("oha-rate.txt", "errors,kind=aborted due to deadline", "aborted due", "", 0, ""),
    (
        "tiotest.txt",
        "throughput,operation=random write,threads=4",
        "| Random Write    8 MBs",
        " s |",
        0,
        "MiB/s",
    ),
    ("tiotest.txt", "latency,operation=write,threads=4,stat=max", "91.237 ms |  0", "ms |", 0, "ms"),
    ("tiotest.txt", "cpu,operation=read,threads=2,mode=user", "| Read           32 MBs", "MB/s |", 0, "%"),
    ("netperf-stream.txt", "bits_per_second", "131072  16384", "", 4, "Mbit/s"),
    ("netperf-stream.txt", "interval_bits_per_second", "Interim", "result:", 0, "Mbit/s"),
    ("netperf-cpu.txt", "bits_per_second", "131072  16384", "", 4, "Mbit/s"),
    ("netperf-omni.txt", "bits_per_second", "4194304", "", 4, "Mbit/s"),
    ("netperf-keys.txt", "latency,percentile=99", "P99_LATENCY", "=", 0, "us"),
    ("netperf-udp.txt", "bits_per_second,side=receiver", "212992           ", "", 3, "Mbit/s"),
    ("turbostat.txt", "TSC_MHz,cpu=1", "1\t1\t", "", 2, "MHz"),
    ("jmh.txt", "score,benchmark=Sums.time,params=n=1000", "Sums.time  1000", "avgt", 1, "us/op"),
    ("k6.txt", "requests_per_second", "http_reqs", ":", 1, "1/s"),
    ("k6.txt", "latency,percentile=90", "http_req_duration", "p(90)=", 0, "ms"),
    ("vegeta.txt", "requests_per_second,of=throughput", "Requests ", "]", 2, "1/s"),
    ("vegeta.txt", "latency,percentile=99", "Latencies", "]", 5, "ms"),
    ("vegeta.json", "requests_per_second,of=rate", "latencies", "\"rate\":", 0, "1/s"),
];

#[test]
fn values_are_those_that_the_tool_says() {
    for (name, wanted, line, before, word, unit) in SAID {
        let text = text("samples", name);
        let found = text.lines().find(|text| text.contains(line)).unwrap_or_else(|| panic!("{name}: {line}"));
        let rest = &found[found.find(before).unwrap() + before.len()..];
        let number: String = rest
            .split_whitespace()
            .nth(word)
            .unwrap()
            .trim_start_matches('[')
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let said: f64 = number.parse().unwrap_or_else(|_| panic!("{name}, {wanted}: `{rest}`"));
        let read = read(&text);
        let series =
            read.one(wanted).unwrap_or_else(|| panic!("{name}: no single {wanted} in {:#?}", read.series));
        assert_eq!((series.values()[0], series.unit.as_str()), (said, unit), "{name}, {wanted}");
    }
}
