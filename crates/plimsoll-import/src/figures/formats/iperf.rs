//! The text of iperf 2, old (`0.0-10.0 sec`, `Bandwidth`) and new.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::{leading, number};
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "iperf",
    tool: "iperf 2",
    command: "iperf -c HOST -i 1",
    measured: &[
        Measured::higher("bits_per_second", "Mbit/s", &["stream", "side"], "the rate over the whole time; with `stream=SUM` of all streams, with `side=server` of the server's report"),
        Measured::plain("transfer", "MiB", &["stream", "side"], "`Transfer`"),
        Measured::plain("duration", "s", &["stream", "side"], "the end of the interval over the whole time"),
        Measured::higher("interval_bits_per_second", "Mbit/s", &["stream"], "the rate of each interval, with `-i`"),
        Measured::lower("jitter", "ms", &["stream", "side"], "`Jitter` of datagrams"),
        Measured::lower("lost", "", &["stream", "side"], "`Lost` datagrams"),
        Measured::plain("datagrams", "", &["stream", "side"], "`Total Datagrams`"),
    ],
    main: &["bits_per_second,stream=SUM", "bits_per_second,side=server", "bits_per_second"],
    checked: Checked::Tool("2.1.8"),
    text: Some(Text {
        marks: &["Client connecting to", "Server listening on", " sec "],
        start: |line| {
            let head = line.text.starts_with("Client connecting to") || line.text.starts_with("Server listening on");
            if head && !line.text.contains("port 5201") {
                return Some(Start::Head);
            }
            row(line).map(|_| Start::Within)
        },
        opening: None,
        reader: |_| Box::<Iperf>::default(),
    }),
    ..Format::EMPTY
};

/// A line of figures: `[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec`.
pub(super) struct Row<'t> {
    pub(super) stream: &'t str,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) transfer: (f64, &'static str),
    pub(super) rate: (f64, &'static str),
    /// What stands behind the rate.
    pub(super) rest: Vec<&'t str>,
}

/// A line of figures of iperf 2 or 3.
pub(super) fn row<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let (stream, rest) = line.text.strip_prefix('[')?.split_once(']')?;
    let mut words = rest.split_whitespace();
    let mut word = || words.next();
    let mut interval = word()?.to_owned();
    if interval.ends_with('-') {
        interval.push_str(word()?);
    }
    let (from, to) = interval.split_once('-')?;
    if word()? != "sec" {
        return None;
    }
    let transfer = (number(word()?)?, unit::bytes(word()?)?);
    let rate = (number(word()?)?, unit::bits_per_second(word()?)?);
    Some(Row { stream: stream.trim(), from: number(from)?, to: number(to)?, transfer, rate, rest: words.collect() })
}

/// The jitter, the datagrams lost and all of them: `0.035 ms 3/77 (0%)`, also with blanks around the stroke.
pub(super) fn datagrams(rest: &[&str]) -> Option<(f64, f64, f64)> {
    let (jitter, rest) = rest.split_first()?;
    let (ms, rest) = rest.split_first()?;
    let counts: String = rest.iter().take_while(|word| !word.starts_with('(')).copied().collect();
    let (lost, all) = counts.split_once('/')?;
    (*ms == "ms").then_some((number(jitter)?, number(lost)?, number(all)?))
}

#[derive(Default)]
struct Iperf {
    /// Whether the next figures are those that the server reported.
    server: bool,
    /// Whether figures over the whole time have been read.
    whole: Vec<(String, bool)>,
    /// Streams of which intervals have been read, and the end of the last.
    intervals: Vec<(String, f64)>,
}

impl Reader for Iperf {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.contains("Server Report:") {
            self.server = true;
            return Fit::Mine;
        }
        let Some(row) = row(line) else { return if is_known(line) { Fit::Mine } else { Fit::Foreign } };
        let last = self.intervals.iter_mut().find(|(stream, _)| stream == row.stream);
        // With -i, the line over the whole time begins at 0 again; without, it is the only one of its stream.
        let whole = row.from == 0.0 && (last.is_some() || self.server || is_long(&row));
        if !whole {
            match last {
                Some((_, end)) => *end = row.to,
                None => self.intervals.push((row.stream.to_owned(), row.to)),
            }
            let labels = [("stream", row.stream)];
            out.put_at(Some(row.to), "interval_bits_per_second", row.rate.0, row.rate.1, &labels);
            return Fit::Mine;
        }
        let key = (row.stream.to_owned(), self.server);
        if self.whole.contains(&key) {
            return Fit::Next;
        }
        self.whole.push(key);
        let labels: &[(&str, &str)] =
            if self.server { &[("stream", row.stream), ("side", "server")] } else { &[("stream", row.stream)] };
        out.put("bits_per_second", row.rate.0, row.rate.1, labels);
        out.put("transfer", row.transfer.0, row.transfer.1, labels);
        out.put("duration", row.to, "s", labels);
        if let Some((jitter, lost, all)) = datagrams(&row.rest) {
            out.put("jitter", jitter, "ms", labels);
            out.put("lost", lost, "", labels);
            out.put("datagrams", all, "", labels);
        }
        Fit::Mine
    }
}

/// Whether a line that begins at 0 is about the whole time: an interval is 1 s unless told otherwise, and ends on a round number.
fn is_long(row: &Row<'_>) -> bool {
    row.to > 1.5
}

fn is_known(line: &Line<'_>) -> bool {
    const BEGIN: [&str; 10] = [
        "Client connecting to",
        "Server listening on",
        "TCP window size",
        "UDP buffer size",
        "Sending ",
        "Receiving ",
        "Binding to",
        "Read buffer size",
        "Connecting to",
        "[ ID]",
    ];
    let in_brackets = line.text.starts_with('[')
        && leading(line.text.trim_start_matches(['[', ' '])).is_some()
        && (line.text.contains("local ") || line.text.contains("Sent ") || line.text.contains("datagrams"));
    in_brackets || line.is_rule() || BEGIN.iter().any(|begin| line.text.starts_with(begin))
}
