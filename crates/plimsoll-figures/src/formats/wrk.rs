//! The output of `wrk` and `wrk2`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "wrk",
    tool: "wrk, wrk2",
    command: "wrk -t 2 -c 8 -d 10 --latency URL",
    measured: &[
        "higher requests_per_second 1/s: `Requests/sec`",
        "higher throughput MiB/s: `Transfer/sec`",
        "lower latency,stat ms: `Latency` of the thread statistics: mean, stdev, max",
        "lower latency,percentile ms: `Latency Distribution`, with `--latency`",
        "higher thread_requests_per_second,stat 1/s: `Req/Sec` of the thread statistics: mean, stdev, max",
        "lower recorded_latency,stat ms: the lines below the spectrum of wrk2: mean, stdev, max",
        "plain requests: `N requests in T`",
        "plain duration s: `N requests in T`",
        "lower errors,kind: `Socket errors`: connect, read, write, timeout; `Non-2xx or 3xx responses`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("4.1.0"),
    marks: &[
        "test @ http",
        "Requests/sec:",
        "Thread ",
        "Making ",
        "#[Mean",
        " threads and ",
        " requests in ",
    ],
    start: |line| {
        if line.text.starts_with("Running ") && line.text.contains("test @ http") {
            return Some(Start::Head);
        }
        // The first version said how many requests it makes.
        if line.text.starts_with("Making ") && line.text.contains(" requests to http") {
            return Some(Start::Head);
        }
        // hey and oha have another mark behind the first.
        let within = line.words().take(3).eq(["Thread", "Stats", "Avg"])
            || ["Requests/sec: ", "#[Mean", "Thread calibration:"]
                .iter()
                .any(|begin| line.text.starts_with(begin))
            || is_threads(line)
            || total(line).is_some();
        within.then_some(Start::Within)
    },
    reader: Some(|_| Box::<Wrk>::default()),
    ..Format::EMPTY
};

const STATS: [&str; 3] = ["mean", "stdev", "max"];

#[derive(Default)]
struct Wrk {
    /// Whether the rate has been read, which is the last but one of a run's lines.
    rate: bool,
    /// Whether the summary of the spectrum has been read.
    histogram: bool,
    /// Whether the rows are those of wrk2's spectrum, which has thousands of lines.
    spectrum: bool,
    /// Whether the share of values within a deviation is no number: there were none.
    empty: bool,
    /// The longest latency, in seconds.
    longest: f64,
    /// Whether the test took less time than one of its requests.
    impossible: bool,
}

const TOO_SHORT: &str = "impossible: a request took longer than the test";

const NO_ANSWERS: &str = "no request was answered, so that a latency of 0 means none";

impl Reader for Wrk {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let mut words = line.words();
        let first = words.next().unwrap_or_default();
        match first {
            "Running" | "Thread" | "Initialised" | "Making" => Fit::Mine,
            "#[Mean" | "#[Max" | "#[Buckets" => self.histogram(line, out),
            "Latency" if line.text.starts_with("Latency Distribution") => Fit::Mine,
            "Latency" | "Req/Sec" if line.text.ends_with("nan%") => {
                self.empty = true;
                out.refuse(NO_ANSWERS)
            }
            "Latency" => {
                let longest = line.words().nth(STATS.len()).and_then(leading);
                let seconds = |(value, behind)| Some(value * unit::factor(unit::time(behind)?, "s")?);
                self.longest = longest.and_then(seconds).unwrap_or_default();
                latency(words, out)
            }
            "Req/Sec" => {
                let values: Option<Vec<f64>> = words.take(STATS.len()).map(count).collect();
                let Some(values) = values.filter(|values| values.len() == STATS.len()) else {
                    return Fit::Foreign;
                };
                for (stat, value) in STATS.iter().zip(values) {
                    out.put("thread_requests_per_second", value, "1/s", &[("stat", stat)]);
                }
                Fit::Mine
            }
            "Requests/sec:" | "Transfer/sec:" if self.impossible => out.refuse(TOO_SHORT),
            "Requests/sec:" => {
                let Some(value) = words.next().and_then(count) else { return Fit::Foreign };
                if std::mem::replace(&mut self.rate, true) {
                    return Fit::Next;
                }
                self.spectrum = false;
                out.put("requests_per_second", value, "1/s", &[]);
                Fit::Mine
            }
            "Transfer/sec:" => {
                let Some((value, behind)) = words.next().and_then(leading) else { return Fit::Foreign };
                let Some(its_unit) = unit::bytes_per_second(&format!("{behind}/s")) else {
                    return Fit::Foreign;
                };
                out.put("throughput", value, its_unit, &[]);
                Fit::Mine
            }
            "Socket" => errors(line, out),
            "Non-2xx" => {
                let Some(value) = line.text.rsplit(' ').next().and_then(count) else { return Fit::Foreign };
                out.put("errors", value, "", &[("kind", "not 2xx or 3xx")]);
                Fit::Mine
            }
            "Detailed" | "Value" => {
                self.spectrum = true;
                Fit::Mine
            }
            _ => self.row(line, out),
        }
    }
}

