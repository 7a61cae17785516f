//! The output of `ab` (ApacheBench, apache2-utils).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "ab",
    tool: "ApacheBench",
    command: "ab -n 2000 -c 8 URL",
    measured: &[
        "higher requests_per_second 1/s: `Requests per second`",
        "lower latency,stat ms: `Time per request`, the mean; not the one across all concurrent requests, which is the rate again",
        "lower latency,percentile ms: `Percentage of the requests served within a certain time`",
        "lower connection_time,phase,stat ms: `Connection Times`: the rows `Connect` to `Total`",
        "higher throughput KiB/s: `Transfer rate`, received",
        "plain requests: `Complete requests`",
        "lower errors: `Failed requests`",
        "lower errors_not_2xx: `Non-2xx responses`",
        "plain duration s: `Time taken for tests`",
        "plain concurrency: `Concurrency Level`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("2.3"),
    marks: &[
        "ApacheBench",
        "Requests per second:",
        "Time per request:",
        "Concurrency Level:",
        "Time taken for tests:",
    ],
    start: |line| {
        if line.text.starts_with("This is ApacheBench") {
            Some(Start::Head)
        } else {
            let has = |key: &str, sign: fn(&str) -> bool| line.after(key).is_some_and(sign);
            let states_unit = |rest: &str| rest.contains('[');
            let has_number = |rest: &str| leading(rest).is_some();
            (has("Requests per second:", states_unit)
                || has("Time per request:", states_unit)
                || has("Concurrency Level:", has_number)
                || has("Time taken for tests:", has_number))
            .then_some(Start::Within)
        }
    },
    reader: Some(|_| Box::<Ab>::default()),
    ..Format::EMPTY
};

/// `key: value unit`, what it is called, and its unit.
const KEYS: [(&str, &str, &str); 8] = [
    ("Requests per second:", "requests_per_second", "1/s"),
    ("Transfer rate:", "throughput", "KiB/s"),
    ("Complete requests:", "requests", ""),
    ("Failed requests:", "errors", ""),
    ("Non-2xx responses:", "errors_not_2xx", ""),
    ("Time taken for tests:", "duration", "s"),
    ("Concurrency Level:", "concurrency", ""),
    ("Time per request:", "latency", "ms"),
];
/// Lines that have no figures worth keeping.
const KNOWN: [&str; 19] = [
    "This is ApacheBench",
    "Copyright",
    "Licensed to",
    "Benchmarking",
    "Completed",
    "Finished",
    "Server Software:",
    "Server Hostname:",
    "Server Port:",
    "Document Path:",
    "Document Length:",
    "Total transferred:",
    "HTML transferred:",
    "Keep-Alive requests:",
    "Write errors:",
    "min",
    "(Connect:",
    "SSL/TLS Protocol:",
    "..done",
];
/// The unit of times where no heading states one.
const USUAL: &str = "ms";
/// Headings, with the unit of the values below them in parentheses.
const HEADINGS: [&str; 2] =
    ["Connection Times (", "Percentage of the requests served within a certain time ("];
const PHASES: [&str; 4] = ["Connect:", "Processing:", "Waiting:", "Total:"];
const STATS: [&str; 5] = ["min", "mean", "stdev", "median", "max"];

#[derive(Default)]
struct Ab {
    seen: Vec<&'static str>,
    /// The unit that the last heading stated.
    heading: HeadingTime,
}

impl Reader for Ab {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        for (key, metric, its_unit) in KEYS {
            let Some(rest) = line.after(key) else { continue };
            let mut words = rest.split_whitespace();
            let Some(value) = words.next().and_then(number) else { return Fit::Foreign };
            if rest.contains("across all concurrent") {
                return Fit::Mine;
            }
            if self.seen.contains(&key) {
                let is_cut = metric == "latency" && !rest.contains("(mean)");
                return if is_cut { out.refuse("what the time is of is cut off") } else { Fit::Next };
            }
            self.seen.push(key);
            let spelled = match its_unit {
                "s" => "seconds",
                "ms" => "[ms]",
                "1/s" => "[#/sec]",
                "KiB/s" => "[Kbytes/sec]",
                _ => "",
            };
            if words.next().is_some_and(|word| !spelled.is_empty() && word != spelled) {
                return out.refuse(format!("expected `{spelled}` behind the number: {}", line.text));
            }
            let labels: &[(&str, &str)] = if metric == "latency" { &[("stat", "mean")] } else { &[] };
            out.put(metric, value, its_unit, labels);
            return Fit::Mine;
        }
        if let Some(phase) = PHASES.iter().find(|phase| line.text.starts_with(**phase)) {
            return self.times(line, phase, out);
        }
        if let Some((percent, rest)) = leading(line.text)
            && let Some(value) = rest.strip_prefix('%').and_then(|rest| {
                let mut words = rest.split_whitespace();
                let value = number(words.next()?)?;
                // `(longest request)` stands behind the last. A unit would be another tool's.
                words.next().is_none_or(|word| word.starts_with('(')).then_some(value)
            })
        {
            let Some(its_unit) = out.time_unit(self.heading, USUAL) else { return Fit::Mine };
            out.put("latency", value, its_unit, &[("percentile", &percent.to_string())]);
            return Fit::Mine;
        }
        if let Some(rest) = HEADINGS.iter().find_map(|heading| line.after(heading)) {
            self.heading = HeadingTime::stated(rest.trim_end_matches(')'));
            return Fit::Mine;
        }
        if KNOWN.iter().any(|known| line.text.starts_with(known)) { Fit::Mine } else { Fit::Foreign }
    }
}

impl Ab {
    /// `Processing:     0    0   0.1      0       1`.
    fn times(&self, line: &Line<'_>, phase: &str, out: &mut Out<'_>) -> Fit {
        let values: Vec<f64> = line.words().skip(1).map_while(number).collect();
        if values.len() != STATS.len() || line.words().count() != STATS.len() + 1 {
            return Fit::Foreign;
        }
        let Some(its_unit) = out.time_unit(self.heading, USUAL) else { return Fit::Mine };
        let phase = phase.trim_end_matches(':').to_lowercase();
        for (stat, value) in STATS.iter().zip(values) {
            out.put("connection_time", value, its_unit, &[("phase", &phase), ("stat", stat)]);
        }
        Fit::Mine
    }
}
