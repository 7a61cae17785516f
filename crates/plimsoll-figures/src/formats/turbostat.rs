//! The tables of `turbostat`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "turbostat",
    tool: "turbostat (Linux kernel)",
    command: "turbostat --quiet --interval 1",
    measured: &[
        "plain *,package,core,cpu MHz, %, W, 1: each column, by its name; `-` in the columns of package, core and CPU stands for all, and is no label",
    ],
    main: &["Bzy_MHz", "TSC_MHz"],
    checked: Checked::Kept(
        "2024.07.26, in a virtual machine, which shows no MSRs; columns of MSRs as turbostat(8) has them",
    ),
    marks: &["Avg_MHz", "TSC_MHz"],
    start: |line| is_heading(line).then_some(Start::Head),
    reader: Some(|_| Box::<Turbostat>::default()),
    ..Format::EMPTY
};

/// Columns that say which CPU a line is about.
const PLACES: [(&str, &str); 5] =
    [("Package", "package"), ("Die", "die"), ("Node", "node"), ("Core", "core"), ("CPU", "cpu")];

/// A line of names of columns. A virtual machine, which shows no other frequency, has that of the time stamp counter.
fn is_heading(line: &Line<'_>) -> bool {
    line.words().any(|word| matches!(word, "Avg_MHz" | "TSC_MHz"))
        && line.words().all(|word| number(word).is_none())
}

#[derive(Default)]
struct Turbostat {
    names: Vec<String>,
    /// Whether it is known where a name of a column ends: names may have blanks (`haltpoll idle%`), and only tabs show it, or a line with as many cells.
    sure: bool,
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
        let tabs = line.text.contains('\t');
        let words: Vec<&str> =
            if tabs { line.text.split('\t').map(str::trim).collect() } else { line.words().collect() };
        if is_heading(line) {
            self.names = words.iter().map(|word| (*word).to_owned()).collect();
            self.sure = tabs;
            return Fit::Mine;
        }
        let place = |name: &str| PLACES.iter().find(|(column, _)| *column == name).map(|(_, label)| *label);
        // Lines of single CPUs end before the columns of a package; the line of all has every column.
        let places = self.names.iter().filter(|name| place(name).is_some()).count();
        let of_all = words.iter().take(places).all(|word| *word == "-");
        self.sure |= of_all && words.len() == self.names.len();
        if !self.sure || words.len() <= places || words.len() > self.names.len() {
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
            out.put(name, number(word), unit(name), &labels);
        }
        Fit::Mine
    }

    /// The heading comes again with each interval.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        true
    }
}