impl Wrk {
    /// `#[Mean    =     1234.639, StdDeviation   =      339.985]`, below the spectrum of wrk2, in milliseconds.
    fn histogram(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let inside = line.text.trim_start_matches("#[").trim_end_matches(']');
        if inside.starts_with("Mean") && std::mem::replace(&mut self.histogram, true) {
            return Fit::Next;
        }
        for (name, value) in inside.split(',').filter_map(|part| part.split_once('=')) {
            let stats = [("Mean", "mean"), ("StdDeviation", "stdev"), ("Max", "max")];
            let stat = stats.iter().find(|(known, _)| *known == name.trim()).map(|(_, stat)| *stat);
            if let (Some(stat), Some(value)) = (stat, count(value.trim())) {
                out.put("recorded_latency", value, "ms", &[("stat", stat)]);
            }
        }
        Fit::Mine
    }

    /// Reads a line that begins with a number: a percentile, the total, the threads, or a row of the spectrum.
    fn row(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_threads(line) {
            return Fit::Mine;
        }
        if let Some((requests, time, its_unit)) = total(line) {
            self.impossible = unit::factor(its_unit, "s").is_some_and(|factor| time * factor < self.longest);
            if self.impossible {
                return out.refuse(TOO_SHORT);
            }
            out.put("requests", requests, "", &[]);
            out.put("duration", time, its_unit, &[]);
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().collect();
        match words.as_slice() {
            [percent, _] if percent.ends_with('%') && self.empty => out.refuse(NO_ANSWERS),
            [percent, time] if percent.ends_with('%') => {
                let (Some((percent, _)), Some((time, behind))) = (leading(percent), leading(time)) else {
                    return Fit::Foreign;
                };
                let Some(its_unit) = unit::time(behind) else { return Fit::Foreign };
                out.put("latency", time, its_unit, &[("percentile", &percent.to_string())]);
                Fit::Mine
            }
            [first, ..] if self.spectrum && (leading(first).is_some() || first.starts_with("#[")) => {
                Fit::Mine
            }
            _ => Fit::Foreign,
        }
    }
}

/// `4 threads and 256 connections`.
fn is_threads(line: &Line<'_>) -> bool {
    let words: Vec<&str> = line.words().collect();
    matches!(words.as_slice(), [_, "threads", "and", _, "connections"])
}

/// `100000 requests in 7.26s, 13.35MB read`: the requests, the time and its unit.
fn total(line: &Line<'_>) -> Option<(f64, f64, &'static str)> {
    let words: Vec<&str> = line.words().collect();
    let [requests, "requests", "in", time, _, "read"] = words.as_slice() else { return None };
    let (time, behind) = leading(time.trim_end_matches(','))?;
    Some((count(requests)?, time, unit::time(behind)?))
}

/// `Latency   560.43us    1.04ms  15.87ms   90.12%`.
fn latency<'t>(words: impl Iterator<Item = &'t str>, out: &mut Out<'_>) -> Fit {
    let time = |word: &'t str| leading(word).and_then(|(value, behind)| Some((value, unit::time(behind)?)));
    let values: Option<Vec<(f64, &str)>> = words.take(STATS.len()).map(time).collect();
    let Some(values) = values.filter(|values| values.len() == STATS.len()) else { return Fit::Foreign };
    for (stat, (value, its_unit)) in STATS.iter().zip(values) {
        out.put("latency", value, its_unit, &[("stat", stat)]);
    }
    Fit::Mine
}

/// `Socket errors: connect 0, read 12, write 0, timeout 3`.
fn errors(line: &Line<'_>, out: &mut Out<'_>) -> Fit {
    let Some(rest) = line.after("Socket errors:") else { return Fit::Foreign };
    for part in rest.split(',') {
        let mut words = part.split_whitespace();
        if let (Some(kind), Some(value)) = (words.next(), words.next().and_then(count)) {
            out.put("errors", value, "", &[("kind", kind)]);
        }
    }
    Fit::Mine
}
