//! The text of iperf 2, old (`0.0-10.0 sec`, `Bandwidth`) and new.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "iperf",
    tool: "iperf 2",
    command: "iperf -c HOST -i 1",
    measured: &[
        "higher bits_per_second,stream,side Mbit/s: the rate over the whole time; with `stream=SUM` of all streams, with `side=server` of the server's report",
        "plain transfer,stream,side MiB: `Transfer`",
        "plain duration,stream,side s: the end of the interval over the whole time",
        "higher interval_bits_per_second,stream Mbit/s: the rate of each interval, with `-i`",
        "higher throughput,stream,side MiB/s: the rate in bytes, with `-f K` or `-f M`",
        "higher interval_throughput,stream MiB/s: the rate of each interval in bytes",
        "lower jitter,stream,side ms: `Jitter` of datagrams",
        "lower lost,stream,side: `Lost` datagrams",
        "plain datagrams,stream,side: `Total Datagrams`",
    ],
    main: &["bits_per_second,stream=SUM", "bits_per_second,side=server", "bits_per_second"],
    checked: Checked::Run("2.1.8"),
    marks: &["Client connecting to", "Server listening on", " connected with ", " sec "],
    start: |line| {
        let head =
            line.text.starts_with("Client connecting to") || line.text.starts_with("Server listening on");
        // iperf3 names no protocol, only a port.
        if head && (line.text.contains("TCP port") || line.text.contains("UDP port")) {
            return Some(Start::Head);
        }
        // Only iperf3 names the role of a stream.
        let is_row = row(line).is_some_and(|row| row.role.is_none());
        (is_row || is_connection(line)).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Iperf>::default()),
    ..Format::EMPTY
};

/// A line of figures: `[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec`.
pub(super) struct Row<'t> {
    pub(super) stream: &'t str,
    /// Whether the stream sends or receives, of tests in both directions: `TX-C`.
    pub(super) role: Option<&'t str>,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) transfer: (f64, &'static str),
    pub(super) rate: (f64, &'static str),
    /// Text after the rate.
    pub(super) rest: Vec<&'t str>,
}

/// A line of figures of iperf 2 or 3.
pub(super) fn row<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let (stream, rest) = line.text.strip_prefix('[')?.split_once(']')?;
    let role = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (role, rest) = role.map_or((None, rest), |(role, rest)| (Some(role), rest));
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
    let rate = (number(word()?)?, word()?);
    let rate = (rate.0, unit::bits_per_second(rate.1).or_else(|| unit::bytes_per_second(rate.1))?);
    Some(Row {
        stream: stream.trim(),
        role,
        from: number(from)?,
        to: number(to)?,
        transfer,
        rate,
        rest: words.collect(),
    })
}

/// Name of a rate: with `-f K` or `-f M` it is one of bytes.
pub(super) fn rate_name(unit: &str, of_interval: bool) -> &'static str {
    match (unit.ends_with("bit/s"), of_interval) {
        (true, true) => "interval_bits_per_second",
        (true, false) => "bits_per_second",
        (false, true) => "interval_throughput",
        (false, false) => "throughput",
    }
}

/// The jitter, the datagrams lost and all of them: `0.035 ms 3/77 (0%)`, also with blanks around the stroke.
pub(super) fn datagrams(rest: &[&str]) -> Option<(f64, f64, f64)> {
    let (jitter, rest) = rest.split_first()?;
    let (ms, rest) = rest.split_first()?;
    let (lost, all) = match rest {
        [lost, "/", all, ..] => (*lost, *all),
        [lost, all, ..] if lost.ends_with('/') => (&lost[..lost.len() - 1], *all),
        [both, ..] => both.split_once('/')?,
        [] => return None,
    };
    (*ms == "ms").then_some((number(jitter)?, number(lost)?, number(all)?))
}

/// The first line of figures of a stream, of which only the next shows whether it is about an interval or about the whole time.
struct First {
    line: u64,
    stream: String,
    to: f64,
    rate: (f64, &'static str),
    transfer: (f64, &'static str),
    datagrams: Option<(f64, f64, f64)>,
}

impl First {
    fn of(line: u64, row: &Row<'_>) -> Self {
        let Row { to, transfer, rate, .. } = *row;
        Self { line, stream: row.stream.to_owned(), to, rate, transfer, datagrams: datagrams(&row.rest) }
    }

    fn interval(&self, out: &mut Out<'_>) {
        out.line = self.line;
        out.put_at(
            Some(self.to),
            rate_name(self.rate.1, true),
            self.rate.0,
            self.rate.1,
            &[("stream", &self.stream)],
        );
    }

    fn whole(&self, server: bool, out: &mut Out<'_>) {
        out.line = self.line;
        let both = [("stream", self.stream.as_str()), ("side", "server")];
        let labels = if server { &both[..] } else { &both[..1] };
        out.put(rate_name(self.rate.1, false), self.rate.0, self.rate.1, labels);
        out.put("transfer", self.transfer.0, self.transfer.1, labels);
        out.put("duration", self.to, "s", labels);
        if let Some((jitter, lost, all)) = self.datagrams {
            out.put("jitter", jitter, "ms", labels);
            out.put("lost", lost, "", labels);
            out.put("datagrams", all, "", labels);
        }
    }
}

#[derive(Default)]
struct Iperf {
    /// Whether the next figures are those that the server reported.
    server: bool,
    first: Vec<First>,
    /// Streams that intervals were read of.
    intervals: Vec<String>,
    /// Streams whose figures over the whole time have been read.
    whole: Vec<String>,
}

impl Reader for Iperf {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.contains("Server Report:") {
            self.server = true;
            return Fit::Mine;
        }
        let Some(row) = row(line) else { return if is_known(line) { Fit::Mine } else { Fit::Foreign } };
        let this = First::of(line.number, &row);
        if std::mem::take(&mut self.server) {
            this.whole(true, out);
            return Fit::Mine;
        }
        if row.from > 0.0 {
            if let Some(at) = self.first.iter().position(|first| first.stream == row.stream) {
                self.first.remove(at).interval(out);
            }
            if !self.intervals.contains(&this.stream) {
                self.intervals.push(this.stream.clone());
            }
            this.interval(out);
            return Fit::Mine;
        }
        if self.whole.contains(&this.stream) || self.first.iter().any(|first| first.stream == this.stream) {
            return Fit::Next;
        }
        if self.intervals.contains(&this.stream) {
            this.whole(false, out);
            self.whole.push(this.stream);
        } else {
            self.first.push(this);
        }
        Fit::Mine
    }

    /// Lines about connections and buffers stand above the figures, in any order.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        self.first.is_empty() && self.whole.is_empty() && self.intervals.is_empty()
    }

    fn end(&mut self, out: &mut Out<'_>) {
        self.first.drain(..).for_each(|first| first.whole(false, out));
    }
}

/// `[  3] local 10.0.0.1 port 4711 connected with 10.0.0.2 port 5001`.
fn is_connection(line: &Line<'_>) -> bool {
    line.text.starts_with('[')
        && leading(line.text.trim_start_matches(['[', ' '])).is_some()
        && line.text.contains("] local ")
        && line.text.contains(" connected with ")
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
    let counts = line.text.starts_with('[') && line.text.contains("datagrams");
    is_connection(line) || counts || line.is_rule() || BEGIN.iter().any(|begin| line.text.starts_with(begin))
}
