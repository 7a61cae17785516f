//! The reports of `vegeta`: text and JSON.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "vegeta",
    tool: "vegeta",
    command: "vegeta report, vegeta report -type=json",
    measured: &[
        "higher requests_per_second,of,target 1/s: `rate` and `throughput` (of answers that were right)",
        "plain requests,target: `total`",
        "plain duration,of,target s: `Duration`: total, attack, wait",
        "lower latency,stat,target ms: `Latencies`: min, mean, max",
        "lower latency,percentile,target ms: `Latencies`: 50, 90, 95, 99",
        "higher success,target %: `Success`; in JSON a share of 1",
        "plain responses,status,target: `Status Codes`; `target` where a report has a part for each target",
    ],
    main: &["requests_per_second,of=throughput"],
    checked: Checked::Kept("12.13.0"),
    marks: &["[total, rate, throughput]", "[total, rate]", "[total]"],
    start: |line| line.text.starts_with("Requests").then_some(Start::Head),
    reader: Some(|_| Box::<Vegeta>::default()),
    json: Some(Document::whole(|json| json.has(&["latencies", "requests", "rate", "success"]), document)),
    ..Format::EMPTY
};

#[derive(Default)]
struct Vegeta {
    /// Method and address above the part of one target; none for the summary.
    target: Option<String>,
    /// Whether that line was the last one.
    is_new: bool,
}

/// `GET http://localhost:3000/post/1`, above the part of a target.
fn target(text: &str) -> Option<&str> {
    let (method, address) = text.split_once(' ')?;
    let is_address = address.starts_with("http://") || address.starts_with("https://");
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && is_address && !address.contains(' ')).then_some(text)
}

/// A time as Go prints it: `145.082066ms`, `1m30.5s`.
fn time(word: &str) -> Option<(f64, &'static str)> {
    let (value, behind) = leading(word)?;
    let of_several = || duration(word).filter(|(_, rest)| rest.is_empty()).map(|(seconds, _)| (seconds, "s"));
    unit::time(behind).map(|its_unit| (value, its_unit)).or_else(of_several)
}

type Label<'t> = (&'static str, &'t str);

fn labels<'t>(own: Option<Label<'t>>, of_target: Option<Label<'t>>) -> Vec<Label<'t>> {
    own.into_iter().chain(of_target).collect()
}

impl Reader for Vegeta {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        // `Latencies     [min, mean, 50, 90, 95, 99, max]  1.2ms, 3ms, ...`
        let Some((key, (names, values))) =
            line.text.split_once('[').and_then(|(key, rest)| Some((key.trim(), rest.split_once(']')?)))
        else {
            self.is_new = target(line.text).is_some();
            if self.is_new {
                self.target = Some(line.text.to_owned());
            }
            return if self.is_new || line.text.starts_with("Error Set:") { Fit::Mine } else { Fit::Foreign };
        };
        self.is_new = false;
        let of_target = self.target.as_deref().map(|target| ("target", target));
        let labels = |own| labels(own, of_target);
        let pairs = || names.split(", ").zip(values.split(',').map(str::trim));
        match key {
            "Requests" => {
                for (name, word) in pairs() {
                    match (name, number(word)) {
                        ("total", Some(value)) => out.put("requests", value, "", &labels(None)),
                        (of, Some(value)) => {
                            out.put("requests_per_second", value, "1/s", &labels(Some(("of", of))));
                        }
                        _ => {}
                    }
                }
            }
            "Duration" => {
                for (of, (value, its_unit)) in pairs().filter_map(|(of, word)| Some((of, time(word)?))) {
                    out.put("duration", value, its_unit, &labels(Some(("of", of))));
                }
            }
            "Latencies" => {
                for (name, (value, its_unit)) in pairs().filter_map(|(name, word)| Some((name, time(word)?)))
                {
                    let kind = if number(name).is_some() { "percentile" } else { "stat" };
                    out.put("latency", value, its_unit, &labels(Some((kind, name))));
                }
            }
            "Success" => {
                let Some((value, "%")) = leading(values.trim()) else { return Fit::Foreign };
                out.put("success", value, "%", &labels(None));
            }
            "Status Codes" => {
                for (status, count) in values.split_whitespace().filter_map(|word| word.split_once(':')) {
                    out.put("responses", number(count), "", &labels(Some(("status", status))));
                }
            }
            "Bytes In" | "Bytes Out" => {}
            _ => return Fit::Foreign,
        }
        Fit::Mine
    }

    fn goes_on(&self, _line: &Line<'_>) -> bool {
        self.is_new
    }
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    out.json("requests_per_second", json.get("rate"), "1/s", &[("of", "rate")]);
    out.json("requests_per_second", json.get("throughput"), "1/s", &[("of", "throughput")]);
    out.json("requests", json.get("requests"), "", &[]);
    out.json("duration", json.get("duration"), "ns", &[("of", "attack")]);
    out.json("duration", json.get("wait"), "ns", &[("of", "wait")]);
    out.json("success", json.get("success"), "", &[]);
    for (name, value) in json.get("latencies").map(|all| all.fields()).unwrap_or_default() {
        match name.strip_suffix("th") {
            Some(percentile) => out.json("latency", Some(value), "ns", &[("percentile", percentile)]),
            None if name != "total" => out.json("latency", Some(value), "ns", &[("stat", &name)]),
            None => {}
        }
    }
    for (status, count) in json.get("status_codes").map(|all| all.fields()).unwrap_or_default() {
        out.json("responses", Some(count), "", &[("status", &status)]);
    }
}
