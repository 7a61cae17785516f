//! The output of the tools themselves: every figure, as a snapshot that was compared with the sample by eye, and as an invariant that every value
//! stands in its line.

use std::fmt::Write as _;

use plimsoll_import::figures::{self, Options};

use super::{names, read, text, value};

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

#[test]
fn values_are_those_that_the_tool_says() {
    let found = read(&text("samples", "ab.txt"));
    let by_hand = |text: &str, key: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(key)).unwrap();
        line[line.find(key).unwrap() + key.len()..].split_whitespace().next().unwrap().parse().unwrap()
    };
    let ab = text("samples", "ab.txt");
    assert_eq!(value(&found, "requests_per_second"), (by_hand(&ab, "Requests per second:"), "1/s"));
    let wrk = text("samples", "wrk.txt");
    assert_eq!(value(&read(&wrk), "requests_per_second"), (by_hand(&wrk, "Requests/sec:"), "1/s"));
    let pgbench = text("samples", "pgbench.txt");
    assert_eq!(
        value(&read(&pgbench), "transactions_per_second"),
        (by_hand(&pgbench, "\ntps = ".trim()), "1/s")
    );
}
