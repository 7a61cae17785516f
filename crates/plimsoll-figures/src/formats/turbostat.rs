//! The tables of `turbostat`.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::number;

pub(super) const FORMAT: Format = Format {
    name: "turbostat",
    tool: "turbostat (Linux kernel)",
    command: "turbostat --quiet --interval 1",
    measured: &[Measured::plain(
        "*",
        "MHz, %, W, 1",
        &["package", "core", "cpu"],
        "each column, by its name; `-` in the columns of package, core and CPU stands for all, and is no label",
    )],
    main: &["Bzy_MHz"],
    checked: Checked::Documented(
        "turbostat(8); it needs a CPU whose counters a virtual machine does not show",
    ),
    text: Some(Text {
        marks: &["Avg_MHz"],
        start: |line| line.words().any(|word| word == "Avg_MHz").then_some(Start::Head),
        opening: None,
        reader: |_| Box::<Turbostat>::default(),
    }),
    ..Format::EMPTY
};

/// Columns that say which CPU a line is about.
const PLACES: [(&str, &str); 5] =
    [("Package", "package"), ("Die", "die"), ("Node", "node"), ("Core", "core"), ("CPU", "cpu")];

#[derive(Default)]
struct Turbostat {
    names: Vec<String>,
}

fn unit(name: &str) -> &'static str {
    match name {
        name if name.ends_with("MHz") => "MHz",
        name if name.ends_with("Watt") => "W",
        name if name.ends_with("Tmp") => "°C",
        name if name.contains('%') => "%",
        _ => "",
    }
}

impl Reader for Turbostat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        if words.contains(&"Avg_MHz") {
            self.names = words.iter().map(|word| (*word).to_owned()).collect();
            return Fit::Mine;
        }
        let place = |name: &str| PLACES.iter().find(|(column, _)| *column == name).map(|(_, label)| *label);
        // Lines of single CPUs end before the columns of a package.
        let places = self.names.iter().filter(|name| place(name).is_some()).count();
        if words.len() <= places || words.len() > self.names.len() {
            return Fit::Foreign;
        }
        let pairs = || self.names.iter().zip(&words);
        if pairs().any(|(_, word)| number(word).is_none() && *word != "-" && !word.starts_with("0x")) {
            return Fit::Foreign;
        }
        let labels: Vec<(&'static str, &str)> = pairs()
            .filter_map(|(name, word)| Some((place(name)?, *word)))
            .filter(|(_, value)| *value != "-")
            .collect();
        for (name, word) in pairs().filter(|(name, _)| place(name).is_none()) {
            if let Some(value) = number(word) {
                out.put(name, value, unit(name), &labels);
            }
        }
        Fit::Mine
    }

    /// The heading comes again with each interval.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        true
    }
}
