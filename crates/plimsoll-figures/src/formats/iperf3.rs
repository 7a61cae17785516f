//! The text and the JSON of iperf3.

use super::iperf::{Row, datagrams, rate_name, row};
use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "iperf3",
    tool: "iperf3",
    command: "iperf3 -c HOST, iperf3 -c HOST -J",
    measured: &[
        "higher bits_per_second,stream,role,side Mbit/s: the rate over the whole time, as `sender` and `receiver` saw it; with `stream=SUM` of all streams. In JSON `sum_sent` and `sum_received`",
        "plain transfer,stream,side MiB: `Transfer`; in JSON `bytes`",
        "plain duration,stream,side s: the end of the interval over the whole time",
        "lower retransmits,stream,side: `Retr`",
        "higher interval_bits_per_second,stream,role,omitted Mbit/s: the rate of each interval; with `omitted=yes` of those that `-O` leaves out",
        "higher throughput,stream,role,side MiB/s: the rate in bytes, with `-f K` or `-f M`",
        "higher interval_throughput,stream,role,omitted MiB/s: the rate of each interval in bytes",
        "lower interval_retransmits,stream: `Retr` of each interval",
        "plain interval_window,stream,role,omitted KiB: `Cwnd`: the congestion window at the end of the interval",
        "lower interval_jitter,stream ms: `Jitter` of each interval",
        "lower interval_lost,stream: `Lost` datagrams of each interval",
        "plain interval_datagrams,stream: `Total Datagrams` of each interval",
        "lower jitter,stream,side ms: `Jitter` of datagrams",
        "lower lost,stream,side: `Lost` datagrams",
        "plain datagrams,stream,side: `Total Datagrams`",
        "lower rtt,stat us: `min_rtt`, `mean_rtt`, `max_rtt` of the sender, in JSON only",
        "plain cpu,of %: `cpu_utilization_percent`, in JSON only",
    ],
    main: &["bits_per_second,stream=SUM,side=receiver", "bits_per_second,side=receiver", "bits_per_second"],
    checked: Checked::Run("3.12"),
    marks: &["Connecting to host", "Server listening on ", "Test Complete", " sec ", "[ ID]"],
    start: |line| {
        let head = line.text.starts_with("Connecting to host")
            || line.after("Server listening on").is_some_and(|rest| leading(rest).is_some());
        if head {
            return Some(Start::Head);
        }
        let heading = line.text.starts_with("[ ID]") && line.text.contains("Bitrate");
        let is_own = |row: Row<'_>| side(&row).is_some() || row.role.is_some() || is_omitted(&row);
        let within = heading || ends(line) || row(line).is_some_and(is_own);
        within.then_some(Start::Within)
    },
    reader: Some(|_| Box::<Iperf3>::default()),
    json: Some(Document::whole(|json| json.has(&["start", "intervals", "end"]), document)),
    ..Format::EMPTY
};

fn side<'t>(row: &Row<'t>) -> Option<&'t str> {
    row.rest.last().copied().filter(|side| ["sender", "receiver"].contains(side))
}

/// Whether the tool leaves an interval out of its own results.
fn is_omitted(row: &Row<'_>) -> bool {
    row.rest.last() == Some(&"(omitted)")
}

/// Whether the figures over the whole time follow.
fn ends(line: &Line<'_>) -> bool {
    line.text.starts_with("Test Complete. Summary Results")
}

#[derive(Default)]
struct Iperf3 {
    whole: Vec<(String, String)>,
    /// Whether the table has a column of retransmitted segments.
    retransmits: bool,
    /// Whether the rule before the figures over the whole time has been read.
    behind_rule: bool,
    /// The longest interval, in seconds.
    longest: f64,
}

