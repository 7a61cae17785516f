//! Output of `postal` each minute: `time,messages,data(K),errors,connections,SSL connections`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "postal",
    tool: "postal",
    command: "postal -t 4 -r 1000 127.0.0.1 users",
    measured: &[
        "higher messages_per_minute 1/min: `messages`",
        "higher kilobytes_per_minute KiB/min: `data(K)`",
        "lower errors_per_minute 1/min: `errors`",
        "higher connections_per_minute 1/min: `connections`",
        "higher tls_connections_per_minute 1/min: `SSL connections`, where it stands there",
    ],
    main: &["messages_per_minute"],
    checked: Checked::Run("0.76"),
    marks: &["time,messages,data"],
    start: |line| line.text.starts_with("time,messages,data").then_some(Start::Head),
    opening: Some(|first, second| row(first).is_some() && second.is_none_or(|line| row(line).is_some())),
    reader: Some(|_| Box::new(Postal)),
    ..Format::EMPTY
};

const COLUMNS: [(&str, &str); 5] = [
    ("messages_per_minute", "1/min"),
    ("kilobytes_per_minute", "KiB/min"),
    ("errors_per_minute", "1/min"),
    ("connections_per_minute", "1/min"),
    ("tls_connections_per_minute", "1/min"),
];

/// `19:26,1043,5382,0,1043,0`: the time of day in seconds, and the figures.
fn row(line: &Line<'_>) -> Option<(f64, Vec<f64>)> {
    let mut cells = line.text.split(',').map(str::trim);
    let at = clock(cells.next()?, None)?;
    let values: Option<Vec<f64>> = cells.map(number).collect();
    values.filter(|values| (4..=5).contains(&values.len())).map(|values| (at, values))
}

struct Postal;

impl Reader for Postal {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.starts_with("time,messages,data") {
            return Fit::Mine;
        }
        let Some((at, values)) = row(line) else { return Fit::Foreign };
        for ((metric, unit), value) in COLUMNS.iter().zip(values) {
            out.put_at(Some(at), metric, value, unit, &[]);
        }
        Fit::Mine
    }
}
