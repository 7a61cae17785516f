//! The JSON (`mtr -j`) and the report (`mtr -r`) of mtr.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::{leading, number};

pub(super) const FORMAT: Format = Format {
    name: "mtr",
    tool: "mtr",
    command: "mtr -j HOST, mtr -r HOST",
    measured: &[
        Measured::lower("loss", "%", &["hop", "host"], "`Loss%`"),
        Measured::plain("probes", "", &["hop", "host"], "`Snt`"),
        Measured::lower(
            "rtt",
            "ms",
            &["hop", "host", "stat"],
            "`Last`, `Avg` (mean), `Best` (min), `Wrst` (max), `StDev` (stdev)",
        ),
    ],
    main: &["rtt,stat=mean"],
    checked: Checked::Run("0.95"),
    text: Some(Text {
        marks: &["Loss%"],
        start: |line| (line.text.starts_with("HOST:") && line.text.contains("Loss%")).then_some(Start::Head),
        opening: None,
        reader: |_| Box::<Mtr>::default(),
    }),
    json: Some(Document {
        is: |json| json.at(&["report", "hubs"]).is_some(),
        read: document,
        by_line: false,
    }),
    ..Format::EMPTY
};

/// The columns, in the order of the report, and what they become.
const STATS: [(&str, &str); 5] =
    [("Last", "last"), ("Avg", "mean"), ("Best", "min"), ("Wrst", "max"), ("StDev", "stdev")];

#[derive(Default)]
struct Mtr {
    names: Vec<String>,
}

impl Reader for Mtr {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        if line.text.starts_with("HOST:") {
            self.names = words.iter().skip(2).map(|word| (*word).to_owned()).collect();
            return Fit::Mine;
        }
        let Some((hop, "|--")) = words.first().and_then(|word| word.split_once('.')) else {
            return Fit::Foreign;
        };
        let [_, host, values @ ..] = words.as_slice() else { return Fit::Foreign };
        if values.len() != self.names.len() {
            return Fit::Foreign;
        }
        let labels = [("hop", hop), ("host", *host)];
        for (name, word) in self.names.iter().zip(values) {
            match name.as_str() {
                "Loss%" => {
                    if let Some((value, "%")) = leading(word) {
                        out.put("loss", value, "%", &labels);
                    }
                }
                "Snt" => put(out, "probes", number(word), "", &labels),
                name => {
                    if let Some((_, stat)) = STATS.iter().find(|(column, _)| *column == name) {
                        put(out, "rtt", number(word), "ms", &[labels[0], labels[1], ("stat", stat)]);
                    }
                }
            }
        }
        Fit::Mine
    }
}

fn put(out: &mut Out<'_>, metric: &str, value: Option<f64>, unit: &str, labels: &[(&'static str, &str)]) {
    if let Some(value) = value {
        out.put(metric, value, unit, labels);
    }
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for hub in json.at(&["report", "hubs"]).map(|hubs| hubs.items()).unwrap_or_default() {
        let count = hub
            .get("count")
            .and_then(|count| count.number())
            .map(|count| count.to_string())
            .unwrap_or_default();
        let host = hub.text_of("host").unwrap_or_default();
        let labels = [("hop", count.as_str()), ("host", host.as_str())];
        out.json("loss", hub.get("Loss%"), "%", &labels);
        out.json("probes", hub.get("Snt"), "", &labels);
        for (field, stat) in STATS {
            out.json("rtt", hub.get(field), "ms", &[labels[0], labels[1], ("stat", stat)]);
        }
    }
}
