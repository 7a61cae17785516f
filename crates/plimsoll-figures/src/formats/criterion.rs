//! Output of criterion (Rust): its text, the JSON lines of `cargo criterion --message-format json`, and `estimates.json`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "criterion",
    tool: "criterion",
    command: "cargo bench, cargo criterion --message-format json",
    measured: &[
        "lower time,benchmark,bound ns: `time: [lower estimate upper]` of the text; `typical` of the JSON lines; `slope` or `mean` of `estimates.json`. The estimate without `bound`",
        "lower change,benchmark,bound %: `change` of the time since the run before, in the text",
        "plain p,benchmark: `p` of the change",
        "lower summary_time,benchmark,stat ns: `mean` and `median`, of JSON only",
    ],
    main: &["time"],
    checked: Checked::Kept(
        "0.5.1; the JSON lines of `cargo criterion` as https://bheisler.github.io/criterion.rs/book has them",
    ),
    marks: &["time:   [", "time: [", "Benchmarking "],
    start: |line| {
        let stage = line.after("Benchmarking ").is_some_and(|rest| name_before_stage(rest).is_some());
        (stage || bracket(line.text).is_some()).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Criterion>::default()),
    json: Some(Document { is: is_document, read: document, by_line: true }),
    ..Format::EMPTY
};

const BOUNDS: [Option<&str>; 3] = [Some("lower"), None, Some("upper")];

/// `fib 20    time:   [26.029 µs 26.251 µs 26.505 µs]`: the name, and the three times.
fn bracket(text: &str) -> Option<(&str, [(f64, &'static str); 3])> {
    let (name, rest) = text.split_once("time:")?;
    let words: Vec<&str> = rest.trim().strip_prefix('[')?.strip_suffix(']')?.split_whitespace().collect();
    let time = |at: usize| Some((number(words.get(at)?)?, unit::time(words.get(at + 1)?)?));
    (words.len() == 6).then(|| Some((name.trim(), [time(0)?, time(2)?, time(4)?])))?
}

/// `fib 20: Analyzing`: the name of the benchmark before what is done with it.
fn name_before_stage(text: &str) -> Option<&str> {
    let (name, stage) = text.rsplit_once(": ")?;
    let known = ["Warming up for ", "Collecting ", "Analyzing"];
    known.iter().any(|known| stage.starts_with(known)).then_some(name)
}

/// `change: [-45.029% -15.544% +31.211%] (p = 0.46 > 0.05)`, or below `change:` with `time:` before it: the bounds with the estimate, and p.
fn change(text: &str) -> Option<([f64; 3], Option<f64>)> {
    let (name, rest) = text.split_once(':')?;
    ["change", "time", "thrpt"].contains(&name.trim()).then_some(())?;
    let (inside, behind) = rest.trim().strip_prefix('[')?.split_once(']')?;
    let percents: Option<Vec<f64>> =
        inside.split_whitespace().map(|word| number(word.strip_suffix('%')?)).collect();
    let p = behind.trim().strip_prefix("(p = ").and_then(|rest| number(rest.split_whitespace().next()?));
    Some((percents?.try_into().ok()?, p))
}

#[derive(Default)]
struct Criterion {
    /// The name of the benchmark, as it stood before its stages.
    name: Option<String>,
    /// The line above, which is the name where that is long; a terminal shows no stages.
    above: Option<String>,
    /// The benchmark whose time was read last.
    last: String,
}

impl Reader for Criterion {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((name, times)) = bracket(line.text) {
            let (named, above) = (self.name.take(), self.above.take());
            let name = if name.is_empty() { named.or(above).unwrap_or_default() } else { name.to_owned() };
            self.last.clone_from(&name);
            for (bound, (value, its_unit)) in BOUNDS.iter().zip(times) {
                let labels: Vec<(&'static str, &str)> = [("benchmark", name.as_str())]
                    .into_iter()
                    .chain(bound.map(|bound| ("bound", bound)))
                    .collect();
                out.put("time", value, its_unit, &labels);
            }
            return Fit::Mine;
        }
        if let Some(name) = line.after("Benchmarking ") {
            self.name = Some(name_before_stage(name).unwrap_or(name).to_owned());
            return Fit::Mine;
        }
        if let Some((percents, p)) = change(line.text) {
            // Of throughput only the times are compared.
            if !line.text.starts_with("thrpt:") {
                let own = ("benchmark", self.last.as_str());
                for (bound, value) in BOUNDS.iter().zip(percents) {
                    let labels: Vec<_> =
                        [own].into_iter().chain(bound.map(|bound| ("bound", bound))).collect();
                    out.put("change", value, "%", &labels);
                }
                out.put("p", p, "", &[own]);
            }
            return Fit::Mine;
        }
        if self.name.as_deref() == Some(line.text) {
            return Fit::Mine;
        }
        const KNOWN: [&str; 9] = [
            "Gnuplot not found",
            "change:",
            "Performance has",
            "No change in",
            "Change within",
            "Found ",
            "thrpt:",
            "slope",
            "mean",
        ];
        let outliers = line.text.contains("high mild")
            || line.text.contains("high severe")
            || line.text.contains("low ");
        if outliers || KNOWN.iter().any(|known| line.text.starts_with(known)) {
            return Fit::Mine;
        }
        self.above = Some(line.text.to_owned());
        Fit::Foreign
    }

    fn above(&mut self, text: &str, gap: bool) {
        self.above = (!gap).then(|| text.to_owned());
    }

    fn blank(&mut self) {
        self.above = None;
    }
}

fn is_document(json: &Json<'_>) -> bool {
    let line = json.text_of("reason").is_some_and(|reason| reason == "benchmark-complete")
        && json.get("typical").is_some();
    line || json.at(&["mean", "point_estimate"]).is_some()
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let name = json.text_of("id").unwrap_or_default();
    let labels = |bound: Option<&'static str>| -> Vec<(&'static str, &str)> {
        let name = (!name.is_empty()).then_some(("benchmark", name.as_str()));
        name.into_iter().chain(bound.map(|bound| ("bound", bound))).collect()
    };
    let estimates =
        json.get("slope").filter(|slope| slope.get("point_estimate").is_some()).or_else(|| json.get("mean"));
    let (typical, fields) = match json.get("typical") {
        Some(typical) => (Some(typical), [&["lower_bound"][..], &["estimate"], &["upper_bound"]]),
        None => (
            estimates,
            [
                &["confidence_interval", "lower_bound"][..],
                &["point_estimate"],
                &["confidence_interval", "upper_bound"],
            ],
        ),
    };
    let Some(typical) = typical else { return };
    let its_unit = typical.text_of("unit").or_else(|| json.text_of("unit")).unwrap_or_else(|| "ns".into());
    for (bound, path) in BOUNDS.into_iter().zip(fields) {
        out.json("time", typical.at(path), &its_unit, &labels(bound));
    }
    for stat in ["mean", "median"] {
        let found =
            json.get(stat).and_then(|found| found.get("estimate").or_else(|| found.get("point_estimate")));
        let labels: Vec<_> = labels(None).into_iter().chain([("stat", stat)]).collect();
        out.json("summary_time", found, &its_unit, &labels);
    }
}
