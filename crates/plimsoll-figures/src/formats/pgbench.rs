//! The output of `pgbench`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pgbench",
    tool: "pgbench (PostgreSQL)",
    command: "pgbench -c 4 -T 60 -P 1 postgres",
    measured: &[
        "higher transactions_per_second 1/s: `tps`, without the time to connect where both are there",
        "lower latency,stat ms: `latency average` and `latency stddev`",
        "lower connection_time ms: `initial connection time`, or with `-C` the `average connection time`",
        "plain transactions: `number of transactions actually processed`",
        "lower errors: `number of failed transactions`",
        "higher interval_transactions_per_second 1/s: `progress`, with `-P`",
        "lower interval_latency,stat ms: `progress`: lat and stddev",
    ],
    main: &["transactions_per_second", "interval_transactions_per_second"],
    checked: Checked::Run("15.18"),
    marks: &[
        "pgbench (",
        "transaction type:",
        "query mode:",
        "number of clients:",
        "number of transactions",
        "latency average",
        "tps = ",
        " tps, lat ",
    ],
    start: |line| {
        if line.text.starts_with("pgbench (") {
            Some(Start::Head)
        } else {
            let within = HEADING.iter().chain(&["latency average =", "tps = "]);
            let is_within = within.into_iter().any(|key| line.text.starts_with(key));
            (is_within || progress(line.text).is_some()).then_some(Start::Within)
        }
    },
    reader: Some(|_| Box::<Pgbench>::default()),
    ..Format::EMPTY
};

/// Heading or command above the figures of a call.
const HEADING: [&str; 4] =
    ["transaction type:", "query mode:", "number of clients:", "number of transactions actually processed:"];

const KNOWN: [&str; 8] = [
    "pgbench (",
    "starting vacuum",
    "scaling factor:",
    "number of threads:",
    "maximum number of tries:",
    "duration:",
    "number of transactions per client:",
    "statement latencies",
];

/// `1.0 s, 470.9 tps, lat 8.136 ms stddev 7.389, 0 failed` of a line of progress.
fn progress(text: &str) -> Option<(f64, f64, f64, Option<f64>)> {
    let mut words = text.strip_prefix("progress:")?.split_whitespace().map(|word| word.trim_end_matches(','));
    let at = number(words.next()?)?;
    let ["s", rate, "tps", "lat", latency, "ms"] = [(); 6].map(|()| words.next().unwrap_or_default()) else {
        return None;
    };
    let spread = if words.next() == Some("stddev") { words.next().and_then(number) } else { None };
    Some((at, number(rate)?, number(latency)?, spread))
}

#[derive(Default)]
struct Pgbench {
    rate: bool,
    statements: bool,
}

impl Reader for Pgbench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((at, rate, latency, spread)) = progress(line.text) {
            if std::mem::take(&mut self.rate) {
                return Fit::Next;
            }
            out.put_at(Some(at), "interval_transactions_per_second", rate, "1/s", &[]);
            out.put_at(Some(at), "interval_latency", latency, "ms", &[("stat", "mean")]);
            out.put_at(Some(at), "interval_latency", spread, "ms", &[("stat", "stdev")]);
            return Fit::Mine;
        }
        if let Some(rest) = line.after("tps = ") {
            // Before version 14, the rate stood there twice: first with the time to connect.
            if rest.contains("including connections") {
                return Fit::Mine;
            }
            let Some(value) = rest.split_whitespace().next().and_then(number) else { return Fit::Foreign };
            if std::mem::replace(&mut self.rate, true) {
                return Fit::Next;
            }
            out.put("transactions_per_second", value, "1/s", &[]);
            return Fit::Mine;
        }
        if self.rate && HEADING.iter().any(|key| line.text.starts_with(key)) {
            return Fit::Next;
        }
        let timed = [
            ("latency average", "latency", Some("mean")),
            ("latency stddev", "latency", Some("stdev")),
            ("initial connection time", "connection_time", None),
            ("average connection time", "connection_time", None),
        ];
        for (key, metric, stat) in timed {
            let Some(rest) = line.after(key).and_then(|rest| rest.strip_prefix(['=', ':'])) else { continue };
            let mut words = rest.split_whitespace();
            let value = words.next().and_then(number);
            let (Some(value), Some(its_unit)) = (value, words.next().and_then(unit::time)) else {
                return Fit::Foreign;
            };
            let label = stat.map(|stat| ("stat", stat));
            out.put(metric, value, its_unit, label.as_slice());
            return Fit::Mine;
        }
        self.other(line, out)
    }
}

impl Pgbench {
    fn other(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        for (key, metric) in [
            ("number of transactions actually processed:", "transactions"),
            ("number of failed transactions:", "errors"),
        ] {
            let Some(rest) = line.after(key) else { continue };
            let first = rest.split(['/', ' ']).next().and_then(number);
            let Some(value) = first else { return Fit::Foreign };
            out.put(metric, value, "", &[]);
            return Fit::Mine;
        }
        self.statements |= line.text.starts_with("statement latencies");
        let is_statement = self.statements && line.words().next().and_then(number).is_some();
        if is_statement || KNOWN.iter().chain(&HEADING).any(|known| line.text.starts_with(known)) {
            Fit::Mine
        } else {
            Fit::Foreign
        }
    }
}
