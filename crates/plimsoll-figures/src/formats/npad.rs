//! The report of NPAD (`pathdiag`), as text: its goal, its checks, its verdicts.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "npad",
    tool: "NPAD (pathdiag)",
    command: "diag-client SERVER PORT RTT RATE",
    measured: &[
        "plain target_rate Mbit/s: `End-to-end goal`, or `target application data rate`",
        "plain target_rtt ms: `End-to-end goal`, or `Round-Trip-Time (RTT) to the target application`",
        "higher rate,verdict Mbit/s: `maximum data rate was`",
        "lower loss,verdict %: `loss event rate`",
        "plain loss_budget %: `loss budget is`",
        "plain mss B: `Maximum Segment Size`, or `MSS`",
        "plain rtt ms: `Round Trip Time for this path section`",
        "plain loss_interval,verdict packets: `pkts between loss events`",
        "plain loss_interval_budget packets: `pkts between losses`, that the goal allows",
        "plain window_scale,of: `Received window scale is`, and `it should be`",
        "plain queue packets, B: `Measured queue size`",
        "plain queue_time ms: `drain time`",
        "plain window KiB: `maximum receiver window`",
        "plain buffer_needed B: `bytes of buffer space`, that the goal needs",
    ],
    main: &["rate"],
    checked: Checked::Documented(
        "NPAD 1.5.6, `Detailed information on messages`; IETF 62 tsvwg, `Example diagnostic tool output`",
    ),
    marks: &[
        "Maximum Segment Size for this path section",
        "End-to-end goal:",
        "target application data rate",
        "loss event rate:",
        "maximum data rate was",
    ],
    start: |line| {
        let head = line.text.starts_with("End-to-end goal:");
        if head { Some(Start::Head) } else { Some(Start::Within).filter(|_| fact(line).is_some()) }
    },
    reader: Some(|_| Box::new(Npad)),
    ..Format::EMPTY
};

/// The first number behind some words.
fn behind<'t>(text: &'t str, words: &str) -> Option<(f64, &'t str)> {
    let place = text.find(words)? + words.len();
    let rest = text[place..].trim_start_matches([' ', ':']);
    leading(rest.strip_prefix("is ").unwrap_or(rest))
}

/// The number before some words.
fn before(text: &str, words: &str) -> Option<f64> {
    let ahead = text[..text.find(words)?].trim_end();
    number(ahead.rsplit([' ', '(']).next()?)
}

/// Reads what stands beside the facts of a line: intervals between losses, the window scale, and queues.
fn further(line: &Line<'_>, verdict: Option<&'static str>, out: &mut Out<'_>) -> bool {
    let text = line.text;
    let label = verdict.map(|verdict| ("verdict", verdict));
    let mut put = |metric: &str, value: Option<f64>, unit: &'static str, labels: &[(&'static str, &str)]| {
        value.inspect(|value| out.put(metric, *value, unit, labels)).is_some()
    };
    let read = [
        put("loss_interval", before(text, "pkts between loss events"), "packets", label.as_slice()),
        put("loss_interval_budget", before(text, "pkts between losses"), "packets", &[]),
        put("window_scale", behind(text, "window scale").map(|found| found.0), "", &[("of", "received")]),
        put("window_scale", behind(text, "it should be").map(|found| found.0), "", &[("of", "needed")]),
        put("queue", behind(text, "queue size, Pkts").map(|found| found.0), "packets", &[]),
        text.contains("queue size") && put("queue", behind(text, "Bytes").map(|found| found.0), "B", &[]),
        put("queue_time", before(text, "ms drain time"), "ms", &[]),
        put("window", behind(text, "receiver window (").and_then(kibibytes), "KiB", &[]),
        put("buffer_needed", before(text, "bytes of buffer space"), "B", &[]),
    ];
    read.contains(&true)
}

/// The number of `64k)`.
fn kibibytes((value, behind): (f64, &str)) -> Option<f64> {
    behind.starts_with(['k', 'K']).then_some(value)
}

/// Whether this unit stands after a number.
fn is_unit(behind: &str, unit: &str) -> bool {
    let word = behind.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',']);
    let spelled = match unit {
        "Mbit/s" => "Mb/s",
        "B" => "bytes",
        unit => unit,
    };
    word.eq_ignore_ascii_case(spelled)
}

/// Says what a line has: metric, value, unit.
fn fact(line: &Line<'_>) -> Option<(&'static str, f64, &'static str)> {
    const FACTS: [(&str, &str, &str); 6] = [
        ("maximum data rate was", "rate", "Mbit/s"),
        ("loss event rate", "loss", "%"),
        ("loss budget is", "loss_budget", "%"),
        ("Maximum Segment Size for this path section", "mss", "B"),
        ("Round Trip Time for this path section is", "rtt", "ms"),
        ("Round Trip Time (RTT) for this path section is", "rtt", "ms"),
    ];
    let known = FACTS.iter().find_map(|(words, metric, unit)| {
        let (value, behind) = behind(line.text, words)?;
        is_unit(behind, unit).then_some((*metric, value, *unit))
    });
    known.or_else(|| {
        let (value, behind) = behind(line.text, "This report is based on a")?;
        let (metric, unit) = if line.text.contains("target application data rate") {
            ("target_rate", "Mbit/s")
        } else {
            line.text.contains("Round-Trip-Time").then_some(("target_rtt", "ms"))?
        };
        is_unit(behind, unit).then_some((metric, value, unit))
    })
}

struct Npad;

impl Reader for Npad {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let verdict = ["Pass", "Fail", "Warning"].into_iter().find(|verdict| line.text.starts_with(verdict));
        // `End-to-end goal: 4 Mb/s over a 200 ms path including this section`
        if let Some(goal) = line.after("End-to-end goal:") {
            let words: Vec<&str> = goal.split_whitespace().collect();
            for pair in words.windows(2) {
                match (number(pair[0]), pair[1]) {
                    (Some(rate), "Mb/s") => out.put("target_rate", rate, "Mbit/s", &[]),
                    (Some(rtt), "ms") => out.put("target_rtt", rtt, "ms", &[]),
                    _ => {}
                }
            }
            return Fit::Mine;
        }
        let is_read = further(line, verdict, out);
        if let Some((metric, value, unit)) = fact(line) {
            let label =
                verdict.filter(|_| ["rate", "loss"].contains(&metric)).map(|verdict| ("verdict", verdict));
            out.put(metric, value, unit, label.as_slice());
            return Fit::Mine;
        }
        const KNOWN: [&str; 9] = [
            "Tester",
            "Target",
            "Logfile",
            "FYI:",
            "Diagnosis:",
            "Try rate",
            "Test conditions",
            "Some events",
            "The events",
        ];
        if is_read || verdict.is_some() || KNOWN.iter().any(|known| line.text.starts_with(known)) {
            Fit::Mine
        } else {
            Fit::Foreign
        }
    }
}
