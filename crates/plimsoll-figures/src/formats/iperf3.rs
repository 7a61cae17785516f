//! The text and the JSON of iperf3.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::{leading, number};
use super::iperf::{Row, datagrams, row};

pub(super) const FORMAT: Format = Format {
    name: "iperf3",
    tool: "iperf3",
    command: "iperf3 -c HOST, iperf3 -c HOST -J",
    measured: &[
        Measured::higher(
            "bits_per_second",
            "Mbit/s",
            &["stream", "role", "side"],
            "the rate over the whole time, as `sender` and `receiver` saw it; with `stream=SUM` of all streams. In JSON `sum_sent` and `sum_received`",
        ),
        Measured::plain("transfer", "MiB", &["stream", "side"], "`Transfer`; in JSON `bytes`"),
        Measured::plain("duration", "s", &["stream", "side"], "the end of the interval over the whole time"),
        Measured::lower("retransmits", "", &["stream", "side"], "`Retr`"),
        Measured::higher(
            "interval_bits_per_second",
            "Mbit/s",
            &["stream", "role", "omitted"],
            "the rate of each interval; with `omitted=yes` of those that `-O` leaves out",
        ),
        Measured::lower("interval_retransmits", "", &["stream"], "`Retr` of each interval"),
        Measured::lower("interval_jitter", "ms", &["stream"], "`Jitter` of each interval"),
        Measured::lower("interval_lost", "", &["stream"], "`Lost` datagrams of each interval"),
        Measured::plain("interval_datagrams", "", &["stream"], "`Total Datagrams` of each interval"),
        Measured::lower("jitter", "ms", &["stream", "side"], "`Jitter` of datagrams"),
        Measured::lower("lost", "", &["stream", "side"], "`Lost` datagrams"),
        Measured::plain("datagrams", "", &["stream", "side"], "`Total Datagrams`"),
        Measured::lower(
            "rtt",
            "us",
            &["stat"],
            "`min_rtt`, `mean_rtt`, `max_rtt` of the sender, in JSON only",
        ),
        Measured::plain("cpu", "%", &["of"], "`cpu_utilization_percent`, in JSON only"),
    ],
    main: &["bits_per_second,stream=SUM,side=receiver", "bits_per_second,side=receiver", "bits_per_second"],
    checked: Checked::Run("3.12"),
    text: Some(Text {
        marks: &["Connecting to host", "Server listening on ", " sec ", "[ ID]"],
        start: |line| {
            let head = line.text.starts_with("Connecting to host")
                || line.after("Server listening on").is_some_and(|rest| leading(rest).is_some());
            if head {
                return Some(Start::Head);
            }
            let heading = line.text.starts_with("[ ID]") && line.text.contains("Bitrate");
            let whole = row(line).is_some_and(|row| side(&row).is_some());
            (heading || whole).then_some(Start::Within)
        },
        opening: None,
        reader: |_| Box::<Iperf3>::default(),
    }),
    json: Some(Document {
        is: |json| json.has(&["start", "intervals", "end"]),
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

fn side<'t>(row: &Row<'t>) -> Option<&'t str> {
    row.rest.last().copied().filter(|side| ["sender", "receiver"].contains(side))
}

#[derive(Default)]
struct Iperf3 {
    whole: Vec<(String, String)>,
    /// Whether the table has a column of retransmitted segments.
    retransmits: bool,
}

impl Reader for Iperf3 {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some(row) = row(line) else {
            if line.text.starts_with("[ ID]") {
                self.retransmits = line.text.contains("Retr");
            }
            return if is_known(line) { Fit::Mine } else { Fit::Foreign };
        };
        let role = row.role.map(|role| ("role", role));
        let of_stream = || [("stream", row.stream)].into_iter().chain(role);
        let count = row.rest.first().and_then(|word| number(word));
        let Some(side) = side(&row) else {
            if !self.whole.is_empty() {
                return Fit::Next;
            }
            if row.to <= row.from {
                return out.refuse("an interval of 0 s has no rate");
            }
            // What the tool leaves out of its own results.
            let omitted = row.rest.last() == Some(&"(omitted)");
            let labels: Vec<(&'static str, &str)> =
                of_stream().chain(omitted.then_some(("omitted", "yes"))).collect();
            let mut put = |metric, value, unit| out.put_at(Some(row.to), metric, value, unit, &labels);
            put("interval_bits_per_second", row.rate.0, row.rate.1);
            if let Some((jitter, lost, all)) = datagrams(&row.rest) {
                put("interval_jitter", jitter, "ms");
                put("interval_lost", lost, "");
                put("interval_datagrams", all, "");
            } else if let Some(count) = count {
                // Without a window behind it, the number of datagrams stands in the same column.
                let columns = row.rest.len() - usize::from(omitted);
                let window = columns == 3 || (row.stream == "SUM" && columns == 1);
                let metric =
                    if self.retransmits || window { "interval_retransmits" } else { "interval_datagrams" };
                put(metric, count, "");
            }
            return Fit::Mine;
        };
        let key = (format!("{} {}", row.stream, row.role.unwrap_or_default()), side.to_owned());
        if self.whole.contains(&key) {
            return Fit::Next;
        }
        self.whole.push(key);
        let labels: Vec<(&'static str, &str)> = of_stream().chain([("side", side)]).collect();
        out.put("bits_per_second", row.rate.0, row.rate.1, &labels);
        out.put("transfer", row.transfer.0, row.transfer.1, &labels);
        out.put("duration", row.to, "s", &labels);
        if let Some((jitter, lost, all)) = datagrams(&row.rest) {
            out.put("jitter", jitter, "ms", &labels);
            out.put("lost", lost, "", &labels);
            out.put("datagrams", all, "", &labels);
        } else if let Some(count) = count {
            out.put("retransmits", count, "", &labels);
        }
        Fit::Mine
    }
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