impl Reader for Iperf3 {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some(row) = row(line) else {
            if line.text.starts_with("[ ID]") {
                self.retransmits = line.text.contains("Retr");
            }
            self.behind_rule |= line.text.starts_with("- - -") || ends(line);
            return if is_known(line) { Fit::Mine } else { Fit::Foreign };
        };
        let role = row.role.map(|role| ("role", role));
        let of_stream = || [("stream", row.stream)].into_iter().chain(role);
        let count = row.rest.first().and_then(|word| number(word));
        let side = side(&row);
        // Version 3.1 names no side in the figures of datagrams, and a server none where no rule is above.
        let is_long = self.longest > 0.0 && row.to > 3.0 * self.longest;
        if side.is_none() && !(row.from == 0.0 && (self.behind_rule || is_long)) {
            if !self.whole.is_empty() {
                return Fit::Next;
            }
            if row.to <= row.from {
                return out.refuse("an interval of 0 s has no rate");
            }
            self.longest = self.longest.max(row.to - row.from);
            let omitted = is_omitted(&row);
            let labels: Vec<(&'static str, &str)> =
                of_stream().chain(omitted.then_some(("omitted", "yes"))).collect();
            let mut put = |metric, value, unit| out.put_at(Some(row.to), metric, value, unit, &labels);
            put(rate_name(row.rate.1, true), row.rate.0, row.rate.1);
            if let Some((jitter, lost, all)) = datagrams(&row.rest) {
                if is_possible(jitter, &row) {
                    put("interval_jitter", jitter, "ms");
                } else {
                    out.refused = Some(NO_JITTER.to_owned());
                }
                let mut put = |metric, value, unit| out.put_at(Some(row.to), metric, value, unit, &labels);
                put("interval_lost", lost, "");
                put("interval_datagrams", all, "");
            } else if let Some(count) = count {
                // Without a window behind it, the number of datagrams stands in the same column.
                let columns = row.rest.len() - usize::from(omitted);
                let window = columns == 3 || (row.stream == "SUM" && columns == 1);
                let metric =
                    if self.retransmits || window { "interval_retransmits" } else { "interval_datagrams" };
                put(metric, count, "");
                if let [_, size, of_size, ..] = row.rest[..]
                    && let Some((size, of_size)) = number(size).zip(unit::bytes(of_size))
                {
                    put("interval_window", size, of_size);
                }
            }
            return Fit::Mine;
        }
        let role_of_stream = row.role.unwrap_or_default();
        let key = (format!("{} {role_of_stream}", row.stream), side.unwrap_or_default().to_owned());
        if self.whole.contains(&key) {
            return Fit::Next;
        }
        self.whole.push(key);
        let labels: Vec<(&'static str, &str)> = of_stream().chain(side.map(|side| ("side", side))).collect();
        out.put(rate_name(row.rate.1, false), row.rate.0, row.rate.1, &labels);
        out.put("transfer", row.transfer.0, row.transfer.1, &labels);
        out.put("duration", row.to, "s", &labels);
        if let Some((jitter, lost, all)) = datagrams(&row.rest) {
            if is_possible(jitter, &row) {
                out.put("jitter", jitter, "ms", &labels);
            } else {
                out.refused = Some(NO_JITTER.to_owned());
            }
            out.put("lost", lost, "", &labels);
            out.put("datagrams", all, "", &labels);
        } else if let Some(count) = count {
            out.put(
                if side.is_some() || self.retransmits { "retransmits" } else { "datagrams" },
                count,
                "",
                &labels,
            );
        }
        Fit::Mine
    }
}

const NO_JITTER: &str = "impossible: the jitter is longer than the time in which it was measured";

fn is_possible(jitter_ms: f64, row: &Row<'_>) -> bool {
    jitter_ms <= 1e3 * (row.to - row.from)
}

fn is_known(line: &Line<'_>) -> bool {
    const BEGIN: [&str; 8] = [
        "Connecting to host",
        "Server listening on",
        "Accepted connection",
        "[ ID]",
        "iperf Done",
        "Test Complete",
        "iperf 3",
        "- - -",
    ];
    let local = line.text.starts_with('[')
        && leading(line.text.trim_start_matches(['[', ' '])).is_some()
        && line.text.contains("local ");
    local || line.is_rule() || BEGIN.iter().any(|begin| line.text.starts_with(begin))
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for interval in json.get("intervals").map(|all| all.items()).unwrap_or_default() {
        let Some(sum) = interval.get("sum") else { continue };
        let at = sum.get("end").and_then(|end| end.number());
        let labels = [("stream", "SUM")];
        out.json_at(at, "interval_bits_per_second", sum.get("bits_per_second"), "bit/s", &labels);
        out.json_at(at, "interval_retransmits", sum.get("retransmits"), "", &labels);
    }
    for (name, side) in [("sum_sent", "sender"), ("sum_received", "receiver"), ("sum", "sender")] {
        let sent = json.at(&["end", "sum_sent"]).is_some();
        let Some(sum) = json.at(&["end", name]).filter(|_| name != "sum" || !sent) else { continue };
        let labels = [("stream", "SUM"), ("side", side)];
        out.json("bits_per_second", sum.get("bits_per_second"), "bit/s", &labels);
        out.json("transfer", sum.get("bytes"), "B", &labels);
        out.json("duration", sum.get("seconds"), "s", &labels);
        out.json("retransmits", sum.get("retransmits"), "", &labels);
        out.json("jitter", sum.get("jitter_ms"), "ms", &labels);
        out.json("lost", sum.get("lost_packets"), "", &labels);
        out.json("datagrams", sum.get("packets"), "", &labels);
    }
    let streams = json.at(&["end", "streams"]).map(|all| all.items()).unwrap_or_default();
    for sender in streams.iter().filter_map(|stream| stream.get("sender")) {
        for (name, stat) in [("min_rtt", "min"), ("mean_rtt", "mean"), ("max_rtt", "max")] {
            out.json("rtt", sender.get(name), "us", &[("stat", stat)]);
        }
    }
    let cpu = json.at(&["end", "cpu_utilization_percent"]).map(|cpu| cpu.fields()).unwrap_or_default();
    for (of, value) in cpu {
        out.json("cpu", Some(value), "%", &[("of", &of)]);
    }
}
