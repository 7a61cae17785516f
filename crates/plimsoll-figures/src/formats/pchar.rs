//! The output of `pchar`: the hops of a path.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pchar",
    tool: "pchar",
    command: "pchar HOST",
    measured: &[
        "higher bits_per_second,hop kbit/s: `bw` of `Hop char`; `--.---` is left out",
        "lower rtt,hop ms: `rtt` of `Hop char`, where it is there",
        "lower queue,hop ms: `Hop queueing`",
        "lower loss,hop %: `Partial loss`, up to this hop",
        "higher bottleneck kbit/s: `Path bottleneck`",
        "plain hops: `Path length`",
    ],
    main: &["bottleneck"],
    checked: Checked::Run("1.5"),
    marks: &["pchar to "],
    start: |line| line.text.starts_with("pchar to ").then_some(Start::Head),
    reader: Some(|_| Box::<Pchar>::default()),
    ..Format::EMPTY
};

#[derive(Default)]
struct Pchar {
    hop: String,
}

/// Text after `name = ` and before the next comma or the end: `126315.789474 Kbps`.
fn field(text: &str, name: &str, unit: &str) -> Option<f64> {
    let place = text.find(name)? + name.len();
    let mut words = text[place..].trim_start_matches([' ', '=']).split_whitespace();
    let value = number(words.next()?)?;
    let behind = words.next().unwrap_or_default().trim_end_matches(',');
    (unit.is_empty() || behind == unit).then_some(value)
}

impl Reader for Pchar {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        // ` 0: 127.0.0.1 (127.0.0.1)`
        if let Some((hop, rest)) = text.split_once(": ")
            && hop.parse::<u32>().is_ok()
            && rest.contains('(')
        {
            hop.clone_into(&mut self.hop);
            return Fit::Mine;
        }
        let Some((key, rest)) = text.split_once(':') else {
            const KNOWN: [&str; 4] = ["pchar to", "Using ", "Packet size", "stddev rtt"];
            let counted = text.contains("per repetition") || text.contains("per hop");
            let known = counted || KNOWN.iter().any(|known| text.starts_with(known));
            return if known { Fit::Mine } else { Fit::Foreign };
        };
        let labels = [("hop", self.hop.as_str())];
        let mut put = |metric: &str, value: Option<f64>, unit: &str, labels: &[(&'static str, &str)]| {
            if let Some(value) = value {
                out.put(metric, value, unit, labels);
            }
        };
        match key {
            "Hop char" => {
                put("rtt", field(rest, "rtt", "ms"), "ms", &labels);
                put("bits_per_second", field(rest, "bw", "Kbps"), "kbit/s", &labels);
            }
            "Hop queueing" => put("queue", field(rest, "avg", "ms"), "ms", &labels),
            "Partial loss" => {
                let percent = rest.split_once('(').and_then(|(_, rest)| leading(rest));
                put(
                    "loss",
                    percent.filter(|(_, behind)| behind.starts_with('%')).map(|(value, _)| value),
                    "%",
                    &labels,
                );
            }
            "Path bottleneck" => put("bottleneck", field(rest, "", "Kbps"), "kbit/s", &[]),
            "Path length" => put("hops", field(rest, "", ""), "", &[]),
            "Partial char" | "Partial queueing" | "Path char" | "Path pipe" | "Path queueing"
            | "Start time" | "End time" => {}
            _ => return Fit::Foreign,
        }
        Fit::Mine
    }
}
