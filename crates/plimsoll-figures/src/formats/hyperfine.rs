//! The JSON (`--export-json`) and the text of hyperfine.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hyperfine",
    tool: "hyperfine",
    command: "hyperfine --export-json FILE 'COMMAND' 'COMMAND'",
    measured: &[
        "lower time,command s: `times`: each run of the command, in JSON only",
        "lower run_time,command,stat ms: `Time` and `Range` of the text: mean, stdev, min, max",
        "lower cpu_time,command,mode s: `user` and `system`",
    ],
    main: &["time", "run_time,stat=mean"],
    checked: Checked::Run("1.15.0"),
    marks: &["Benchmark ", "Time (mean"],
    start: |line| {
        (heading(line.text).is_some() || line.text.starts_with("Time (mean")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Hyperfine>::default()),
    json: Some(Document::whole(is_document, document)),
    ..Format::EMPTY
};

fn is_document(json: &Json<'_>) -> bool {
    let results = json.get("results").map(|results| results.items()).unwrap_or_default();
    results.first().is_some_and(|result| result.has(&["command", "mean"]))
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for result in json.get("results").map(|results| results.items()).unwrap_or_default() {
        let command = result.text_of("command").unwrap_or_default();
        for time in result.get("times").map(|times| times.items()).unwrap_or_default() {
            out.json("time", Some(time), "s", &[("command", &command)]);
        }
        for mode in ["user", "system"] {
            out.json("cpu_time", result.get(mode), "s", &[("command", &command), ("mode", mode)]);
        }
    }
}

/// `Benchmark 1: sleep 0.01`, or with `#1` as it was in version 1.11 and before.
fn heading(text: &str) -> Option<&str> {
    let (number, command) = text.strip_prefix("Benchmark ")?.split_once(": ")?;
    number.trim_start_matches('#').parse::<u32>().is_ok().then_some(command.trim())
}

#[derive(Default)]
struct Hyperfine {
    command: String,
    seen: Vec<String>,
}

/// A number and its unit of time, at the beginning of a text.
fn time(text: &str) -> Option<(f64, &'static str)> {
    let mut words = text.split_whitespace();
    Some((number(words.next()?)?, unit::time(words.next()?)?))
}

impl Hyperfine {
    fn put(&self, text: &str, signs: &[char], stats: [&str; 2], out: &mut Out<'_>) -> Fit {
        let Some((_, values)) = text.split_once(':') else { return Fit::Foreign };
        let both: Option<Vec<_>> = values.split(signs).map(time).collect();
        let Some(both) = both else { return Fit::Foreign };
        for (stat, (value, its_unit)) in stats.iter().zip(both) {
            out.put("run_time", value, its_unit, &[("command", &self.command), ("stat", stat)]);
        }
        Fit::Mine
    }
}

impl Reader for Hyperfine {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        if let Some(command) = heading(text) {
            if self.seen.iter().any(|seen| seen == command) {
                return Fit::Next;
            }
            self.seen.push(command.to_owned());
            command.clone_into(&mut self.command);
            return Fit::Mine;
        }
        if text.starts_with("Time (mean") {
            let (times, cpu) = text.split_once('[').unwrap_or((text, ""));
            let fit = self.put(times, &['±'], ["mean", "stdev"], out);
            for (mode, name) in [("user", "User:"), ("system", "System:")] {
                let value = cpu.split_once(name).and_then(|(_, rest)| time(rest.split([',', ']']).next()?));
                if let Some((value, its_unit)) = value.filter(|_| fit == Fit::Mine) {
                    out.put("cpu_time", value, its_unit, &[("command", &self.command), ("mode", mode)]);
                }
            }
            return fit;
        }
        if text.starts_with("Range (min") {
            return self.put(text, &['…'], ["min", "max"], out);
        }
        let known = text == "Summary" || text.ends_with(" ran") || text.contains("times faster than");
        if known { Fit::Mine } else { Fit::Foreign }
    }
}
