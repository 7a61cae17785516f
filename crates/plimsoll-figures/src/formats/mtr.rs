//! The JSON (`mtr -j`), the report (`mtr -r`) and the screen of mtr.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "mtr",
    tool: "mtr",
    command: "mtr -j HOST, mtr -r HOST",
    measured: &[
        "lower loss,hop,host %: `Loss%`",
        "plain probes,hop,host: `Snt`",
        "lower rtt,hop,host,stat ms: `Last`, `Avg` (mean), `Best` (min), `Wrst` (max), `StDev` (stdev)",
    ],
    main: &["rtt,stat=mean"],
    checked: Checked::Run("0.95"),
    marks: &["Loss%", "My traceroute", "Packets "],
    start: |line| (heading(line.text).is_some() || is_above(line)).then_some(Start::Head),
    reader: Some(|_| Box::<Mtr>::default()),
    json: Some(Document::whole(|json| json.at(&["report", "hubs"]).is_some(), document)),
    ..Format::EMPTY
};

/// The columns, in the order of the report, and what they become.
const STATS: [(&str, &str); 5] =
    [("Last", "last"), ("Avg", "mean"), ("Best", "min"), ("Wrst", "max"), ("StDev", "stdev")];

/// The names of the columns, from `Loss%` on.
fn heading(text: &str) -> Option<Vec<String>> {
    let (_, columns) = text.split_once("Loss%")?;
    let names = std::iter::once("Loss%").chain(columns.split_whitespace());
    let names: Vec<String> = names.map(str::to_owned).collect();
    (names.iter().any(|name| name == "Snt") && names.len() > 2).then_some(names)
}

/// A line of the screen above the names of its columns.
fn is_above(line: &Line<'_>) -> bool {
    line.text.starts_with("My traceroute") || line.words().eq(["Packets", "Pings"])
}

/// `3.|-- host` of the report, `3. host` or `3. AS64496 host` of the screen: the hop, and the words behind.
fn hop<'t>(words: &[&'t str]) -> Option<(&'t str, usize)> {
    let (hop, mark) = words.first()?.split_once('.')?;
    let counts = !hop.is_empty() && hop.bytes().all(|byte| byte.is_ascii_digit());
    (counts && matches!(mark, "" | "|--")).then_some((hop, 1))
}

#[derive(Default)]
struct Mtr {
    names: Vec<String>,
}

impl Reader for Mtr {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(names) = heading(line.text) {
            self.names = names;
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().collect();
        let values = words.len().checked_sub(self.names.len()).filter(|_| !self.names.is_empty());
        let Some((hop, from)) = hop(&words) else {
            // A report of one hop, without its name.
            if values == Some(0) && words.iter().all(|word| leading(word).is_some()) {
                return self.row(&[], &words, out);
            }
            let known =
                is_above(line) || ["Start:", "Keys:"].iter().any(|known| line.text.starts_with(known));
            return if known { Fit::Mine } else { Fit::Foreign };
        };
        // Nothing answers, which the screen does not count.
        if line.text.contains("???") && words.len() == 2 || line.text.ends_with("(waiting for reply)") {
            return Fit::Mine;
        }
        match values {
            Some(behind) if behind > from => {
                // The system that a host belongs to may stand before its name.
                let host =
                    words[from..behind].iter().find(|word| !word.starts_with("AS")).unwrap_or(&words[from]);
                self.row(&[("hop", hop), ("host", host)], &words[behind..], out)
            }
            _ => Fit::Foreign,
        }
    }

    fn goes_on(&self, line: &Line<'_>) -> bool {
        !line.text.starts_with("HOST:") && self.names.is_empty()
    }
}

impl Mtr {
    fn row(&self, labels: &[(&'static str, &str)], words: &[&str], out: &mut Out<'_>) -> Fit {
        // A mark of the unit may be missing, or be what a narrow column cut.
        let value = |word: &&str| {
            leading(word).filter(|(_, behind)| matches!(*behind, "" | "%" | ".")).map(|(value, _)| value)
        };
        let Some(values) = words.iter().map(value).collect::<Option<Vec<f64>>>() else { return Fit::Foreign };
        let of = |wanted: &str| {
            self.names.iter().zip(&values).find(|(name, _)| *name == wanted).map(|(_, value)| *value)
        };
        let loss = of("Loss%").unwrap_or(0.0);
        if !(0.0..=100.0).contains(&loss) {
            return out.refuse(format!("impossible: {loss} % lost"));
        }
        if let (Some(best), Some(worst)) = (of("Best"), of("Wrst"))
            && best > worst
        {
            return out
                .refuse(format!("impossible: the best time of {best} ms is above the worst of {worst} ms"));
        }
        // The times of a hop that never answered are no measurements.
        let dead = loss == 100.0;
        for (name, value) in self.names.iter().zip(values) {
            match name.as_str() {
                "Loss%" => out.put("loss", value, "%", labels),
                "Snt" => out.put("probes", value, "", labels),
                name => {
                    let stat = STATS.iter().find(|(column, _)| *column == name).filter(|_| !dead);
                    if let Some((_, stat)) = stat {
                        let all: Vec<_> = labels.iter().copied().chain([("stat", *stat)]).collect();
                        out.put("rtt", value, "ms", &all);
                    }
                }
            }
        }
        Fit::Mine
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
        if hub.get("Loss%").and_then(|loss| loss.number()) == Some(100.0) {
            continue;
        }
        for (field, stat) in STATS {
            out.json("rtt", hub.get(field), "ms", &[labels[0], labels[1], ("stat", stat)]);
        }
    }
}
